"""Location of an interpreted kernel: the frames of Python's stack that run rewritten functions."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from types import CodeType, FrameType

from tri.interpreter.deciding import ignored
from tri_core.errors import SourceLocation

__all__ = ["here", "instruction", "raised_at", "register", "variables"]

#: rewritten code -> whether it is of the language's own library, whose lines say nothing to users
_codes: dict[CodeType, bool] = {}


def register(code: CodeType, *, library: bool) -> None:
    """Have lines of ``code`` count as a kernel's (and of the functions nested in it)."""
    _codes[code] = library
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            register(constant, library=library)


def _stack() -> Iterator[tuple[FrameType, int]]:
    """Frames and where in their code they are, innermost first."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        yield frame, frame.f_lasti
        frame = frame.f_back


def _place(frame: FrameType, instruction: int) -> SourceLocation:
    code = frame.f_code
    positions = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    line, column = positions[0] or frame.f_lineno, positions[2] or 0
    text = linecache.getline(code.co_filename, line).rstrip("\n")
    column = len(text.encode()[:column].decode(errors="ignore"))
    return SourceLocation(code.co_filename, line, column, text or None)


def _innermost(frames: Iterable[tuple[FrameType, int]]) -> SourceLocation | None:
    places = [_place(*place) for place in frames if not _codes.get(place[0].f_code, True)]
    if not places:
        return None
    first, *sites = places
    return SourceLocation(first.file, first.line, first.column, first.source_line, tuple(sites))


def here() -> SourceLocation | None:
    """The innermost line of a user's kernel, with the calls that led to it; None outside of kernels."""
    return _innermost(_stack())


def variables() -> tuple[object, ...]:
    """Values of the variables that control the running functions, and their places, innermost first."""
    found: list[object] = []
    for frame, at in _stack():
        if frame.f_code in _codes:
            unused = ignored(frame.f_code, frame.f_lineno)
            found += (frame.f_code, at, *(v for name, v in frame.f_locals.items() if name not in unused))
    return tuple(found)


def instruction() -> tuple[CodeType, int]:
    """The instruction that runs of the innermost user's kernel: cheap, and another one for each line."""
    frame: FrameType | None = sys._getframe(1)
    outermost = frame
    while frame is not None:
        if not _codes.get(frame.f_code, True):
            return frame.f_code, frame.f_lasti
        outermost, frame = frame, frame.f_back
    assert outermost is not None  # the first is this function's caller
    return outermost.f_code, 0


def raised_at(error: BaseException) -> SourceLocation | None:
    """The innermost line of a user's kernel that ``error`` came through."""
    found: list[tuple[FrameType, int]] = []
    step = error.__traceback__
    while step is not None:
        found.append((step.tb_frame, step.tb_lasti))
        step = step.tb_next
    return _innermost(reversed(found))
