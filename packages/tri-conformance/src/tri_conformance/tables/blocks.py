"""Operations on blocks: reductions, scans, shapes, order, dots."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np

from tri_conformance.contracts import Close, Contract
from tri_conformance.dtypes import FP8, NUMPY, Array, integers, is_float
from tri_conformance.features import Feature, Point, Trial
from tri_conformance.kernels import blocks as k

__all__ = ["FEATURES"]

SHAPES: tuple[tuple[int, ...], ...] = ((1024,), (2,), (8, 16), (64, 32), (1, 64), (4, 2, 8))
FEW: tuple[tuple[int, ...], ...] = ((512,), (16, 32), (4, 2, 8))
SOME = ("int8", "int32", "uint32", "int64", "fp16", "bf16", "fp32", "fp64")


def small(p: Point, high: int = 4) -> Array:
    """Whole numbers of at most ``high``, whose sums every type here holds exactly; never all zero."""
    return p.rng.integers(0 if p.dtype.startswith("uint") else -high, high + 1, p.count).astype(p.numpy)


def any_numbers(p: Point) -> Array:
    """Different numbers of the type, as many as it has, in any order."""
    if is_float(p.dtype):
        return p.rng.permutation(np.arange(p.count) - p.count // 3).astype(p.numpy)
    return integers(p.rng, p.dtype, p.count)


def _axes(shape: tuple[int, ...]) -> range:
    return range(len(shape))


# --- reductions -----------------------------------------------------------------------------------------


_REDUCTIONS: dict[str, Callable[[Array, int], Array]] = {
    "sum": lambda x, a: x.sum(a, keepdims=True, dtype=np.int64),
    "max": lambda x, a: x.max(a, keepdims=True),
    "min": lambda x, a: x.min(a, keepdims=True),
    "argmax": lambda x, a: x.argmax(a, keepdims=True),
    "argmin": lambda x, a: x.argmin(a, keepdims=True),
    "xor_sum": lambda x, a: np.bitwise_xor.reduce(x, a, keepdims=True),
    "pair": lambda x, a: x.max(a, keepdims=True) + x.sum(a, keepdims=True, dtype=np.int64),
}


def _reduction(kind: str, axis: int) -> Callable[[Point], Trial]:
    def make(point: Point) -> Trial:
        # the sums of bytes and of bf16 stay exact; arguments of extremes have ties
        x = (
            small(point, 1 if kind in ("sum", "pair") else 3)
            if kind != "xor_sum"
            else integers(point.rng, point.dtype, point.count)
        )
        if kind in ("max", "min"):
            x = any_numbers(point)
        exact = _REDUCTIONS[kind](x.reshape(point.shape), axis).ravel()
        made = np.dtype(np.int32) if kind.startswith("arg") else point.numpy
        if kind in ("sum", "xor_sum") and point.dtype in ("int8", "int16", "uint8", "uint16"):
            made = np.dtype(np.int32)
        constants = {"KIND": kind, "AXIS": axis, "SHAPE": point.shape, "N": point.count, "M": exact.size}
        return Trial(
            arguments=[np.full(exact.size, 77).astype(made), x], exact={0: exact}, constants=constants
        )

    return make


def _by_axis(
    name: str,
    kernel: Any,
    made: Callable[[int], Callable[[Point], Trial]],
    shapes: tuple[tuple[int, ...], ...],
    dtypes: tuple[str, ...],
) -> Iterator[Feature]:
    for axis in range(max(len(shape) for shape in shapes)):
        fitting = tuple(shape for shape in shapes if len(shape) > axis)
        yield Feature(
            name=f"{name}-axis{axis}", kernel=kernel, make=made(axis), dtypes=dtypes, shapes=fitting
        )


def _reductions() -> Iterator[Feature]:
    for kind in _REDUCTIONS:
        dtypes: tuple[str, ...] = ("int8", "int32", "uint32", "int64") if kind == "xor_sum" else SOME
        if kind == "pair":
            dtypes = ("int32", "fp32", "fp64")
        shapes = SHAPES if kind in ("sum", "argmax", "pair") else FEW
        yield from _by_axis(kind, k.reduce, lambda axis, kind=kind: _reduction(kind, axis), shapes, dtypes)  # type: ignore[misc]


# --- scans ----------------------------------------------------------------------------------------------


def _first_nonzero(x: Array, axis: int) -> Array:
    picked = np.argmax(x != 0, axis=axis, keepdims=True)
    return np.take_along_axis(x, picked, axis)


def _filled(x: Array, axis: int) -> Array:
    """The first number that is not 0, so far."""
    seen = np.cumsum(x != 0, axis) > 0
    return np.where(seen, _first_nonzero(x, axis), 0).astype(x.dtype)


def _lines(x: Array, axis: int) -> Array:
    rows = np.moveaxis(x, axis, 0)
    made, (a, b) = [rows[0]], (rows[0], rows[0])
    for c in rows[1:]:
        a, b = a * c, b * c + c
        made.append(b)
    return np.moveaxis(np.stack(made), 0, axis)


_SCANS: dict[str, Callable[[Array, int], Array]] = {
    "cumsum": lambda x, a: x.cumsum(a),
    "cumprod": lambda x, a: x.cumprod(a),
    "first": _filled,
    "lines": _lines,
}


def _scan(kind: str, axis: int, reverse: bool) -> Callable[[Point], Trial]:
    def make(point: Point) -> Trial:
        x = small(point, 1)
        if kind in ("cumprod", "lines"):
            x = (
                np.where(x == 0, 1, x).astype(point.numpy)
                if kind == "cumprod"
                else (point.rng.random(point.count) < 0.5).astype(point.numpy)
            )
        wide = x.reshape(point.shape).astype(np.int64)
        reversed_ = np.flip(wide, axis) if reverse else wide
        exact = _SCANS[kind](reversed_, axis)
        exact = (
            (np.flip(exact, axis) if reverse else exact)
            .ravel()
            .astype(np.float64 if is_float(point.dtype) else point.numpy)
        )
        constants = {"KIND": kind, "AXIS": axis, "REVERSE": reverse, "SHAPE": point.shape, "N": point.count}
        return Trial(arguments=[np.full_like(x, 77), x], exact={0: exact}, constants=constants)

    return make


def _scans() -> Iterator[Feature]:
    for kind in _SCANS:
        for reverse in (False, True):
            name = f"scan-{kind}{'-reverse' if reverse else ''}"
            dtypes = (
                ("int32", "int64", "fp32", "fp64")
                if kind != "cumsum"
                else ("int32", "uint32", "int64", "fp16", "fp32", "fp64")
            )
            made = lambda axis, kind=kind, reverse=reverse: _scan(kind, axis, reverse)  # noqa: E731
            yield from _by_axis(name, k.scan, made, FEW, dtypes)


# --- shapes and order -------------------------------------------------------------------------------------


def _moved(
    exact: Callable[[Array], Array], length: int = 1, high: int = 50, **constants: Any
) -> Callable[[Point], Trial]:
    """A trial of a kernel that moves elements; ``exact`` of the block, ``length`` results for each element."""

    def make(point: Point) -> Trial:
        x = small(point, high) if point.dtype != "int1" else integers(point.rng, "int1", point.count)
        made = np.ascontiguousarray(exact(x.reshape(point.shape))).ravel().astype(point.numpy)
        out = np.full(point.count * length, 77).astype(point.numpy)
        return Trial(
            arguments=[out, x],
            exact={0: made},
            constants={"SHAPE": point.shape, "N": point.count, **constants},
        )

    return make


def _rearrangements() -> Iterator[Feature]:
    dtypes = ("int1", "int8", "int16", "int32", "int64", "fp16", "bf16", "fp32", "fp64")
    for order in ((1, 0), (2, 0, 1), (0, 2, 1)):
        shapes = tuple(s for s in (*SHAPES, (32, 64), (2, 16, 8)) if len(s) == len(order))
        yield Feature(
            name=f"permute-{''.join(map(str, order))}", kernel=k.permute, dtypes=dtypes, shapes=shapes,
            make=_moved(lambda x, order=order: x.transpose(order), ORDER=order),  # type: ignore[misc]
        )  # fmt: skip
    for axis in (0, 1):
        yield Feature(
            name=f"flip-axis{axis}", kernel=k.flip, dtypes=dtypes, shapes=((8, 16), (64, 32)),
            make=_moved(lambda x, axis=axis: np.flip(x, axis), AXIS=axis),  # type: ignore[misc]
        )  # fmt: skip
    numbers = dtypes[1:]
    yield Feature(
        name="join-split", kernel=k.join_split, dtypes=numbers, shapes=FEW, make=_moved(lambda x: x)
    )
    for down in (False, True):
        yield Feature(
            name=f"sort{'-descending' if down else ''}", kernel=k.sort, dtypes=("int32", "uint32", "int64", "fp16", "fp32"),
            shapes=((64,), (8, 16), (4, 64)),
            make=_moved(lambda x, down=down: -np.sort(-x.astype(np.float64), -1) if down else np.sort(x, -1), DOWN=down),  # type: ignore[misc]
        )  # fmt: skip
    yield Feature(name="interleave", kernel=k.interleave, dtypes=numbers, shapes=((512,),), make=_interleaved)
    for axis in (0, 1):
        yield Feature(
            name=f"gather-axis{axis}", kernel=k.gather, dtypes=("int8", "int32", "int64", "fp16", "fp32"),
            shapes=((8, 16), (64, 32)), make=lambda p, axis=axis: _gathered(p, axis),  # type: ignore[misc]
        )  # fmt: skip
        yield Feature(
            name=f"broadcast-axis{axis}", kernel=k.broadcast, dtypes=numbers, shapes=((8, 16), (64, 32)),
            make=lambda p, axis=axis: _broadcast(p, axis),  # type: ignore[misc]
        )  # fmt: skip
    yield Feature(
        name="histogram",
        kernel=k.histogram,
        dtypes=("int32", "uint32", "int64"),
        shapes=((16,), (1024,)),
        make=_counted,
    )


def _interleaved(point: Point) -> Trial:
    x = small(point, 50)
    exact = np.stack([x, x + x], -1).ravel()
    return Trial(
        arguments=[np.full(2 * point.count, 77).astype(point.numpy), x],
        exact={0: exact},
        constants={"N": point.count},
    )


def _gathered(point: Point, axis: int) -> Trial:
    x = small(point, 50)
    index = point.rng.integers(0, point.shape[axis], point.shape).astype(np.int32)
    exact = np.take_along_axis(x.reshape(point.shape), index, axis).ravel()
    constants = {"AXIS": axis, "SHAPE": point.shape, "N": point.count}
    return Trial(arguments=[np.full_like(x, 77), x, index.ravel()], exact={0: exact}, constants=constants)


def _broadcast(point: Point, axis: int) -> Trial:
    one = tuple(1 if d == axis else n for d, n in enumerate(point.shape))
    x = small(point, 50)[: prod(one)]
    exact = np.broadcast_to(x.reshape(one), point.shape).ravel()
    constants = {"SHAPE": point.shape, "N": point.count, "ONE": one, "M": prod(one)}
    return Trial(
        arguments=[np.full(point.count, 77).astype(point.numpy), x], exact={0: exact}, constants=constants
    )


def _counted(point: Point) -> Trial:
    x = integers(point.rng, point.dtype, point.count, 0, 15)
    exact = np.bincount(x, minlength=16)
    return Trial(
        arguments=[np.full(16, -1, np.int32), x], exact={0: exact}, constants={"BINS": 16, "N": point.count}
    )


# --- dots -------------------------------------------------------------------------------------------

#: how far a dot may be from the exact one: of 64 terms of normal numbers, by the type of the operands
MATMULS: dict[str, Contract] = {
    "fp16": Close(1e-5, 2e-5), "bf16": Close(1e-5, 2e-5), "fp32": Close(1e-5, 2e-5), "fp64": Close(1e-13, 1e-13), "int8": Close(0),
}  # fmt: skip


def _operands(point: Point, count: int) -> Array:
    if is_float(point.dtype):
        return point.rng.standard_normal(count).astype(point.numpy)
    return integers(point.rng, point.dtype, count)


def _accumulator(dtype: str) -> np.dtype[Any]:
    return NUMPY[{"int8": "int32", "fp64": "fp64"}.get(dtype, "fp32")]


def _wide(x: Array) -> Array:
    return x.astype(np.float64 if x.dtype.kind not in "iu" else np.int64)


def _matmul(point: Point) -> Trial:
    m, n, depth = point.shape
    a, b = _operands(point, m * depth), _operands(point, depth * n)
    made = _accumulator(point.dtype)
    c = point.rng.integers(-4, 5, m * n).astype(made)
    exact = _wide(a).reshape(m, depth) @ _wide(b).reshape(depth, n) + _wide(c).reshape(m, n)
    constants = {"M": m, "N": n, "K": depth, "HOW": "ieee"}
    return Trial(
        arguments=[np.full(m * n, 77).astype(made), a, b, c], exact={0: exact.ravel()}, constants=constants
    )


def _batch(point: Point) -> Trial:
    batch, m, n, depth = point.shape
    a, b = _operands(point, batch * m * depth), _operands(point, batch * depth * n)
    exact = _wide(a).reshape(batch, m, depth) @ _wide(b).reshape(batch, depth, n)
    constants = {"B": batch, "M": m, "N": n, "K": depth}
    out = np.full(batch * m * n, 77, np.float32)
    return Trial(arguments=[out, a, b], exact={0: exact.ravel()}, constants=constants)


def _chain(point: Point) -> Trial:
    size = point.shape[0]
    # small integers: the first dot is exact in the type of the second one's operands
    a, b = (point.rng.integers(-2, 3, size * size).astype(point.numpy) for _ in "ab")
    x, y = _wide(a).reshape(size, size), _wide(b).reshape(size, size)
    return Trial(
        arguments=[np.full(size * size, 77, np.float32), a, b],
        exact={0: (x @ y @ y.T).ravel()},
        constants={"N": size},
    )


def _imprecise(point: Point) -> Trial:
    """Of small whole numbers: exact however sums are rounded between steps."""
    m, n, depth = point.shape
    a, b = (point.rng.integers(-2, 3, s).astype(point.numpy) for s in (m * depth, depth * n))
    c = point.rng.integers(-4, 5, m * n).astype(np.float32)
    exact = _wide(a).reshape(m, depth) @ _wide(b).reshape(depth, n)
    outs = tuple(np.full(m * n, 77, np.float32) for _ in range(4))
    made = exact.ravel()
    return Trial(
        arguments=[outs, a, b, c],
        exact={0: (made, made + c, made + c, made + c)},
        names={0: ("none", "0 steps", "half of the steps", "all steps")},
        constants={"M": m, "N": n, "K": depth},
    )


def _narrow(point: Point) -> Trial:
    """A sum of halves: exact, for the numbers are small."""
    m, n, depth = point.shape
    a, b, c = (point.rng.integers(-2, 3, s).astype(point.numpy) for s in (m * depth, depth * n, m * n))
    exact = _wide(a).reshape(m, depth) @ _wide(b).reshape(depth, n)
    outs = tuple(np.full(m * n, 77, np.float16) for _ in range(2))
    made = exact.ravel()
    return Trial(
        arguments=[outs, a, b, c],
        exact={0: (made, made + _wide(c))},
        names={0: ("out_dtype", "accumulator")},
        constants={"M": m, "N": n, "K": depth},
    )


def _matmuls() -> Iterator[Feature]:
    yield Feature(
        name="dot-imprecise", kernel=k.imprecise, make=_imprecise, dtypes=("fp16", *FP8), also=("fp32",),
        shapes=((64, 32, 64),),
    )  # fmt: skip
    yield Feature(
        name="dot-in-fp16",
        kernel=k.narrow,
        make=_narrow,
        dtypes=("fp16",),
        shapes=((16, 16, 16), (32, 64, 32)),
    )
    yield Feature(
        name="dot", kernel=k.dot, make=_matmul, dtypes=("fp16", "bf16", "fp32", "fp64", "int8"), also=("fp32",),
        shapes=((16, 16, 16), (32, 64, 32), (64, 32, 64)), contracts=MATMULS,
    )  # fmt: skip
    yield Feature(
        name="batched-dot", kernel=k.batched_dot, make=_batch, dtypes=("fp16", "fp32"), also=("fp32",),
        shapes=((2, 16, 16, 32),), contracts=MATMULS,
    )  # fmt: skip
    yield Feature(
        name="dot-chain",
        kernel=k.dot_chain,
        make=_chain,
        dtypes=("fp16", "bf16", "fp32"),
        also=("fp32",),
        shapes=((16, 16), (32, 32)),
    )


FEATURES = (*_reductions(), *_scans(), *_rearrangements(), *_matmuls())
