"""Results that targets may round differently: they go to a store, with a tolerance, and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from integration.random_kernels import semantics
from integration.random_kernels.draft import Draft
from integration.random_kernels.production import Production
from integration.random_kernels.values import MATRICES, VECTORS, Array, is_float

__all__ = ["EPSILON", "FUNCTIONS", "PRODUCTIONS", "call_of"]

EPSILON = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-21, "float64": 2**-48}

_erf, _erfc = np.vectorize(math.erf, otypes=[np.float64]), np.vectorize(math.erfc, otypes=[np.float64])

#: functions of ``tl``, and those of ``libdevice``, on fp32 and fp64
_LANGUAGE: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "exp2": np.exp2, "sin": np.sin, "cos": np.cos, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": _erf, "log": np.log, "log2": np.log2, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
}  # fmt: skip
_LIBDEVICE: dict[str, Callable[..., Any]] = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atan2": np.arctan2, "atanh": np.arctanh, "cbrt": np.cbrt, "cosh": np.cosh, "erfc": _erfc, "expm1": np.expm1,
    "hypot": np.hypot, "log10": np.log10, "log1p": np.log1p, "pow": np.power, "sinh": np.sinh, "tan": np.tan,
    "tanh": np.tanh,
}  # fmt: skip
FUNCTIONS = {**_LANGUAGE, **_LIBDEVICE}
#: a number as one of at most 4 in size
_SMALL = "tl.minimum(tl.maximum({}, -4.0), 4.0)"
#: arguments that some functions take: positive ones, small ones, those below 1
_DOMAINS = {
    "log log2 sqrt rsqrt log10 log1p pow": ("(tl.abs({0}) + 0.5)", lambda x: abs(x) + 0.5),
    "acosh": ("(tl.abs({0}) + 1.5)", lambda x: abs(x) + 1.5),
    "acos asin atanh": (f"({_SMALL} * 0.2)", lambda x: x.clip(-4, 4) * x.dtype.type(0.2)),
    "cosh sinh expm1": (f"({_SMALL})", lambda x: x.clip(-4, 4)),
    # near its poles a difference in the last place of the argument's reduction is one of everything
    "tan": (f"({_SMALL} * 0.25)", lambda x: x.clip(-4, 4) * 0.25),
}
_ANY = ("({0})", lambda x: x)
_OF_TWO = ("pow", "atan2", "hypot")


def _domain(name: str) -> tuple[str, Callable[[Array], Array]]:
    return next((domain for names, domain in _DOMAINS.items() if name in names.split()), _ANY)


def call_of(name: str, x: str, y: str) -> str:
    """A call of one of :data:`FUNCTIONS` on ``x`` (and ``y``) brought into its domain."""
    second = f", {_SMALL.format(y)}" if name in _OF_TWO else ""
    return f"{'tl' if name in _LANGUAGE else 'libdevice'}.{name}({_domain(name)[0].format(x)}{second})"


def _value_of(name: str) -> Callable[..., Array]:
    """The function in double precision; its argument as the kernel makes it."""

    def value(x: Array, y: Array) -> Array:
        domain = np.asarray(_domain(name)[1](x)).astype(x.dtype).astype(np.float64)
        arguments = (domain, y.clip(-4, 4).astype(np.float64)) if name in _OF_TWO else (domain,)
        return np.asarray(FUNCTIONS[name](*arguments)).astype(x.dtype)

    return value


def _function(d: Draft) -> None:
    x = d.cast(d.load(VECTORS[1]), d.text("float32", "float64"))
    y = d.cast(d.load(VECTORS[1]), x.dtype)
    name = d.choose(_LANGUAGE if d.one_in(2) else FUNCTIONS)
    d.store(d.step(f"function_{name}", (x, y), x.dtype, x.shape, exact=False), 64 * EPSILON[x.dtype])


def _quotient(d: Draft) -> None:
    x, y = d.load(VECTORS[0]), d.load(VECTORS[0])
    if not is_float(y.dtype):
        y = d.cast(y, d.dtype(floats=True))
    dtype = "float64" if "float64" in (x.dtype, y.dtype) else "float32"
    d.store(d.step("quotient", (x, y), dtype, x.shape, exact=False), 8 * EPSILON[y.dtype])


def _quotient_of(x: Array, y: Array) -> Array:
    y = np.abs(y) + y.dtype.type(1)
    dtype = "float64" if "float64" in (semantics.name_of(x), semantics.name_of(y)) else "float32"
    return np.asarray(semantics.cast(x, dtype) / semantics.cast(y, dtype))


def _sum(d: Draft) -> None:
    x = d.cast(d.load(MATRICES[2]), d.text("float32", "float64"))
    axis = d.integer(0, 1)
    made = d.step("float_sum", (x,), x.dtype, (x.shape[1 - axis],), exact=False, axis=axis)
    d.store(made, 64 * EPSILON[x.dtype])


PRODUCTIONS = (
    Production("quotient", "{0} / (tl.abs({1}) + 1.0)", _quotient_of, _quotient),
    Production("float_sum", "tl.sum(tl.abs({0}), axis={axis})", lambda x, axis: np.abs(x).sum(axis), _sum),
    *(
        Production(
            f"function_{name}",
            call_of(name, "{0}", "{1}"),
            _value_of(name),
            _function if name == "exp" else None,
            helpers=("libdevice",) if name in _LIBDEVICE else (),
        )
        for name in FUNCTIONS
    ),
)
