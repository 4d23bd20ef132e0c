"""Several errors of one kernel: after an error the walk goes on with the next statement."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Protocol

from tri_core.errors import CompilationError, InternalError, SourceLocation, TriError

if TYPE_CHECKING:
    from tri.kernel import Kernel

__all__ = ["Errors", "Follows", "Walk", "paths_differ"]

#: how many errors are reported at once
_MOST = 8


class Follows(CompilationError):
    """Something that cannot be generated because of an error that is kept already."""

    def __init__(self) -> None:
        super().__init__("this follows from another error")


def paths_differ(
    message: str, *, remedy: str | None = None, location: SourceLocation | None = None
) -> CompilationError:
    """The error of a name that holds one type or another, or nothing, by the path that is taken at run time."""
    return CompilationError(message, remedy=remedy, location=location, by_path=True)


class Walk(Protocol):
    """A generator on its way through ``function``: what names are bound to, and why some have no value."""

    function: Kernel
    source: Any
    caller: Any
    names: dict[str, Any]
    lost: dict[str, str]
    errors: Errors


class Errors:
    """The errors of one kernel so far, and the names that have no value because of them."""

    def __init__(self) -> None:
        self.kept: list[TriError] = []
        self.names: set[str] = set()

    def goes_on(self, g: Walk, error: TriError, node: ast.stmt) -> bool:
        """Keep ``error`` of the statement ``node``; whether to go on after it.

        In functions that the kernel calls nothing goes on: every call would tell the same.
        """
        if g.caller is not None or isinstance(error, InternalError):
            return False
        if not isinstance(error, Follows):
            self.kept.append(_alone(error))
        for name in g.source.assigned(node):
            self.names.add(name)
            g.names.pop(name, None)
        return len(self.kept) < _MOST

    def is_only(self, last: TriError) -> bool:
        """True if ``last``, with which the walk ended, is the only error; else it is kept with the others."""
        if not self.kept:
            return True
        if not isinstance(last, (Follows, InternalError)) and all(last is not error for error in self.kept):
            self.kept.append(_alone(last))
        return False

    def take(self) -> TriError:
        """The first error, the others as its notes; nothing is kept afterwards."""
        first, *others = self.kept
        self.kept = []
        first.others = tuple(others)
        for other in others:
            first.add_note(f"another error: {other}")
        return first


def _alone(error: TriError) -> TriError:
    """``error`` without the frames that it came through: they hold the half-made IR, and what holds the error."""
    seen: BaseException | None = error
    while seen is not None:
        seen.__traceback__ = None
        seen = seen.__cause__ or seen.__context__
    return error
