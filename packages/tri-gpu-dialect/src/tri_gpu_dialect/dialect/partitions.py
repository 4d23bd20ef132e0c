"""Warp specialisation as the IR says it: which warps run which region of a ``ttg.warp_specialize``.

The default region is run by the warps that run the rest of the kernel, a partition by warps of its own, all at the
same time.  The op's regions see what is outside of them by their arguments only (*captures*); a partition's tensors
have layouts of as many warps as the partition has.
"""

from __future__ import annotations

from collections.abc import Iterator

from tri_core.errors import VerificationError
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir

__all__ = [
    "NAME",
    "Partition",
    "default_block",
    "default_registers",
    "partition_blocks",
    "partitions",
    "warp_counts",
]

#: the op
NAME = "ttg.warp_specialize"


@dataclass(frozen=True)
class Partition:
    """A partition: its ``block`` (with an argument per capture), its warps, and registers of a thread (0: any)."""

    block: ir.Block
    first: int
    warps: int
    registers: int = 0

    @property
    def end(self) -> int:
        """The warp after its last one."""
        return self.first + self.warps


def default_block(op: ir.Operation) -> ir.Block:
    """The default region's block."""
    return op.regions[0].blocks[0]


def partition_blocks(op: ir.Operation) -> list[ir.Block]:
    """The partitions' blocks."""
    return list(op.regions[1].blocks[0].operations[0].operation.regions[0].blocks)


def warp_counts(op: ir.Operation) -> list[int]:
    """The number of warps of each partition."""
    return list(ir.DenseI32ArrayAttr(op.attributes["partitionNumWarps"]))


def _array(op: ir.Operation, name: str, default: list[int]) -> list[int]:
    return list(ir.DenseI32ArrayAttr(op.attributes[name])) if name in op.attributes else default


def default_registers(op: ir.Operation) -> int:
    """Registers of a thread of the default region; 0 where nothing is said."""
    return _array(op, "actualRegisters", [0])[0]


def partitions(op: ir.Operation, num_warps: int) -> list[Partition]:
    """The partitions of ``op`` in a kernel of ``num_warps`` warps.

    ``warpGroupStartIds`` gives their first warps; without it they follow each other.  VerificationError where warps
    are in two places.
    """
    counts = warp_counts(op)
    starts = _array(op, "warpGroupStartIds", list(_running_sums(num_warps, counts)))
    registers = _array(op, "actualRegisters", [0] * (len(counts) + 1))[1:]
    blocks = partition_blocks(op)
    found = [Partition(*each) for each in zip(blocks, starts, counts, registers, strict=True)]
    end = num_warps
    for part in sorted(found, key=lambda p: p.first):
        if part.first < end:
            raise VerificationError(
                f"{NAME}: warp {part.first} is to run a partition and another region as well",
                location=source_location(op.location),
            )
        end = part.end
    return found


def _running_sums(start: int, counts: list[int]) -> Iterator[int]:
    for count in counts:
        yield start
        start += count
