"""Modules that run when something of them is asked for, and modules that who can do without does not get."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tri_core import forks

__all__ = ["absent", "lazy_module"]


def lazy_module(name: str, within: Callable[[], AbstractContextManager[Any]]) -> ModuleType:
    """The module called ``name``, for all who import it; it runs in ``within()`` at the first access to something that it defines.

    ModuleNotFoundError where there is none.  ``importlib.util.LazyLoader`` would run it at the next ``import`` already.
    """
    known = sys.modules.get(name)
    if known is not None:
        return known
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"no module named {name!r}", name=name)
    module = importlib.util.module_from_spec(spec)
    run, running, lock = spec.loader.exec_module, list[bool](), forks.RLock()

    def missing(attribute: str) -> Any:
        # who looks through all modules for what only some have (``__warningregistry__``) does not ask for this one's
        is_own = attribute == "__all__" or not attribute.startswith("__")
        with lock:
            if is_own and not running:
                running.append(True)
                with within():
                    run(module)
        try:
            return vars(module)[attribute]
        except KeyError:
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}") from None

    vars(module)["__getattr__"] = missing
    parent, _, own = name.rpartition(".")
    setattr(importlib.import_module(parent), own, module)
    return sys.modules.setdefault(name, module)


class _Absent:
    """A finder of modules that says in ``thread`` that ``name`` is not there, and leaves all else to the others."""

    def __init__(self, name: str, thread: int) -> None:
        self.name, self.thread = name, thread

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """ModuleNotFoundError for the module that is absent; else None, which asks the next finder."""
        if name == self.name and threading.get_ident() == self.thread:
            raise ModuleNotFoundError(f"no module named {name!r} while others do without it", name=name)
        return None


@contextmanager
def absent(name: str) -> Iterator[None]:
    """While the block runs, this thread cannot import the module called ``name``, unless it is there already; others can."""
    finder = _Absent(name, threading.get_ident())
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
