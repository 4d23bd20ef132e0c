"""Captures of Python functions: cells of enclosing functions, paths of names."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CellType, CodeType
from typing import Any

__all__ = ["Cell", "CellNames", "read_paths"]


class Cell:
    """A variable of an enclosing function, asked for like a name in a dictionary."""

    def __init__(self, cell: CellType) -> None:
        self.cell = cell

    def get(self, name: str) -> Any:
        """Value of the variable called ``name``; None while it has none."""
        try:
            return self.cell.cell_contents
        except ValueError:
            return None


class CellNames(dict[str, Any]):
    """The variables of enclosing functions that a function uses, by name, and in ``cells`` where they are."""

    cells: dict[str, Cell]

    @classmethod
    def of(cls, function: Any) -> CellNames:
        """Those of ``function`` that have a value."""
        pairs = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        cells = {name: Cell(cell) for name, cell in pairs if _is_filled(cell)}
        found = cls((name, cell.get(name)) for name, cell in cells.items())
        found.cells = cells
        return found


def read_paths(code: CodeType) -> Iterator[str]:
    """The names from outside that ``code`` and functions in it read, and attributes of them: ``a``, ``a.b``."""
    path = ""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"):
            path = str(instruction.argval)
        elif path and instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            path = f"{path}.{instruction.argval}"
        else:
            path = ""
            continue
        yield path
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from read_paths(constant)


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018  an empty cell raises
    except ValueError:
        return False
    return True
