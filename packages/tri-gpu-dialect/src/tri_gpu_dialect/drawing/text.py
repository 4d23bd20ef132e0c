"""Layouts as text: rows of thread numbers, or rows of memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from tri_gpu_dialect.drawing.ownership import Owner, Ownership
from tri_gpu_dialect.encodings import SwizzledShared

__all__ = ["WHATS", "draw_text"]

#: what a picture shows of an owner
WHATS = ("thread", "lane", "warp", "register", "block", "all")

_Row = list[tuple[Owner, ...]]


def draw_text(found: Ownership, what: str = "thread") -> str:
    """The tensor as rows in brackets; each entry is what is asked of the element's first owner.

    Along a row ``;`` is where the next warp begins, and a wider gap where the warps begin again.  Blocks of a
    cluster are shown apart, in the places that they have in the tensor.  Of more than two dimensions, the
    leading ones are written above each matrix.  Shared memory is shown as it lies, a row of the tensor in
    each line, with its phase.
    """
    parts = [found.summary()]
    if found.shared:
        parts += _memory(found)
    elif found.blocks > 1 and len(found.shape) == 2 and _grid(found) is not None:
        parts += _clusters(found, what)
    else:
        for title, rows in _matrices(found):
            parts += [*([title] if title else []), *_lines(found, rows, what)]
    return "\n".join(parts) + "\n"


# --- registers ----------------------------------------------------------------------------------------------


def _matrices(found: Ownership) -> Iterator[tuple[str, list[_Row]]]:
    """The matrices of the last two dimensions, with the leading coordinates as text."""
    *leading, rows, columns = (1, *found.shape) if len(found.shape) == 1 else found.shape
    for k in range(math.prod(leading)):
        at: list[int] = []
        rest = k
        for size in reversed(leading):
            at.insert(0, rest % size)
            rest //= size
        base = k * rows * columns
        matrix = [list(found.owners[base + r * columns : base + (r + 1) * columns]) for r in range(rows)]
        yield (f"[{', '.join(map(str, at))}]" if leading else ""), matrix


def _lines(found: Ownership, rows: list[_Row], what: str) -> list[str]:
    entry = _entry(found, what)
    cells = [[entry(owners) for owners in row] for row in rows]
    width = max(len(cell) for row in cells for cell in row)
    return [_line(row, owners, width) for row, owners in zip(cells, rows, strict=True)]


def _line(cells: Sequence[str], owners: _Row, width: int) -> str:
    made = [cells[0].ljust(width)]
    for cell, (left, right) in zip(cells[1:], pairwise(owners), strict=True):
        if right[0].warp != left[0].warp:
            made.append(";" if right[0].warp > left[0].warp else "")
        made.append(cell.ljust(width))
    return f"[ {' '.join(made)} ]"


def _entry(found: Ownership, what: str) -> Callable[[tuple[Owner, ...]], str]:
    if what == "thread":
        return lambda owners: str(found.thread(owners[0]))
    if what == "all":
        return lambda owners: "|".join(_whole(found, o) for o in owners)
    return lambda owners: str(getattr(owners[0], what))


def _whole(found: Ownership, owner: Owner) -> str:
    block = f"b{owner.block}" if found.blocks > 1 else ""
    return f"{block}w{owner.warp}l{owner.lane}r{owner.register}"


def _grid(found: Ownership) -> tuple[int, int] | None:
    """The rows and columns that one block has, if every block has one rectangle of one size and its own place."""
    rows, columns = found.shape
    first = [i for i, owners in enumerate(found.owners) if owners[0].block == found.owners[0][0].block]
    height = max(i // columns for i in first) + 1
    width = max(i % columns for i in first) + 1
    for r in range(0, rows, height):
        for c in range(0, columns, width):
            held = {
                found.owners[i * columns + j][0].block
                for i in range(r, r + height)
                for j in range(c, c + width)
            }
            if len(held) != 1:
                return None
    return height, width


def _clusters(found: Ownership, what: str) -> list[str]:
    grid = _grid(found)
    (_, matrix), *_ = _matrices(found)
    height, width = grid or found.shape
    made: list[str] = []
    for i, r in enumerate(range(0, found.shape[0], height)):
        tiles = []
        for j, c in enumerate(range(0, found.shape[1], width)):
            lines = _lines(found, [row[c : c + width] for row in matrix[r : r + height]], what)
            tiles.append([f"CTA [{i},{j}]".ljust(len(lines[0])), *lines])
        made += [*([""] if i else []), *("  ".join(parts).rstrip() for parts in zip(*tiles, strict=True))]
    return made


# --- shared memory ------------------------------------------------------------------------------------------


def _memory(found: Ownership) -> list[str]:
    """Elements in the order of memory, as many in a line as a row of the tensor has."""
    places: dict[int, int] = {}
    for element, owners in enumerate(found.owners):
        for owner in owners:
            if owner.block == 0 and owner.offset is not None:
                places[owner.offset] = element
    order = getattr(found.encoding, "order", tuple(reversed(range(len(found.shape)))))
    extra = len(found.shape) - len(order)
    length = found.shape[order[0] + extra]
    made, line, lines = [], [], 0
    for offset in range(max(places) + 1):
        line.append(_name(found, places.get(offset)))
        if sum(cell != _GAP for cell in line) == length:
            made.append(f"{'  '.join(line)}{_phase(found, lines)}")
            line, lines = [], lines + 1
    return made + (["  ".join(line)] if line else [])


_GAP = "-"


def _name(found: Ownership, element: int | None) -> str:
    """``A_{row, column}``, or a gap."""
    if element is None:
        return _GAP
    at: list[int] = []
    for size in reversed(found.shape):
        at.insert(0, element % size)
        element //= size
    return f"A_{{{', '.join(map(str, at))}}}"


def _phase(found: Ownership, line: int) -> str:
    encoding = found.encoding
    if isinstance(encoding, SwizzledShared):
        rows = (
            found.shape[encoding.order[1] + len(found.shape) - len(encoding.order)]
            if len(encoding.order) > 1
            else 1
        )
        return f"   [phase {line % rows // encoding.per_phase % encoding.max_phase}]"
    return ""
