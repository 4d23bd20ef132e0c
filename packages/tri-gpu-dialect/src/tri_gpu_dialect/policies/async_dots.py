"""Matrix instructions of asynchronous units: they read operands from shared memory, and run on their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tri_core.ir.dots import Dot
from tri_core.ir.regions import is_loop
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.edit import number_of_module, stages_of
from tri_gpu_dialect.encodings import SharedEncoding
from tri_gpu_dialect.layouts.cluster import operand_blocks, share
from tri_gpu_dialect.plans.cta_split import dot_blocks
from tri_gpu_dialect.policies.matrix import (
    MatrixInstruction,
    contiguous_dimension,
    is_copied_in_loop,
    is_made_of_dot,
    split_warps,
    warp_splits,
)
from tri_gpu_dialect.types import shape_of

__all__ = ["AsyncInstruction", "OperandMemory", "OperandSource", "WarpGroup"]

Shape = tuple[int, ...]

#: (operand's index, its shape, the dimension of its source's neighbours) -> how it lies in shared memory, if at all
OperandMemory = Callable[[int, Shape, int], SharedEncoding | None]


@dataclass(frozen=True)
class OperandSource:
    """Location of an instruction's operand: shared memory laid out as ``encoding``, or (None) registers."""

    encoding: SharedEncoding | None


@dataclass(frozen=True, kw_only=True)
class AsyncInstruction(MatrixInstruction):
    """A row of an instruction that reads operands from shared memory and runs on its own: its dots become ``ttng.warp_group_dot``.

    ``memory(index, shape, contiguous)`` says how an operand of ``shape`` whose source has neighbours along dimension ``contiguous`` has
    to lie; None: it cannot be read so.  Those ``in_registers`` may come from registers as well.  ``group_warps`` warps, one after the
    other along the rows, execute it together; along the columns where the instruction is ``transposed``: it computes the transposed dot,
    ``D^T = B^T A^T``.  ``group_columns``: those of the narrowest and of the widest instruction of such a group (None: those of ``shape``).
    With ``turns`` threads write operands from registers with rows along k, whatever dimension their source has neighbours along: for
    dots that another's result goes into, whose layouts agree by that, and those of loops of one stage; not what loops copy ahead, which have
    ``stages`` where they don't say.
    """

    memory: OperandMemory
    in_registers: tuple[int, ...] = ()
    group_warps: int = 1
    transposed: bool = False
    group_columns: tuple[int, int] | None = None
    turns: bool = False
    stages: int = 2

    def split(self, shape: Shape, num_warps: int, *, whole_rows: bool) -> Shape:
        """See :class:`MatrixInstruction`; groups of warps have theirs together."""
        if self.group_warps == 1:
            return split_warps(shape, self.shape[:2], num_warps, whole_rows=whole_rows)
        rows, columns = self.shape[1::-1] if self.transposed else self.shape[:2]
        group = WarpGroup(self.group_warps, rows, self.group_columns or (columns, columns))
        if self.transposed:
            across, down = group.split(shape[::-1], num_warps, whole_rows=False)
            return down, across
        return group.split(shape, num_warps, whole_rows=whole_rows)

    def computes(self, dot: ir.Operation) -> bool:
        """See :class:`MatrixInstruction`."""
        return self.sources(dot) is not None

    def sources(self, dot: ir.Operation) -> tuple[OperandSource, OperandSource] | None:
        """Locations of the operands of ``dot``; None if unsupported, or for too few warps.

        What is computed from another dot's result, element by element, stays in registers if it may, and is left to
        other instructions by one that is transposed: these have rows in a thread where the other dot has columns.
        """
        if (
            len(shape_of(dot.results[0].type)) != 2
            or number_of_module(dot, "ttg.num-warps") % self.group_warps
        ):
            return None
        if (
            self.turns
            and not any(map(is_made_of_dot, dot.operands))
            and not self._repeats_without_copies(dot)
        ):
            return None
        split = dot_blocks(dot)
        if self.transposed and split:
            return None  # blocks of a cluster split rows and columns of a dot as it is
        if self.transposed and is_made_of_dot(Dot(dot).c) and not is_copied_in_loop(Dot(dot).b, self.stages):
            return None  # all of the sum would change threads, where an instruction that turns operands writes one of them
        found = []
        for index in (0, 1):
            value = dot.operands[index]
            made_of_dot = is_made_of_dot(value)
            if self.transposed and made_of_dot:
                return None
            if index in self.in_registers and (self.transposed or made_of_dot):
                found.append(OperandSource(None))
                continue
            blocks = operand_blocks(split, index)
            is_turned = self.turns and not is_copied_in_loop(value, self.stages)
            contiguous = 1 - index if is_turned else contiguous_dimension(value)
            encoding = self.memory(index, share(shape_of(value.type), blocks), contiguous)
            if encoding is not None and blocks:
                encoding = replace(encoding, cga_layout=blocks)  # type: ignore[type-var]  # of a vendor that has clusters
            if encoding is None and index not in self.in_registers:
                return None
            found.append(OperandSource(encoding))
        return found[0], found[1]

    def _repeats_without_copies(self, dot: ir.Operation) -> bool:
        """True if ``dot`` is one of a loop whose loads come through registers: threads write operands in any case."""
        loop = dot.parent.operation
        return is_loop(loop) and stages_of(loop, self.stages) == 1


@dataclass(frozen=True)
class WarpGroup:
    """``warps`` that execute a matrix instruction together: ``rows`` of it, and ``columns`` of the narrowest and the widest."""

    warps: int
    rows: int
    columns: tuple[int, int]

    def split(self, shape: Shape, num_warps: int, *, whole_rows: bool) -> Shape:
        """Split of a result of ``shape`` over warp groups: a count of warps per dimension.

        No group goes idle if that can be; then each reads as few operand elements as can be.  ``whole_rows``: see
        :func:`split_warps`.
        """
        (m, n), rows = shape, self.rows
        narrowest, widest = self.columns

        def cost(split: Shape) -> tuple[int, int, int]:
            down, across = split
            idle = max(down * rows // m, 1) * max(across * narrowest // n, 1)
            wide = max(min(n // across, widest), 1)
            read = max(m // (down * rows), 1) * max(n // across // wide, 1) * (rows + wide)
            return idle, across if whole_rows else 0, read

        down, across = min(warp_splits(num_warps // self.warps, 2), key=cost)
        return down * self.warps, across
