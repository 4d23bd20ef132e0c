"""Updates of memory by one operand: what atomics, reductions by TMA and their PTX combine with (PTX ISA 8.7, 9.7.13.12 ``atom``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["UPDATES", "Array", "Update"]

Array = npt.NDArray[Any]
#: the new value, of the old one and the operand, of one dtype
Update = Callable[[Array, Array], Array]


def _inc(old: Array, most: Array) -> Array:
    return np.where(old >= most, old.dtype.type(0), old + old.dtype.type(1))


def _dec(old: Array, most: Array) -> Array:
    return np.where((old == 0) | (old > most), most, old - old.dtype.type(1))


#: by the instruction's name for it
UPDATES: Mapping[str, Update] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": lambda old, new: new,
    "inc": _inc,
    "dec": _dec,
}
