"""Loads of what threads write across its rows into a buffer: a thread has rows below each other, and writes them in the widest accesses.

    b = load [64, 128], 4 of a row in each thread       becomes        4 of each of 4 rows
    buffer = local_alloc b, rows along the columns of b

A matrix instruction that reads 32 or 8 bits from memory wants rows along k.  A thread that has neighbours across k alone writes each element by
itself, and so do eight lanes to a bank.  With a small block of the operand the transposition takes place among its registers; which lanes
hold which blocks is decided by the banks: a load still fills sectors of global memory, and as much of a line as conflicts let it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import LoadOp
from tri_core.ir.traits import is_elementwise
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis.access import Lines
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import ConvertLayoutOp, LocalAllocOp
from tri_gpu_dialect.edit import all_ops, functions, has_stages, module_int
from tri_gpu_dialect.encodings import Blocked, DistributedEncoding, Linear
from tri_gpu_dialect.layouts import LANE, REGISTER, Banks, LinearLayout, vector_access
from tri_gpu_dialect.plans.shared_cycles import cycles
from tri_gpu_dialect.transforms.layout.coalesce import lay_out
from tri_gpu_dialect.types import bitwidth, tensor_info

__all__ = ["TurnLoads", "turned"]

#: bits of the widest access of shared memory
_WIDEST = 128
#: ops that are looked at behind a load
_HORIZON = 64


@dataclass(frozen=True)
class TurnLoads(Pass):
    """See the module; at ``ttgir.matmul``, where buffers of operands are made and loads may still get other layouts."""

    name: ClassVar[str] = "turn-loads"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Change the layouts of such loads in every function of ``module``."""
        if module_int(module, "ttg.num-ctas") > 1:
            return
        target = None if context is None else context.target
        stages = 1 if context is None else context.options.num_stages
        banks, lines = Banks.of(target), Lines.of(target)
        for function in functions(module):
            for op in all_ops(function):
                # copies bring ahead what loops load, as it lies in global memory
                if isa(op, LoadOp) and not has_stages(op, stages):
                    _turn(op, banks, lines)


def _turn(load: ir.Operation, banks: Banks, lines: Lines) -> None:
    """Give ``load`` the layout in which it, and the buffers that it fills, take the fewest cycles."""
    info, own = tensor_info(load.results[0].type), encoding_of(load.results[0])
    if info is None or info.rank != 2 or not isinstance(own, Blocked):
        return
    buffers = _filled(load)
    if not any(_is_scattered(own, buffer) for buffer in buffers):
        return

    def cost(encoding: DistributedEncoding) -> tuple[int, int]:
        return _cycles(encoding, info.shape, info.bitwidth, own.order[0], buffers, banks, lines)

    found = min((own, *turned(own, info.shape, info.bitwidth, _bits(buffers), lines)), key=cost)
    if found != own:
        lay_out(load, found)


def _filled(load: ir.Operation) -> list[ir.Value]:
    """The buffers that elementwise ops fill with what ``load`` gives; none where it goes anywhere else."""
    ahead, seen, found = list(load.results), set(load.results), []
    while ahead:
        for use in ahead.pop().uses:
            user = use.owner.operation
            if isa(user, LocalAllocOp):
                found.append(user.results[0])
            elif (is_elementwise(user) or isa(user, ConvertLayoutOp)) and len(seen) < _HORIZON:
                ahead += [r for r in user.results if r not in seen]
                seen.update(user.results)
            else:
                return []
    return found


def _bits(buffers: Sequence[ir.Value]) -> int:
    return min(bitwidth(MemDescType(buffer.type).element_type) for buffer in buffers)


def _memory(buffer: ir.Value) -> LinearLayout:
    return layouts.of(buffer.type)


