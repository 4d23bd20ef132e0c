"""The layout of shared memory between one writer and one reader that costs the fewest cycles of both.

Made for targets whose operands are read by plain accesses alone: rows need not stay together, so the bits of an
offset may be whatever writer and reader both access without conflicts, in the widest accesses.
"""

from __future__ import annotations

from collections.abc import Iterator

from tri_gpu_dialect.layouts import (
    LANE,
    OFFSET,
    REGISTER,
    Banks,
    LinearLayout,
    TransposingRead,
    bank_conflicts,
    vector_access,
)
from tri_gpu_dialect.layouts.swizzle import optimal_swizzle

__all__ = ["cost", "cycles", "fastest", "for_transposing", "transposing_cost", "wider_for"]

#: the widest access, in bits, and one that more layouts have on both sides
_WIDTHS = (128, 64)


def fastest(
    writer: LinearLayout, reader: LinearLayout, bits: int, banks: Banks, run: int = 1
) -> LinearLayout:
    """Of the layouts ``offset -> coordinates`` that suit both sides, the one of the least :func:`cost`; ``bits`` of an element."""
    found = [optimal_swizzle(writer, reader, bits, banks, width) for width in _WIDTHS if width >= bits]
    found += [wide for made in found for wide in wider_for(reader, made)]
    return min(found, key=lambda made: cost(writer, reader, made, bits, banks, run))


def for_transposing(
    writer: LinearLayout, reader: LinearLayout, read: TransposingRead, bits: int, banks: Banks
) -> LinearLayout | None:
    """As :func:`fastest`, for a ``reader`` that gets its elements by ``read``, by :func:`transposing_cost`; None where no layout lets it."""
    addressed = read.addressed(reader, bits)
    if addressed is None:
        return None
    made = [optimal_swizzle(writer, addressed, bits, banks, read.bits)]
    if 2 * read.bits <= _WIDTHS[0]:
        # the other side accesses what two lanes do
        made.append(optimal_swizzle(writer, _in_pairs(addressed), bits, banks, 2 * read.bits))
    found = [each for each in made if read.suits(reader, each, bits)]
    return min(
        found, key=lambda each: transposing_cost(writer, addressed, each, read, bits, banks), default=None
    )


def transposing_cost(
    writer: LinearLayout,
    addressed: LinearLayout,
    memory: LinearLayout,
    read: TransposingRead,
    bits: int,
    banks: Banks,
) -> int:
    """:func:`cost` where the reader gets its elements by ``read``, which moves none among registers; ``addressed``: who addresses what."""
    widest = max(128 // bits, 1)
    written = cycles(writer, memory, bits, banks) + _moves(writer, memory, bits, widest)
    return written + cycles(addressed, memory, bits, banks, read.bits)


def _in_pairs(registers: LinearLayout) -> LinearLayout:
    """``registers`` with the elements of every second lane in the lane before it, behind those of this one's first vector."""
    columns = {dim: registers.packed(dim) for dim in registers.in_dims}
    ins = tuple((dim, n + {REGISTER: 1, LANE: -1}.get(dim, 0)) for dim, n in registers.ins)
    first, *rest = columns[LANE]
    columns[REGISTER], columns[LANE] = (*columns[REGISTER], first), tuple(rest)
    return LinearLayout(ins, registers.outs, tuple(c for each in columns.values() for c in each))


def cost(
    writer: LinearLayout, reader: LinearLayout, memory: LinearLayout, bits: int, banks: Banks, run: int = 1
) -> int:
    """:func:`cycles` of both sides, and the words that are moved among registers.

    ``run``: how many registers of ``reader``, one after the other, the instruction takes that it reads for.
    """
    accesses = sum(cycles(side, memory, bits, banks) for side in (writer, reader))
    return accesses + _moves(writer, memory, bits, max(128 // bits, 1)) + _moves(reader, memory, bits, run)


def cycles(registers: LinearLayout, memory: LinearLayout, bits: int, banks: Banks, widest: int = 128) -> int:
    """Cycles of all accesses of a warp, of ``widest`` bits at most: each is issued, and takes a cycle a phase and conflict."""
    access = vector_access(registers, memory, max(widest // bits, 1))
    bytes_ = max(access.width * bits // 8, 1) * registers.in_size(LANE)
    phases = max(bytes_ // banks.row_bytes, 1)
    return len(access.groups) * (1 + phases * bank_conflicts(registers, memory, bits, banks, widest))


def _moves(registers: LinearLayout, memory: LinearLayout, bits: int, run: int) -> int:
    """Words of accesses that are of registers in another order than one after the other, ``run`` at least of these."""
    access = vector_access(registers, memory, max(128 // bits, 1))
    run = min(run, access.width)
    words = max(access.width * bits // 32, 1)
    return sum(words for group in access.groups if not _in_runs(group, run))


def _in_runs(group: tuple[int, ...], run: int) -> bool:
    return all(group[i] == group[i - i % run] + i % run for i in range(len(group)))


def wider_for(reader: LinearLayout, memory: LinearLayout) -> Iterator[LinearLayout]:
    """``memory`` with further registers of ``reader`` right above its vector: it reads wider than the other side writes."""
    columns = list(memory.packed(OFFSET))
    own = {column for column in reader.packed(REGISTER) if column}
    width = next((i for i, column in enumerate(columns) if column not in own), len(columns))
    vector, rest = columns[:width], columns[width:]
    more = [column for column in reader.packed(REGISTER) if column in rest]
    for first in [*([column] for column in more), *(more[:count] for count in range(2, len(more) + 1))]:
        moved = (*vector, *first, *(column for column in rest if column not in first))
        yield LinearLayout(memory.ins, memory.outs, moved)
