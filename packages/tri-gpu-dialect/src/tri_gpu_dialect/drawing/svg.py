"""Layouts as a picture: one square per element, one colour per warp (of one warp: per lane; of memory: per bank).

The parts of the blocks (CTAs) of a cluster are parted by thick lines, and each says whose it is.
"""

from __future__ import annotations

import math

from tri_gpu_dialect.drawing.ownership import Owner, Ownership

__all__ = ["draw_svg"]

_SIDE = 30
_MARGIN = 24
_HUES, _SHADES = 8, 4


def draw_svg(found: Ownership) -> str:
    """A standalone SVG document; the matrices of more than two dimensions are below each other."""
    *leading, rows, columns = (1, *found.shape) if len(found.shape) == 1 else found.shape
    height = math.prod(leading) * (rows * _SIDE + _MARGIN) + _MARGIN
    width = columns * _SIDE + 2 * _MARGIN
    cells = "\n".join(_cell(found, i, owners, rows, columns) for i, owners in enumerate(found.owners))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' font-family="sans-serif" font-size="10" text-anchor="middle">\n'
        f"<title>{_escaped(found.summary())}</title>\n<desc>{_escaped(str(found.encoding))}</desc>\n"
        f'<rect width="{width}" height="{height}" fill="white"/>\n{cells}\n{_parts(found, rows, columns)}</svg>\n'
    )


def _cell(found: Ownership, i: int, owners: tuple[Owner, ...], rows: int, columns: int) -> str:
    row, column = divmod(i % (rows * columns), columns)
    x, y = _corner(i, rows, columns)
    first = owners[0]
    tip = "; ".join(_described(o, clustered=found.blocks > 1) for o in owners)
    label = first.offset if first.offset is not None else found.thread(first)
    return (
        f'<g><title>({row}, {column}): {tip}</title><rect x="{x}" y="{y}" width="{_SIDE}" height="{_SIDE}" '
        f'fill="{_colour(first, several=found.groups > 1)}" stroke="#555"/><text x="{x + _SIDE // 2}" y="{y + _SIDE // 2 + 4}">{label}</text></g>'
    )


def _corner(i: int, rows: int, columns: int) -> tuple[int, int]:
    """The upper left corner of element ``i``."""
    matrix, place = divmod(i, rows * columns)
    row, column = divmod(place, columns)
    return _MARGIN + column * _SIDE, _MARGIN + matrix * (rows * _SIDE + _MARGIN) + row * _SIDE


def _parts(found: Ownership, rows: int, columns: int) -> str:
    """Lines where the blocks that have an element change, and their numbers where a part begins; nothing for one block."""
    if found.blocks == 1:
        return ""
    held = [found.blocks_of(i) for i in range(len(found.owners))]
    lines, names = [], []
    for i, own in enumerate(held):
        x, y = _corner(i, rows, columns)
        row, column = divmod(i % (rows * columns), columns)
        left = column == 0 or held[i - 1] != own
        above = row == 0 or held[i - columns] != own
        lines += [f"M{x} {y}v{_SIDE}"] if left and column else []
        lines += [f"M{x} {y}h{_SIDE}"] if above and row else []
        if left and above:
            name = f"CTA {', '.join(map(str, own))}"
            names.append(
                f'<text x="{x + 2}" y="{y + 8}" font-size="7" text-anchor="start" pointer-events="none">{name}</text>'
            )
    return (
        f'<path d="{"".join(lines)}" stroke="black" stroke-width="3" fill="none" pointer-events="none"/>\n'
        f"{''.join(names)}\n"
    )


def _described(owner: Owner, *, clustered: bool) -> str:
    block = f"block {owner.block}, " if clustered else ""
    if owner.offset is not None:
        return f"{block}offset {owner.offset}"
    return f"{block}warp {owner.warp}, lane {owner.lane}, register {owner.register}"


def _colour(owner: Owner, *, several: bool) -> str:
    """Colour of an element: hue by warp and lightness by lane where there are ``several`` warps or blocks; 32 colours for the lanes of one warp.

    Memory has its hue by bank, if a word is an element.
    """
    if owner.offset is not None:
        hue, shade = owner.offset // 4, owner.offset // 32
    elif several:
        hue, shade = owner.warp + owner.block, owner.lane
    else:
        hue, shade = owner.lane, owner.lane // _HUES
    return f"hsl({hue % _HUES * 360 // _HUES}, 70%, {88 - 7 * (shade % _SHADES)}%)"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
