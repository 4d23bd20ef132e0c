"""Elements that atomics reach through the aligned word around them, on devices without narrower instructions.

A device's memory is allocated and protected in units of many words, so the rest of a word is there even where the
user's buffer ends within it, and an atomic writes it back as it was.  What is looked at is the element: its bounds, its
rights, and who else uses it.  An address of a word is a ``getelementptr`` with attribute ``ttg.word``: how many bytes the
element at its base has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_runtime.simulator.memory import Memory

__all__ = ["WORD_ATTRIBUTE", "SubwordMemory", "element_of"]

Array = npt.NDArray[Any]

WORD_ATTRIBUTE = "ttg.word"


def element_of(slots: Mapping[ir.Value, int], op: ir.OpView) -> tuple[int, int] | None:
    """The slot of the address, and the bytes, of the element that ``op`` means by a word; None for other ops."""
    owner = op.operands[0].owner
    if not isinstance(owner, ir.Operation | ir.OpView) or WORD_ATTRIBUTE not in owner.attributes:
        return None
    return slots[owner.operands[0]], ir.IntegerAttr(owner.attributes[WORD_ATTRIBUTE]).value


@dataclass(frozen=True)
class SubwordMemory:
    """``memory`` for accesses of words around elements of ``nbytes`` at ``elements``, an address per thread."""

    memory: Memory
    elements: Array
    nbytes: int

    def load(self, addresses: Array, dtype: np.dtype[np.generic], active: Array) -> Array:
        """The word of each ``active`` thread; what is outside of any buffer reads as 0xA5 bytes."""
        narrow = np.dtype(f"u{self.nbytes}")
        self.memory.load(self.elements, narrow, active)
        values = np.zeros(len(addresses), dtype)
        values[active] = self.memory.around(addresses[active], dtype.itemsize).view(dtype)[:, 0]
        return values

    def store(self, addresses: Array, values: Array, active: Array) -> None:
        """Write the elements in words of ``active`` threads; the rest of a word is as it was read."""
        rows = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
        first = (self.elements - addresses).astype(np.int64) % rows.shape[1]
        own = np.take_along_axis(rows, first[:, None] + np.arange(self.nbytes), axis=1)
        narrow = np.dtype(f"u{self.nbytes}")
        self.memory.store(self.elements, np.ascontiguousarray(own).view(narrow)[:, 0], active)
