"""Tutorials as scripts with cells, after jupytext's percent format: read, and written as a page or a notebook.

``# %% [markdown]`` begins a cell of prose, whose lines are comments; ``# %%`` begins one of code.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Cell", "cells", "notebook", "page", "title"]

_MARK, _PROSE = "# %%", "# %% [markdown]"


@dataclass(frozen=True)
class Cell:
    """A cell of a script: ``text`` without marks, and without the signs of comments where it is prose."""

    prose: bool
    text: str


def _uncommented(line: str) -> str:
    return line.removeprefix("#").removeprefix(" ")


def cells(script: str) -> list[Cell]:
    """The cells of ``script``; ValueError where text stands before the first mark."""
    found: list[tuple[bool, list[str]]] = []
    for line in script.splitlines():
        if line.startswith(_MARK):
            found.append((line.startswith(_PROSE), []))
        elif found:
            found[-1][1].append(line)
        elif line.strip():
            raise ValueError(f"a script of cells begins with {_MARK!r}, not with {line!r}")
    texts = ((prose, [_uncommented(s) for s in lines] if prose else lines) for prose, lines in found)
    return [Cell(prose, "\n".join(lines).strip("\n")) for prose, lines in texts]


def title(script: str) -> str:
    """The first heading of ``script``; ValueError if its first cell has none."""
    first = cells(script)[0].text.partition("\n")[0]
    if not first.startswith("# "):
        raise ValueError(f"the first cell begins with a heading, not with {first!r}")
    return first.removeprefix("# ")


def page(script: str, path: Path) -> str:
    """``script``, which lies at ``path``, as a page of Markdown that links to its notebook."""
    parts = [c.text if c.prose else f"```python\n{c.text}\n```" for c in cells(script)]
    last = f"`python tutorials/{path.name}` runs this page; [as a notebook]({path.stem}.ipynb)."
    return "\n\n".join([*parts, last, ""])


def notebook(script: str) -> str:
    """``script`` as a notebook of Jupyter (nbformat 4.5) that has not been run."""
    made = []
    for number, cell in enumerate(cells(script)):
        source = cell.text.splitlines(keepends=True)
        common = {"id": f"cell-{number}", "metadata": {}, "source": source}
        code: dict[str, object] = {"cell_type": "code", "execution_count": None, "outputs": []}
        made.append({**({"cell_type": "markdown"} if cell.prose else code), **common})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
