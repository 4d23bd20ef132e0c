"""Hints that language extensions declare: modifiers of loads and stores, scopes of ``with`` statements."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tri_core.lazy_dataclasses import dataclass

__all__ = ["AccessModifier", "Scope"]


@dataclass(frozen=True, kw_only=True)
class AccessModifier:
    """Modifier of loads and stores: its legal ``values`` (str, bool or 32-bit int), and the ``accesses`` that take it."""

    values: tuple[str | int, ...]
    accesses: tuple[str, ...] = ("load", "store")


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Context manager of kernels: operations called ``ops`` that are made inside carry what it was given.

    ``values``: the legal ones (str, bool or 32-bit int); empty: it takes none, and the operations carry that they are inside.
    ``interpreted``: a context manager of the host made from the value, entered where a kernel is interpreted; None: nothing happens.
    """

    ops: tuple[str, ...]
    values: tuple[str | int, ...] = ()
    interpreted: Callable[..., AbstractContextManager[Any]] | None = None
