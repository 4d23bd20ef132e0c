"""Tracebacks of errors as their readers need them: the user's own lines and the message.

Where Python prints a :class:`~tri_core.errors.TriError` that nobody caught, in a thread too, the frames of tri and of
its plugins are left out, and so are causes that are made of such frames alone.  ``TRI_FULL_TRACEBACK=1`` keeps all.
What a program catches, a debugger or a log sees is whole.  A bug of tri or of a plugin is shown whole, too.
"""

from __future__ import annotations

import sys
import sysconfig
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from types import TracebackType

from tri_core import knobs
from tri_core.errors import BackendError, InternalError, PluginError, TriError

__all__ = ["install", "lines_of", "shortened"]

#: errors whose inner frames are what there is to report
_WHOLE = (InternalError, BackendError, PluginError)
#: the top-level packages of tri itself
_OWN = frozenset({"tri", "tri_core", "tri_runtime", "tri_gpu_dialect", "tri_conformance"})
_GROUP = "tri"


def install() -> None:
    """Have Python print tri's errors short; other errors go where they went before."""
    before, in_thread = sys.excepthook, threading.excepthook
    TriError.shown_lines = staticmethod(lines_of)

    def hook(kind: type[BaseException], error: BaseException, frames: TracebackType | None) -> None:
        with shortened(error):
            before(kind, error, error.__traceback__ if _is_short(error) else frames)

    def thread_hook(args: threading.ExceptHookArgs) -> None:
        with shortened(args.exc_value):
            if args.exc_value is not None and _is_short(args.exc_value):
                kept = args.exc_type, args.exc_value, args.exc_value.__traceback__, args.thread
                args = threading.ExceptHookArgs(kept)
            in_thread(args)

    sys.excepthook, threading.excepthook = hook, thread_hook


def _is_short(error: BaseException | None) -> bool:
    """Whether ``error`` is shown without its inner frames."""
    return isinstance(error, TriError) and not isinstance(error, _WHOLE) and not knobs.get("FULL_TRACEBACK")


@contextmanager
def shortened(error: BaseException | None) -> Iterator[None]:
    """In a ``with`` block, ``error`` and its causes have the user's frames alone; then they are as they were."""
    hidden = _hidden() if _is_short(error) else frozenset()
    before: list[tuple[BaseException, TracebackType | None, BaseException | None, bool]] = []
    seen = error if hidden else None
    while seen is not None and all(seen is not one for one, *_ in before):
        cause = seen.__cause__ if seen.__suppress_context__ else seen.__context__
        before.append((seen, seen.__traceback__, seen.__cause__, seen.__suppress_context__))
        seen.__traceback__ = _of_user(seen.__traceback__, hidden)
        is_ours = cause is None or _of_user(cause.__traceback__, hidden) is None
        seen.__cause__ = None if is_ours else cause
        seen = seen.__cause__
    try:
        yield
    finally:
        for one, frames, cause, suppress in before:
            one.__traceback__, one.__cause__, one.__suppress_context__ = frames, cause, suppress


def lines_of(error: TriError) -> list[str]:
    """The lines that notebooks show."""
    with shortened(error):
        return "".join(traceback.format_exception(error)).rstrip().split("\n")


def _hidden() -> frozenset[str]:
    """The top-level packages whose frames are left out: tri's and its plugins'."""
    return _OWN | {point.module.partition(".")[0] for point in entry_points(group=_GROUP)}


def _of_user(frames: TracebackType | None, hidden: frozenset[str]) -> TracebackType | None:
    """``frames`` without those of ``hidden`` packages, and of libraries that these called."""
    kept: list[TracebackType] = []
    inside = False
    while frames is not None:
        root = str(frames.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        is_ours = root in hidden
        if not is_ours and not (inside and _is_library(frames.tb_frame.f_code.co_filename)):
            kept.append(frames)
        inside |= is_ours
        frames = frames.tb_next
    made: TracebackType | None = None
    for frame in reversed(kept):
        made = TracebackType(made, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return made


def _is_library(file: str) -> bool:
    """Whether ``file`` is of the standard library or an installed package."""
    return file.startswith(("<", *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))))
