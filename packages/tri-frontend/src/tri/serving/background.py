"""Compiles beside the requests: a worker process makes what launches were refused."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from tri_core import forks, knobs
from tri_core.errors import TriError

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri_core.compiler import Attempt
    from tri_core.target import Target

__all__ = ["compile_meanwhile"]

logger = logging.getLogger("tri.serving")

#: taken by the thread whose worker runs: one at a time, beside the requests
_turn = threading.Lock()
_lock = forks.Lock()
_under_way: set[tuple[str, str, str]] = set()


def _forget() -> None:
    global _turn
    _under_way.clear()
    _turn = threading.Lock()


# a forked child has not the threads that wait for workers
forks.in_child(_forget)


def compile_meanwhile(attempt: Attempt) -> bool:
    """Begin to compile in the background, once for equal attempts; False for sources that cannot be sent."""
    from tri.compiler.source import ASTSource

    source, options = attempt.source, attempt.options.to_json()
    if not isinstance(source, ASTSource):
        return False
    name = (source.fingerprint(), str(attempt.target), repr(options))
    with _lock:
        if name in _under_way:
            return True
        _under_way.add(name)
    arguments = (source, attempt.target, options, name)
    threading.Thread(target=_compile, args=arguments, name="tri-background", daemon=True).start()
    return True


def _compile(
    source: ASTSource, target: Target, options: dict[str, object], name: tuple[str, str, str]
) -> None:
    from tri.launch.workers import worker

    try:
        # without the bundle nothing is refused
        with _turn, knobs.scope(BUNDLE=None), worker() as hand:
            hand.kernel(source, target, options)
        logger.info("%s is compiled for %s: launches find it now", source.name, target)
    except TriError as error:
        logger.warning("%s cannot be compiled for %s: %s", source.name, target, error)
    finally:
        with _lock:
            _under_way.discard(name)
