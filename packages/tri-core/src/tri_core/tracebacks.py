"""Tracebacks of errors as their readers need them: the user's own lines and the message.

A :class:`~tri_core.errors.TriError` that leaves tri by a launch or a compile loses the frames of tri and of its plugins
(:func:`shorten`), and causes that are made of such frames alone: pytest, logs and debuggers show it in a few lines.  One
that leaves tri elsewhere loses them where Python prints it (:func:`install`).  ``TRI_FULL_TRACEBACK=1`` keeps all.  A bug
of tri or of a plugin stays whole, too.
"""

from __future__ import annotations

import functools
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

__all__ = ["install", "lines_of", "shorten", "shortened"]

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
    """True if ``error`` is shown without its inner frames."""
    return isinstance(error, TriError) and not isinstance(error, _WHOLE) and not knobs.get("FULL_TRACEBACK")


@contextmanager
def shortened(error: BaseException | None) -> Iterator[None]:
    """In a ``with`` block, ``error`` and its causes have the user's frames alone; then they are as they were."""
    chain = list(_chain(error)) if _is_short(error) else []
    before = [(one, one.__traceback__, one.__cause__, one.__suppress_context__) for one, _ in chain]
    for one, cause in chain:
        one.__traceback__ = _of_user(one.__traceback__, _hidden())
        one.__cause__ = None if _is_ours(cause) else cause
    try:
        yield
    finally:
        for one, frames, cause, suppress in before:
            one.__traceback__, one.__cause__, one.__suppress_context__ = frames, cause, suppress


def shorten(error: TriError) -> None:
    """Leave ``error`` and its causes the user's frames alone, for the ``raise`` of the function that a program calls::

        except TriError as error:
            shorten(error)
            raise

    What ``error`` was raised from stays its cause; what it was raised beside is no longer shown where no user's frame is in it.
    """
    if not _is_short(error):
        return
    for one, cause in list(_chain(error)):
        one.__traceback__ = _of_user(one.__traceback__, _hidden())
        if cause is not None and _is_ours(cause):
            one.__suppress_context__ = True
            cause.__traceback__ = None


def _chain(error: BaseException | None) -> Iterator[tuple[BaseException, BaseException | None]]:
    """``error`` and its causes, down to the first that is tri's own matter, each with its cause."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        cause = error.__cause__ if error.__suppress_context__ else error.__context__
        yield error, cause
        error = None if _is_ours(cause) else cause


def _is_ours(cause: BaseException | None) -> bool:
    """True where no frame of the user's is in ``cause``."""
    return cause is None or _of_user(cause.__traceback__, _hidden()) is None


def lines_of(error: TriError) -> list[str]:
    """The lines that notebooks show."""
    with shortened(error):
        return "".join(traceback.format_exception(error)).rstrip().split("\n")


@functools.cache
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
    """True if ``file`` is of the standard library or an installed package."""
    return file.startswith(("<", *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))))
