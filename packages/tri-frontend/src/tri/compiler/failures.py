"""Several errors of one kernel: after an error the walk goes on with the next statement."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tri_core.errors import CompilationError, InternalError, TriError

if TYPE_CHECKING:
    from tri.compiler.generator import Generator

__all__ = ["Errors", "Follows"]

#: how many errors are told at once
_MOST = 8


class Follows(CompilationError):
    """Something that cannot be generated because of an error that is kept already."""

    def __init__(self) -> None:
        super().__init__("this follows from another error")


class Errors:
    """The errors of one kernel so far, and the names that have no value because of them."""

    def __init__(self) -> None:
        self.kept: list[TriError] = []
        self.names: set[str] = set()

    def goes_on(self, g: Generator, error: TriError, node: ast.stmt) -> bool:
        """Keep ``error`` of the statement ``node``; whether to go on after it.

        In functions that the kernel calls nothing goes on: every call would tell the same.
        """
        if g.caller is not None or isinstance(error, InternalError):
            return False
        if not isinstance(error, Follows):
            self.kept.append(error)
        for name in g.source.assigned(node):
            self.names.add(name)
            g.names.pop(name, None)
        return len(self.kept) < _MOST

    def first(self, last: TriError) -> TriError:
        """What to raise when the walk ended with ``last``: the first error, the others as its notes."""
        errors = self.kept if isinstance(last, Follows) or last in self.kept else [*self.kept, last]
        if not errors or isinstance(last, InternalError):
            return self.kept[0] if self.kept else last
        for other in errors[1:]:
            errors[0].add_note(f"another error: {other}")
        return errors[0]
