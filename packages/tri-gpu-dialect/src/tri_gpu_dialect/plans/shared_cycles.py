"""The layout of shared memory between one writer and one reader that costs the fewest cycles of both.

Made for targets whose operands are read by plain accesses alone: rows need not stay together, so the bits of an
offset may be whatever writer and reader both access without conflicts, in the widest accesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tri_gpu_dialect.layouts import (
    BLOCK,
    LANE,
    OFFSET,
    REGISTER,
    Banks,
    LinearLayout,
    bank_conflicts,
    gf2,
    vector_access,
)
from tri_gpu_dialect.layouts.swizzle import optimal_swizzle

__all__ = ["as_read", "cost", "cycles", "fastest"]

#: the widest access, in bits, and one that more layouts have on both sides
_WIDTHS = (128, 64)


def fastest(
    writer: LinearLayout, reader: LinearLayout, bits: int, banks: Banks, run: int = 1
) -> LinearLayout:
    """Of the layouts ``offset -> coordinates`` that suit both sides, the one of the least :func:`cost`; ``bits`` of an element."""
    found = [optimal_swizzle(writer, reader, bits, banks, width) for width in _WIDTHS if width >= bits]
    found += [wide for made in found for wide in _wider_for(reader, made)]
    return min(found, key=lambda made: cost(writer, reader, made, bits, banks, run))


def as_read(writer: LinearLayout, reader: LinearLayout, bits: int, *, swizzled: bool) -> LinearLayout:
    """``offset -> coordinates`` in the order of ``reader``: registers up to 128 bits, lanes, what is left.

    ``swizzled``: lanes of ``writer`` that are far from each other are in different places of the reader's lanes.
    """
    registers, lanes, others = (_columns(reader, names) for names in ((REGISTER,), (LANE,), reader.in_dims))
    vector = registers[: max(128 // bits, 1).bit_length() - 1]
    near = [*vector, *(column for column in lanes if column not in vector)]
    own = [column for column in _columns(writer, (LANE,)) if column not in near]
    far = list(
        dict.fromkeys([*own, *(c for c in others if c not in near), *_columns(writer, writer.in_dims)])
    )
    columns = gf2.complement([], 0, [*near, *far])
    if swizzled:
        places = dict(zip(own, near[len(vector) :], strict=False))
        columns = [column ^ places.get(column, 0) for column in columns]
    return LinearLayout(((OFFSET, len(columns)),), reader.outs, tuple(columns))


def _columns(layout: LinearLayout, dims: Iterable[str]) -> list[int]:
    """The coordinates of the inputs' bits, each once, those that change nothing left out."""
    found = (c for dim in dims if dim != BLOCK and layout.has_in(dim) for c in layout.packed(dim) if c)
    return list(dict.fromkeys(found))


def cost(
    writer: LinearLayout, reader: LinearLayout, memory: LinearLayout, bits: int, banks: Banks, run: int = 1
) -> int:
    """:func:`cycles` of both sides, and the words that are moved among registers.

    ``run``: how many registers of ``reader``, one after the other, the instruction takes that it reads for.
    """
    accesses = sum(cycles(side, memory, bits, banks) for side in (writer, reader))
    return accesses + _moves(writer, memory, bits, max(128 // bits, 1)) + _moves(reader, memory, bits, run)


def cycles(registers: LinearLayout, memory: LinearLayout, bits: int, banks: Banks) -> int:
    """Cycles of all accesses of a warp: each is issued, and takes a cycle a phase and conflict."""
    access = vector_access(registers, memory, max(128 // bits, 1))
    bytes_ = max(access.width * bits // 8, 1) * registers.in_size(LANE)
    phases = max(bytes_ // banks.row_bytes, 1)
    return len(access.groups) * (1 + phases * bank_conflicts(registers, memory, bits, banks))


def _moves(registers: LinearLayout, memory: LinearLayout, bits: int, run: int) -> int:
    """Words of accesses that are of registers in another order than one after the other, ``run`` at least of these."""
    access = vector_access(registers, memory, max(128 // bits, 1))
    run = min(run, access.width)
    words = max(access.width * bits // 32, 1)
    return sum(words for group in access.groups if not _in_runs(group, run))


def _in_runs(group: tuple[int, ...], run: int) -> bool:
    return all(group[i] == group[i - i % run] + i % run for i in range(len(group)))


def _wider_for(reader: LinearLayout, memory: LinearLayout) -> Iterator[LinearLayout]:
    """``memory`` with further registers of ``reader`` right above its vector: it reads wider than the other side writes."""
    columns = list(memory.packed(OFFSET))
    own = {column for column in reader.packed(REGISTER) if column}
    width = next((i for i, column in enumerate(columns) if column not in own), len(columns))
    vector, rest = columns[:width], columns[width:]
    more = [column for column in reader.packed(REGISTER) if column in rest]
    for first in [*([column] for column in more), *(more[:count] for count in range(2, len(more) + 1))]:
        moved = (*vector, *first, *(column for column in rest if column not in first))
        yield LinearLayout(memory.ins, memory.outs, moved)