def _is_scattered(own: Blocked, buffer: ir.Value) -> bool:
    """True if a thread with elements in layout ``own`` writes ``buffer`` element by element although it holds
    several in a row.
    """
    written = own.linear_layout(tuple(MemDescType(buffer.type).shape))
    bits = bitwidth(MemDescType(buffer.type).element_type)
    return (
        own.size_per_thread[own.order[0]] > 1
        and vector_access(written, _memory(buffer), _WIDEST // bits).width == 1
    )


def _cycles(
    encoding: DistributedEncoding,
    shape: tuple[int, ...],
    bits: int,
    along: int,
    buffers: Sequence[ir.Value],
    banks: Banks,
    lines: Lines,
) -> tuple[int, int]:
    """Cycles of a warp's loads, of elements of ``bits`` in vectors along dimension ``along``, and of its writes into ``buffers``; lines of a load."""
    registers = encoding.linear_layout(shape)
    rows = _rows_of(registers, along)
    width = _vector(registers, along, _WIDEST // bits)
    loads = max(registers.in_size(REGISTER) // width, 1)
    touched = rows * max(width * bits // 8 * (registers.in_size(LANE) // rows) // lines.line, 1)
    moved = max(width * bits // 8 * registers.in_size(LANE) // lines.line, 1)
    written = sum(
        cycles(registers, _memory(buffer), bitwidth(MemDescType(buffer.type).element_type), banks)
        for buffer in buffers
    )
    return loads * (1 + moved) + written, touched


def _rows_of(registers: LinearLayout, along: int) -> int:
    """Number of places across dimension ``along`` that the lanes of a warp have."""
    return 1 << sum(1 for basis in registers.bases[LANE] if basis[1 - along])


def _vector(registers: LinearLayout, along: int, widest: int) -> int:
    """Number of neighbours along dimension ``along`` that the first registers of a thread have."""
    width = 1
    for basis in registers.bases[REGISTER]:
        if width >= widest or basis[along] != width or basis[1 - along]:
            break
        width *= 2
    return width


def turned(own: Blocked, shape: tuple[int, ...], bits: int, written: int, lines: Lines) -> Iterator[Linear]:
    """Layouts of ``shape`` for loads as of ``own``, of elements of ``bits``, whose threads hold several rows for writes of ``written`` bits each.

    Threads hold vectors as in ``own``, or of half the elements, and as many rows of them as the widest write takes; lanes fill a sector of a
    row, then whatever number of rows and of further sectors.  None where there are fewer elements than threads hold copies of.
    """
    along = own.order[0]
    inner, outer = (shape[d].bit_length() - 1 for d in (along, 1 - along))
    lanes, warps = (counts[0] * counts[1] for counts in (own.threads_per_warp, own.warps_per_cta))
    own_bits = inner + outer - (lanes.bit_length() - 1) - (warps.bit_length() - 1)
    width = own.size_per_thread[along].bit_length() - 1
    sector = max(lines.sector * 8 // bits, 1).bit_length() - 1
    for vector in range(width, max(width - 2, 0), -1):
        depth = min((_WIDEST // written).bit_length() - 1, own_bits - vector, outer)
        if depth < 1:
            continue
        filled = max(min(sector, inner) - vector, 0)
        spare = lanes.bit_length() - 1 - filled
        for rows in range(min(spare, outer - depth) + 1):
            if (columns := spare - rows) <= inner - vector - filled:
                places = _places((vector, depth), (filled, rows, columns), (inner, outer), warps, along)
                yield from places


def _places(
    held: tuple[int, int], lane: tuple[int, int, int], sizes: tuple[int, int], warps: int, along: int
) -> Iterator[Linear]:
    """The layouts of threads that hold 2^``held`` elements, lanes of 2^``lane``: of a sector, of rows, of columns, the last two in both orders."""
    vector, depth = held
    filled, rows, columns = lane
    row = [_unit(i, 1 - along) for i in range(sizes[1])]
    column = [_unit(i, along) for i in range(sizes[0])]
    first = column[vector : vector + filled]
    down = row[depth : depth + rows]
    right = column[vector + filled : vector + filled + columns]
    rest = [*column[vector + filled + columns :], *row[depth + rows :]]
    count = warps.bit_length() - 1
    if len(rest) < count:
        return
    for others in ([*down, *right], [*right, *down]):
        yield Linear(
            2,
            register=(*column[:vector], *row[:depth], *rest[count:]),
            lane=(*first, *others),
            warp=tuple(rest[:count]),
        )


def _unit(bit: int, dim: int) -> tuple[int, int]:
    return (1 << bit, 0) if dim == 0 else (0, 1 << bit)
