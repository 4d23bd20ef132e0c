"""Where Python functions find what they capture: cells of enclosing functions, paths of names, changes in place."""

from __future__ import annotations

import dataclasses
import dis
import enum
from collections.abc import Iterator
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

from tri.compiler.values_key import stable
from tri.jit import JITFunction
from tri.language.constexpr import unwrap
from tri.language.structure import Structure
from tri.language.types import dtype

__all__ = ["Cell", "CellNames", "Contents", "is_fixed", "read_paths"]

#: what never changes in place
_FIXED = (
    bool, int, float, complex, str, bytes, range, slice, type(None), type(Ellipsis), type, FunctionType,
    BuiltinFunctionType, ModuleType, enum.Enum, dtype, Structure, JITFunction,
)  # fmt: skip


class Cell:
    """A variable of an enclosing function, asked for like a name in a dictionary."""

    def __init__(self, cell: CellType) -> None:
        self.cell = cell

    def get(self, name: str) -> Any:
        """What the variable, called ``name``, holds; None while it has no value."""
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


class Contents:
    """An object that may change in place: asked for like a name in a dictionary, it gives its text."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.text = stable(value)

    def get(self, name: str) -> str | None:
        """The text that it had; None when it has another."""
        return self.text if stable(self.value) == self.text else None


def is_fixed(value: Any) -> bool:
    """Whether ``value`` can't change in place, but for what is watched by its own names."""
    value = unwrap(value)
    if isinstance(value, (tuple, frozenset)):
        return all(map(is_fixed, value))
    if isinstance(value, _FIXED):
        return True
    if dataclasses.is_dataclass(value) and getattr(type(value), "__dataclass_params__").frozen:  # noqa: B009
        return all(is_fixed(getattr(value, field.name)) for field in dataclasses.fields(value))
    return callable(value)


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
