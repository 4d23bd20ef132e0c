"""In which order operands of matrix instructions lie in shared memory: rows swizzled so that no access conflicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from tri_gpu_dialect.encodings import DotOperand, Encoding, MatrixEncoding, SharedEncoding
from tri_gpu_dialect.encodings.shared import SharedLinear, SwizzledShared
from tri_gpu_dialect.layouts import (
    BLOCK,
    REGISTER,
    Banks,
    LinearLayout,
    TransposingRead,
    bank_conflicts,
    layout_for,
    vector_access,
)
from tri_gpu_dialect.layouts.cluster import units, within
from tri_gpu_dialect.layouts.shared import row_major
from tri_gpu_dialect.plans.shared_cycles import cost, fastest, for_transposing, transposing_cost

__all__ = [
    "is_read_in_rows",
    "memory_by_cycles",
    "memory_in_block",
    "operand_memory",
    "registers_taken",
    "transposing_read",
    "vector_order",
]

Shape = tuple[int, ...]


@lru_cache(maxsize=1024)
def operand_memory(
    shape: Shape,
    bits: int,
    writer: LinearLayout,
    readers: tuple[LinearLayout, ...],
    banks: Banks,
) -> SwizzledShared:
    """The buffer for a tensor of ``shape`` with elements of ``bits``, written in ``writer``, read in ``readers``.

    Rows run along the dimension that the writer has vectors along.  Of the swizzles, the one with the fewest
    conflicts of all accesses together; of equals the one whose pieces are the widest, up to ``banks.access_bytes``:
    of 16 bytes and 32 banks, eight rows of them, as matrix loads read them, are in different banks, along rows and across.
    """
    order = vector_order(shape, bits, writer)
    best, cost = None, 0
    for candidate in _candidates(shape, bits, order, banks):
        layout = layout_for(candidate, shape)
        conflicts = sum(bank_conflicts(one, layout, bits, banks) for one in (writer, *readers))
        if best is None or conflicts < cost:
            best, cost = candidate, conflicts
        if cost == 1 + len(readers):
            break
    assert best is not None
    return best


def is_read_in_rows(encoding: Encoding | None) -> bool:
    """True if matrix loads read a tensor in ``encoding`` across k: the places of its elements do not
    determine conflicts then.
    """
    if not isinstance(encoding, DotOperand) or not isinstance(encoding.parent, MatrixEncoding):
        return False
    return encoding.parent.reads_rows(encoding.op_idx, encoding.k_width)


def registers_taken(encoding: Encoding | None) -> int:
    """Number of consecutive registers of a tensor in ``encoding`` that a matrix instruction reads; 1 if none
    reads it.
    """
    if not isinstance(encoding, DotOperand) or not isinstance(encoding.parent, MatrixEncoding):
        return 1
    return encoding.parent.fragment(encoding.op_idx, encoding.k_width).in_size(REGISTER)


def transposing_read(encoding: Encoding | None) -> TransposingRead | None:
    """The read that gives a tensor in ``encoding`` across its rows in memory, if it is an operand that has one."""
    if not isinstance(encoding, DotOperand) or not isinstance(encoding.parent, MatrixEncoding):
        return None
    return encoding.parent.transposing_read


def memory_by_cycles(
    shape: Shape,
    bits: int,
    writer: LinearLayout,
    reader: LinearLayout,
    banks: Banks,
    run: int = 1,
    read: TransposingRead | None = None,
) -> SharedEncoding:
    """The buffer of the least :func:`cost` for ``writer`` and ``reader``, rows swizzled where no other layout is better.

    ``run``: :func:`registers_taken` of the reader; ``read``: its :func:`transposing_read`, for which the buffer is made where that costs less.
    """
    rows = operand_memory(shape, bits, writer, (reader,), banks)
    if any(map(any, writer.bases.get(BLOCK, ()))):
        return rows
    own = (writer.without_ins(BLOCK), reader.without_ins(BLOCK)) if writer.has_in(BLOCK) else (writer, reader)
    made = fastest(*own, bits, banks, run)
    in_rows = layout_for(rows, shape)
    costs = [cost(*own, memory, bits, banks, run) for memory in (in_rows, made)]
    plain = rows if costs[0] <= costs[1] else SharedLinear.of(made)
    across = None if read is None else _memory_across(*own, read, bits, banks)
    return plain if across is None or across[0] >= min(costs) else SharedLinear.of(across[1])


def _memory_across(
    writer: LinearLayout, reader: LinearLayout, read: TransposingRead, bits: int, banks: Banks
) -> tuple[int, LinearLayout] | None:
    """Cost of accesses with the best memory layout for ``read``, and that layout."""
    made, addressed = for_transposing(writer, reader, read, bits, banks), read.addressed(reader, bits)
    if made is None or addressed is None:
        return None
    return transposing_cost(writer, addressed, made, read, bits, banks), made


def memory_in_block(
    shape: Shape, bits: int, writer: LinearLayout, readers: tuple[LinearLayout, ...], banks: Banks
) -> SwizzledShared:
    """:func:`operand_memory` where the blocks of a cluster split the tensor, in all layouts alike: each has its share."""
    begins = writer.bases[BLOCK] if writer.has_in(BLOCK) else ()
    if not any(map(any, begins)):
        made = operand_memory(shape, bits, writer, readers, banks)
        return replace(made, cga_layout=tuple(begins)) if begins else made
    own, *others = (within(each, begins) for each in (writer, *readers))
    found = operand_memory(tuple(own.out_sizes.values()), bits, own, tuple(others), banks)
    return replace(found, cga_layout=units(begins))


def vector_order(shape: Shape, bits: int, writer: LinearLayout) -> Shape:
    """The dimension of the writer's widest vectors first, then the others, last ones first."""
    most = max(128 // bits, 1)

    def width(dim: int) -> int:
        rest = [d for d in reversed(range(len(shape))) if d != dim]
        return vector_access(writer, row_major(shape, [dim, *rest]), most).width

    matrix = range(max(len(shape) - 2, 0), len(shape))
    first = max(reversed(matrix), key=width)
    return (first, *(d for d in reversed(range(len(shape))) if d != first))


def _candidates(shape: Shape, bits: int, order: Shape, banks: Banks) -> Iterator[SwizzledShared]:
    columns = shape[order[0]]
    row_bytes = max(columns * bits // 8, 1)
    piece = max(banks.access_bytes, bits // 8)
    while piece * 8 >= bits:
        vec = min(max(piece * 8 // bits, 1), columns)
        per_phase = max(banks.row_bytes // row_bytes, 1)
        phases = min(banks.row_bytes // piece // per_phase, columns // vec)
        yield SwizzledShared(vec, per_phase, max(phases, 1), order)
        piece //= 2
