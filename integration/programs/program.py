"""Records of a program, its data and one case of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

__all__ = [
    "Array",
    "Case",
    "Data",
    "Numbers",
    "Program",
    "Scale",
    "Sizes",
    "Start",
    "dtype_of",
    "poisoned",
    "values",
]

Array = npt.NDArray[Any]
Numbers = npt.NDArray[np.float64]
#: which sizes of a program
Scale = Literal["small", "few", "large"]
#: what is to be called with the arguments of a kernel over a grid: the launch, or something else that takes them
Start = Callable[[Any, tuple[int, ...]], Callable[..., object]]


def dtype_of(name: str) -> np.dtype[Any]:
    """NumPy's dtype, or ml_dtypes', of a name as ``bfloat16``."""
    return np.dtype(getattr(ml_dtypes, name, name))


@dataclass(frozen=True, kw_only=True)
class Case:
    """One launch of ``program``: data and options.

    ``columns``: whether the left and the right operand lie column by column; ``without``: the pass over TTGIR that
    is left out, "" for none; ``warp_specialize`` and ``persistent``: the options of these names, None where a target has none.
    """

    program: str
    dtype: str
    shape: tuple[int, ...]
    block: tuple[int, ...]
    columns: tuple[bool, bool] = (False, False)
    num_warps: int = 4
    num_stages: int = 3
    without: str = ""
    warp_specialize: bool | None = None
    persistent: bool | None = None

    @property
    def options(self) -> dict[str, int]:
        """The launch's options."""
        made = {"num_warps": self.num_warps, "num_stages": self.num_stages}
        chosen = {"warp_specialize": self.warp_specialize, "persistent": self.persistent}
        return made | {name: value for name, value in chosen.items() if value is not None}

    def __str__(self) -> str:
        shape, block = ("x".join(map(str, t)) for t in (self.shape, self.block))
        order = "".join("NT"[c] for c in self.columns)
        less = f" without {self.without}" if self.without else ""
        less += {None: "", False: " one partition", True: " warp_specialize"}[self.warp_specialize]
        less += " persistent" if self.persistent else ""
        return (
            f"{self.program} {self.dtype} {shape} by {block} {order} "
            f"num_warps={self.num_warps} num_stages={self.num_stages}{less}"
        )


@dataclass(frozen=True)
class Data:
    """Arguments of a launch; outputs are poisoned, so that what is not written is seen.

    Arrays of NumPy, or what was made of them on a device.
    """

    inputs: Sequence[Any]
    outputs: Sequence[Any]


@dataclass(frozen=True)
class Sizes:
    """Shapes of the data and blocks; what they mean is the program's."""

    shapes: tuple[tuple[int, ...], ...]
    blocks: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Program:
    """A kernel, or several, with data and an oracle.

    ``bounds``: the largest right error of each element type, of the largest value of the output.  ``small`` are sizes for
    simulators and CPUs, ``large`` those for devices; ``few`` have the blocks of devices, as many as a simulator does in
    seconds.  ``launch`` starts its kernels by the function that it is given.
    """

    name: str
    bounds: Mapping[str, float]
    small: Sizes
    few: Sizes
    large: Sizes
    make: Callable[[Case, np.random.Generator], Data]
    launch: Callable[[Data, Case, Start], object]
    oracle: Callable[[Data, Case], Sequence[Numbers]]
    columns: tuple[tuple[bool, bool], ...] = field(default=((False, False),))

    def sizes(self, scale: Scale) -> Sizes:
        """Those of its name."""
        return {"small": self.small, "few": self.few, "large": self.large}[scale]


def values(random: np.random.Generator, shape: Sequence[int], dtype: str, *, columns: bool = False) -> Array:
    """Random numbers, normal ones or any bytes, stored row by row or column by column."""
    if dtype == "int8":
        made = random.integers(-128, 128, shape).astype(np.int8)
    else:
        made = random.standard_normal(shape).astype(dtype_of(dtype))
    return np.asfortranarray(made) if columns else made


def poisoned(shape: Sequence[int], dtype: str) -> Array:
    """NaN everywhere, or a number that is no result by chance."""
    known = dtype_of(dtype)
    return np.full(shape, 0x7A5A5A5A if known.kind in "iu" else np.nan, known)
