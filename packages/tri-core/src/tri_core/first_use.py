"""First uses of code that is imported when it is needed: one thread at a time.

CPython locks a submodule first and its package then.  So a thread that imports a package whose ``__init__`` imports its
submodules, and another that imports one of these, would wait for each other; Python notices, and one of them
goes on with a module that is not initialized, and fails at a name that the module has not yet (``_DeadlockError`` and
``_lock_unlock_module`` in ``importlib/_bootstrap.py``).  A server whose threads all begin with their first request is such a program.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from tri_core import forks

__all__ = ["alone", "first_use"]

#: seconds after which a thread goes on beside the one that it waits for: a rare ImportError is better than no answer at all
_PATIENCE = 10.0
#: a child that was forked meanwhile gets a new one, and what was not done there is a first use again
_lock = forks.RLock(waits=False)
_used: set[Hashable] = set()


@contextmanager
def alone() -> Iterator[None]:
    """While the ``with`` block runs, no other thread makes a first use.

    Taken before any other lock under which a plugin may be asked or code imported.  The block must not wait for a thread that
    may make a first use itself.
    """
    lock = _lock
    is_held = lock.acquire(timeout=_PATIENCE)
    try:
        yield
    finally:
        if is_held:
            lock.release()


@contextmanager
def first_use(what: Hashable) -> Iterator[None]:
    """As :func:`alone` until a block of ``what`` has ended without an exception; nothing from then on."""
    if what in _used:
        yield
        return
    with alone():
        yield
        _used.add(what)
