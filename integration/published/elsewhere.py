"""Compiling for another target what the cases run: all that can be checked of a target that is not here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import tri_core.compiler
from tri_core.target_selection import resolve

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
            _compile(source, self.target, options | self._warps(options))
        except Exception as error:
            self.errors[key] = f"{type(error).__name__}: {error}"

    def _warps(self, options: dict[str, Any]) -> dict[str, Any]:
        """As many warps as the target runs, where more were asked for: the packages count on 32 lanes, or ask which GPU there is."""
        spec = resolve(self.target).spec
        most = spec.limits["threads"] // spec.threads_per_warp[0] if spec.threads_per_warp else 0
        asked = options.get("num_warps", 0)
        return {"num_warps": most} if most and asked > most else {}


_compile = tri_core.compiler.compile


@contextmanager
def compiled_for(target: str) -> Iterator[Compiles]:
    """Compile for ``target``, too, what is compiled inside of the ``with`` block."""
    compiles = Compiles(target)
    with mock.patch.object(tri_core.compiler, "compile", compiles):
        yield compiles
