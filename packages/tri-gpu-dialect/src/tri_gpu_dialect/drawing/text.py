"""Layouts as text: rows of thread numbers, or rows of memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    cluster are shown apart, in the places that they have in the tensor, with their numbers where these do not count
    along rows or a place has several.  Of more than two dimensions, the leading ones are written above each matrix.
    Shared memory is shown as it lies, a row of the tensor in each line, with its phase, block by block.
    """
    parts = [found.summary()]
    if found.shared:
        parts += _memory(found)
    elif found.blocks > 1 and len(found.shape) <= 2 and _grid(found) is not None:
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
    if what == "block":
        return lambda owners: "|".join(str(b) for b in sorted({o.block for o in owners}))
    return lambda owners: str(getattr(owners[0], what))


def _whole(found: Ownership, owner: Owner) -> str:
    block = f"b{owner.block}" if found.blocks > 1 else ""
    return f"{block}w{owner.warp}l{owner.lane}r{owner.register}"


def _matrix_shape(found: Ownership) -> tuple[int, int]:
    """Rows and columns of a tensor of up to two dimensions."""
    return found.shape[-2] if len(found.shape) > 1 else 1, found.shape[-1]


def _grid(found: Ownership) -> tuple[int, int] | None:
    """The rows and columns that one block has, if every block has one rectangle of one size and its own place."""
    rows, columns = _matrix_shape(found)
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
    shape = _matrix_shape(found)
    (_, matrix), *_ = _matrices(found)
    height, width = _grid(found) or shape
    holders = {
        (r // height, c // width): found.blocks_of(r * shape[1] + c)
        for r in range(0, shape[0], height)
        for c in range(0, shape[1], width)
    }
    counted = list(holders.values()) == [(i,) for i in range(found.blocks)]
    made: list[str] = []
    for i, r in enumerate(range(0, shape[0], height)):
        tiles = []
        for j, c in enumerate(range(0, shape[1], width)):
            title = f"CTA [{i},{j}]" if len(found.shape) > 1 else f"CTA [{j}]"
            title += "" if counted else f" {_numbered(holders[i, j])}"
            lines = [title, *_lines(found, [row[c : c + width] for row in matrix[r : r + height]], what)]
            wide = max(map(len, lines))
            tiles.append([line.ljust(wide) for line in lines])
        made += [*([""] if i else []), *("  ".join(parts).rstrip() for parts in zip(*tiles, strict=True))]
    return made


def _numbered(blocks: Sequence[int]) -> str:
    """``(block 2)`` or ``(blocks 0, 1)``."""
    return f"(block{'s' if len(blocks) > 1 else ''} {', '.join(map(str, blocks))})"


# --- shared memory ------------------------------------------------------------------------------------------


def _memory(found: Ownership) -> list[str]:
    """The memory of every block; of blocks that have the same, once."""
    places: dict[int, dict[int, int]] = {}
    for element, owners in enumerate(found.owners):
        for owner in owners:
            if owner.offset is not None:
                places.setdefault(owner.block, {})[owner.offset] = element
    if len(places) == 1:
        return _memory_of(found, places[0])
    made: list[str] = []
    while places:
        first = places[min(places)]
        same = sorted(block for block, other in places.items() if other == first)
        name = f"CTA {same[0]}" if len(same) == 1 else f"CTAs {', '.join(map(str, same))}"
        made += [*([""] if made else []), name, *_memory_of(found, first)]
        places = {block: other for block, other in places.items() if block not in same}
    return made


def _memory_of(found: Ownership, places: Mapping[int, int]) -> list[str]:
    """The elements at ``places`` in the order of memory, as many in a line as a row of the tensor has there."""
    order = getattr(found.encoding, "order", tuple(reversed(range(len(found.shape)))))
    extra = len(found.shape) - len(order)
    length = _extent(found, places, order[0] + extra)
    rows = _extent(found, places, order[1] + extra) if len(order) > 1 else 1
    made, line, lines = [], [], 0
    for offset in range(max(places) + 1):
        line.append(_name(found, places.get(offset)))
        if sum(cell != _GAP for cell in line) == length:
            made.append(f"{'  '.join(line)}{_phase(found, lines, rows)}")
            line, lines = [], lines + 1
    return made + (["  ".join(line)] if line else [])


def _extent(found: Ownership, places: Mapping[int, int], dim: int) -> int:
    """Number of coordinates along ``dim`` of the elements at ``places``."""
    stride = math.prod(found.shape[dim + 1 :])
    return len({element // stride % found.shape[dim] for element in places.values()})


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


def _phase(found: Ownership, line: int, rows: int) -> str:
    encoding = found.encoding
    if isinstance(encoding, SwizzledShared):
        return f"   [phase {line % rows // encoding.per_phase % encoding.max_phase}]"
    return ""
