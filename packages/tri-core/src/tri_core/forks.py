"""Locks that a forked child can use: every lock of tri's packages is one of these.

A fork copies a lock as it is, and in the child the thread that would release it does not exist; Python's own locks of
modules that are being imported are such locks.  So a fork waits until
what these locks protect is whole, and holds them all while it copies; what is protected by a lock that stays
taken is given up by its owner in the child (:func:`in_child`), and the lock is a new one there.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from types import MethodType, TracebackType
from typing import Any, TypeVar

__all__ = ["Lock", "RLock", "cached_property", "in_child", "patience"]

_T = TypeVar("_T")

#: seconds that a fork waits for the locks that it waits for
patience = 10.0
#: seconds that it holds some of them while it waits for another
_TURN = 0.002

_locks: weakref.WeakSet[Lock] = weakref.WeakSet()
#: held while a lock joins the others
_made = threading.RLock()
_functions: list[Callable[[], Callable[[], None] | None]] = []


class _Fork(threading.local):
    """A thread's fork in progress: the locks that it holds, and those that it could not have."""

    def __init__(self) -> None:
        self.held: list[Lock] = []
        self.lost: list[Lock] = []
        #: whether it holds the lock of imports
        self.importing = False


_fork = _Fork()
#: Python's lock that every import begins with
_imp: Any = sys.modules.get("_imp")
#: locks of modules whose import does not end
_endless: weakref.WeakSet[Any] = weakref.WeakSet()


class Lock:
    """A mutual exclusion lock, for ``with`` and :meth:`acquire`.

    ``waits``: a fork waits for it, up to :data:`patience` seconds, so that what it protects is whole in the child.
    Without, the child gets a new lock, and whoever owns it makes anew what it protects.  ``lost`` is whether the child
    was forked while another thread held it.
    """

    def __init__(self, *, waits: bool = True) -> None:
        self._lock = self._make()
        self.waits = waits
        self.lost = False
        with _made:
            _locks.add(self)

    @staticmethod
    def _make() -> Any:
        return threading.Lock()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take it; whether it was there in time."""
        return bool(self._lock.acquire(blocking, timeout))

    def release(self) -> None:
        """Let others have it."""
        self._lock.release()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def _renew(self) -> None:
        self._lock, self.lost = self._make(), True


class RLock(Lock):
    """A lock that its holder may take again."""

    @staticmethod
    def _make() -> Any:
        return threading.RLock()


class cached_property(functools.cached_property[_T]):
    """A property that is computed once; Python 3.11 holds a lock of the class meanwhile."""

    def __init__(self, func: Callable[[Any], _T]) -> None:
        super().__init__(func)
        if hasattr(self, "lock"):
            self.lock = RLock(waits=False)


def in_child(function: Callable[[], None]) -> None:
    """Have ``function`` called in every forked child, when locks can be used again; a method, while its object lives."""
    if isinstance(function, MethodType):
        _functions[:] = [known for known in _functions if known() is not None]
        _functions.append(weakref.WeakMethod(function))
    else:
        _functions.append(lambda: function)


def _before() -> None:
    """Hold all locks that are waited for, while no other thread is in the middle of an import or makes a lock.

    Threads take locks in any order, so one is waited for while no other is held: the one that was missing last.
    """
    _fork.lost.clear()
    first: Lock | None = None
    deadline = time.monotonic() + patience
    while True:
        wanted = sorted(_waited_for(), key=lambda lock: lock is not first)
        first = _take(wanted, deadline)
        if first is not None and time.monotonic() > deadline:
            _fork.lost.append(first)
        if first is None and _no_imports(deadline):
            _made.acquire()
            if set(_waited_for()) <= set(wanted):
                return
            _made.release()
        _let_go()
        time.sleep(0 if first else _TURN)


def _waited_for() -> list[Lock]:
    with _made:
        return [lock for lock in _locks if lock.waits and lock not in _fork.lost]


def _take(wanted: list[Lock], deadline: float) -> Lock | None:
    """Hold all of ``wanted``; else the one that another thread holds."""
    for lock in wanted:
        timeout = _TURN if _fork.held else max(deadline - time.monotonic(), 0)
        if not lock.acquire(timeout=timeout):
            return lock
        _fork.held.append(lock)
    return None


def _no_imports(deadline: float) -> bool:
    """Hold the lock that an import begins with, unless another thread imports: the child would wait for its module.

    An import that takes too long (a program that runs while its module is imported) is not waited for again.
    """
    if _imp is None:
        return True
    _imp.acquire_lock()
    under_way = [lock for lock in _module_locks().values() if lock not in _endless]
    if under_way and time.monotonic() > deadline:
        _endless.update(under_way)
        under_way = []
    if under_way:
        _imp.release_lock()
        return False
    _fork.importing = True
    return True


def _module_locks() -> dict[str, Any]:
    """Locks of modules that other threads import, by name, where this Python shows them."""
    known = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    locks = {name: reference() for name, reference in list(known.items())}
    mine = (None, threading.get_ident())
    return {name: lock for name, lock in locks.items() if getattr(lock, "owner", None) not in mine}


def _forget_imports() -> None:
    """In a child: modules that a thread of the parent had begun to import are imported anew."""
    for name in _module_locks():
        del sys.modules["_frozen_importlib"]._module_locks[name]
        spec = getattr(sys.modules.get(name), "__spec__", None)
        if getattr(spec, "_initializing", False):
            del sys.modules[name]


def _let_go() -> None:
    if _fork.importing:
        _fork.importing = False
        _imp.release_lock()
    while _fork.held:
        _fork.held.pop().release()


def _after_in_parent() -> None:
    _made.release()
    _let_go()


def _after_in_child() -> None:
    _after_in_parent()
    _forget_imports()
    for lock in list(_locks):
        if not lock.waits or lock in _fork.lost:
            lock._renew()
    _fork.lost.clear()
    for known in list(_functions):
        function = known()
        if function is not None:
            function()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
