"""A profile as tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tri.profiling.records import COLUMNS, KernelProfile, Profile
from tri.profiling.units import amount

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["LINE_COLUMNS", "line_row", "tables"]

#: first columns, which are kept and may wrap
_TEXTS = 2
#: columns that become a title where all rows have the same value
_TITLES = {"target": "{}", "clock": "clock: {}", "counts": "counts: {}"}
LINE_COLUMNS = ("kernel", "line", "bytes", "FLOPs", "sectors", "ideal", "counts")


def line_row(kernel: KernelProfile, number: int) -> tuple[str, ...]:
    """The cells of line ``number`` of ``kernel.lines`` under :data:`LINE_COLUMNS`."""
    line = kernel.lines[number]
    place = f"{Path(line.file).name}:{line.line}" if line.file else "(compiler)"
    seen = ("" if each is None else str(each) for each in (line.transactions, line.ideal))
    return (kernel.name, place, amount(line.nbytes), amount(line.flops), *seen, line.counts)


def tables(profile: Profile) -> Iterator[Table]:
    """The kernels, then their source lines; nothing of a profile without kernels."""
    if not profile.kernels:
        return
    yield _table(COLUMNS, [kernel.cells() for kernel in profile.kernels])
    lines = [line_row(kernel, i) for kernel in profile.kernels for i in range(len(kernel.lines))]
    if lines:
        yield _table(LINE_COLUMNS, lines)


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    kept = [i for i in range(len(columns)) if i < _TEXTS or any(cells[i] not in ("", "-") for cells in rows)]
    table = Table(box=None, pad_edge=False)
    same = {i: rows[0][i] for i in kept if columns[i] in _TITLES and len({cells[i] for cells in rows}) == 1}
    if same:
        table.title = ", ".join(_TITLES[columns[i]].format(value) for i, value in same.items())
        table.title_justify = "left"
        kept = [i for i in kept if i not in same]
    for i in kept:
        is_text = i < _TEXTS
        table.add_column(
            columns[i], justify="left" if is_text else "right", overflow="fold", no_wrap=not is_text
        )
    for cells in rows:
        table.add_row(*(Text(cells[i]) for i in kept))
    return table
