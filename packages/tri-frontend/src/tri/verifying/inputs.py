"""A launch of a kernel with inputs that depend on a seed alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from tri.jit import JITFunction
from tri.signature_text import parse_signature
from tri_core.errors import OptionError, Unsupported
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Trial", "trial_of"]

#: where arrays begin, in bytes
_ALIGNMENT = 256
#: what an integer is that nobody gave: it is divisible by what signatures say
_INTEGER = 16


@dataclass(frozen=True)
class Trial:
    """A kernel and how it is launched.

    ``types``: of the parameters that are no constexprs, by name, as signatures have them; ``constants``: the others; ``values``: of scalars.
    Arrays have ``size`` elements: whole numbers of ``low`` to ``high``, never 0, so that few sums are rounded and none is divided by 0.
    With ``exact`` floats are any bits: integers modulo a power of two (:mod:`tri_core.ring`).
    With ``fractions`` floats are of the normal distribution: a sum shows in which order it was made.
    With ``extremes`` integers are of the whole range of their type, and many of them at its ends and around 0.
    """

    kernel: JITFunction
    types: Mapping[str, str]
    constants: Mapping[str, Any]
    values: Mapping[str, Any] = field(default_factory=dict)
    grid: tuple[int, ...] = (1,)
    size: int = 4096
    low: int = -4
    high: int = 4
    extremes: bool = False
    exact: bool = False
    fractions: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self, seed: int) -> dict[str, Any]:
        """Arrays and numbers by parameter, always the same of a seed; Unsupported for a type without arrays."""
        random = np.random.default_rng(seed)
        made: dict[str, Any] = {}
        for name, type_ in self.types.items():
            if type_.startswith("*"):
                made[name] = self._array(type_.removeprefix("*").removeprefix("k"), random)
            else:
                made[name] = self.scalar(name)
        return made

    def scalar(self, name: str) -> Any:
        """The value of scalar parameter ``name``."""
        return self.values.get(name, 1.0 if "f" in self.types[name] else _INTEGER)

    def numbers(self) -> dict[str, Any]:
        """Scalars and constexprs by name: what a grid may be computed from."""
        scalars = {name: self.scalar(name) for name, type_ in self.types.items() if not type_.startswith("*")}
        return {**self.constants, **scalars}

    def launch(self, arguments: Mapping[str, Any]) -> None:
        """Run it on whatever target is chosen, on ``arguments``, which are written in place."""
        self.kernel[self.grid](**arguments, **self.constants, **self.options)

    def _array(self, type_: str, random: np.random.Generator) -> npt.NDArray[Any]:
        dtype = _dtype(type_)
        numbers: npt.NDArray[Any] = random.integers(self.low, self.high, self.size)
        numbers += numbers >= 0 if self.low < 0 else 0  # every number but 0
        if dtype.kind in "iub":
            numbers = np.abs(numbers)  # many are places or sizes
        if self.fractions and dtype.kind not in "iub":
            numbers = random.standard_normal(self.size)
        if self.extremes and dtype.kind in "iu":
            numbers = _extremes(dtype, self.size, random)
        memory = np.empty(self.size * dtype.itemsize + _ALIGNMENT, np.uint8)
        first = -memory.ctypes.data % _ALIGNMENT
        array = memory[first : first + self.size * dtype.itemsize].view(dtype)
        array[:] = numbers.astype(dtype)
        if self.exact and dtype.kind not in "iub":
            array.view(np.uint8)[:] = random.integers(0, 256, array.nbytes, np.uint8)
        return array


def _extremes(dtype: np.dtype[Any], size: int, random: np.random.Generator) -> npt.NDArray[Any]:
    """Numbers of the whole range of ``dtype``, one in four of them special."""
    limits = np.iinfo(dtype)
    numbers = random.integers(limits.min, limits.max, size, dtype, endpoint=True)
    near = (limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1, limits.max // 2 + 1, limits.max)
    special = np.array([*near, *(-1, -5) * (dtype.kind == "i")]).astype(dtype)
    return np.where(random.integers(0, 4, size) == 0, random.choice(special, size), numbers)


def trial_of(
    kernel: JITFunction,
    signature: str,
    *,
    values: Mapping[str, Any] | None = None,
    grid: Sequence[int] = (1,),
    size: int = 4096,
    options: Mapping[str, Any] | None = None,
) -> Trial:
    """The launch that a signature describes (``*fp32:16, i32, 1024``); OptionError for ``values`` of no scalar parameter."""
    signed, constants, _ = parse_signature(kernel, signature)
    types = {name: type_ for name, type_ in signed.items() if type_ != "constexpr"}
    for name in values or {}:
        if name not in types or types[name].startswith("*"):
            raise OptionError(
                f"{kernel.__name__} has no scalar parameter {name!r}",
                remedy="constexprs are given by the signature: BLOCK=1024",
            )
    return Trial(
        kernel,
        types,
        {name: value for name, value in constants.items() if name not in types},
        dict(values or {}),
        tuple(grid),
        size,
        options={"enable_fp_fusion": False, **(options or {})},
    )


def _dtype(type_: str) -> np.dtype[Any]:
    from tri.interpreter.arrays import numpy_type
    from tri.language.types import parse_type

    scalar = parse_type(type_)
    found = numpy_type(scalar)
    if scalar.is_fp8() and found.kind == "i":
        raise Unsupported(f"there are no arrays of {scalar} to verify with")
    return np.dtype(f"u{found.itemsize}") if scalar.is_int_unsigned() else found
