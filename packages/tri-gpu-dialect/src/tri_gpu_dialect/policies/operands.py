"""Policy for operands that matrix instructions read from shared memory element by element: their memory
layout.

Operands that matrix loads read lie as these want them; no choice is asked for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.encodings import Encoding, SharedEncoding
from tri_gpu_dialect.layouts import Banks, LinearLayout
from tri_gpu_dialect.plans.operand_memory import (
    memory_by_cycles,
    memory_in_block,
    registers_taken,
    transposing_read,
)

__all__ = ["ByCycles", "InRows", "OperandLayout", "Written"]


@dataclass(frozen=True)
class Written:
    """A tensor of ``shape`` with elements of ``bits``, written to memory of ``banks`` by the registers of ``writer``."""

    shape: tuple[int, ...]
    bits: int
    writer: LinearLayout
    banks: Banks


@runtime_checkable
class OperandLayout(Protocol):
    """Chooses how an operand lies in shared memory; a frozen dataclass, for it enters keys of kernels."""

    def once(self, tensor: Written, reader: LinearLayout, operand: Encoding | None) -> SharedEncoding:
        """For ``tensor``, which is written right before the registers of ``reader``, in the layout ``operand``, read it."""

    def in_stages(
        self, tensor: Written, readers: Sequence[LinearLayout], operands: Sequence[Encoding | None]
    ) -> SharedEncoding:
        """For ``tensor`` in the stages of a pipelined loop, read in ``readers``; ``operands``: the layouts of those that read by element."""


@dataclass(frozen=True)
class InRows:
    """Rows, swizzled such that no access conflicts, as matrix loads want them."""

    def once(self, tensor: Written, reader: LinearLayout, operand: Encoding | None) -> SharedEncoding:
        """See :class:`OperandLayout`."""
        return memory_in_block(tensor.shape, tensor.bits, tensor.writer, (reader,), tensor.banks)

    def in_stages(
        self, tensor: Written, readers: Sequence[LinearLayout], operands: Sequence[Encoding | None]
    ) -> SharedEncoding:
        """See :class:`OperandLayout`."""
        return memory_in_block(tensor.shape, tensor.bits, tensor.writer, tuple(readers), tensor.banks)


@dataclass(frozen=True)
class ByCycles(InRows):
    """Memory layout with the fewest access cycles for writer and reader, in any order, for targets that read
    operands by plain accesses.
    """

    def once(self, tensor: Written, reader: LinearLayout, operand: Encoding | None) -> SharedEncoding:
        """See :class:`OperandLayout`."""
        return self.in_stages(tensor, (reader,), (operand,))

    def in_stages(
        self, tensor: Written, readers: Sequence[LinearLayout], operands: Sequence[Encoding | None]
    ) -> SharedEncoding:
        """Rows where readers differ, or none reads by element."""
        if not operands or len(set(readers)) != 1:
            return super().in_stages(tensor, readers, operands)
        run, reads = min(map(registers_taken, operands)), set(map(transposing_read, operands))
        read = reads.pop() if len(reads) == 1 else None
        shape, bits, banks = tensor.shape, tensor.bits, tensor.banks
        return memory_by_cycles(shape, bits, tensor.writer, readers[0], banks, run, read)
