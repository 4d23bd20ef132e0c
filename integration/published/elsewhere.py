"""Compiling for another target what the cases run: all that can be checked of a target that is not here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import tri_core.compiler

__all__ = ["Compiles", "compiled_for"]


class Compiles:
    """What was compiled for ``target`` besides: names of versions, and errors by name."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.seen: set[str] = set()
        self.errors: dict[str, str] = {}

    def __call__(self, source: Any, target: Any, options: Any = None, **more: Any) -> Any:
        """``tri_core.compiler.compile`` with a second compile of each version."""
        made = _compile(source, target, options, **more)
        key = f"{source.name} {source.fingerprint()[:8]}"
        if key not in self.seen:
            self.seen.add(key)
            self._again(key, source, dict(options or {}))
        return made

    def _again(self, key: str, source: Any, options: dict[str, Any]) -> None:
        try:
            _compile(source, self.target, options)
        except Exception as error:
            self.errors[key] = f"{type(error).__name__}: {error}"


_compile = tri_core.compiler.compile


@contextmanager
def compiled_for(target: str) -> Iterator[Compiles]:
    """Compile for ``target``, too, what is compiled inside of the ``with`` block."""
    compiles = Compiles(target)
    with mock.patch.object(tri_core.compiler, "compile", compiles):
        yield compiles
