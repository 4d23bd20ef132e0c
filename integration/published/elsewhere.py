"""Compiling for other targets what the cases run: all that can be checked of a target that is not here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import tri_core.compiler
from tri.experimental.gluon import GluonJITFunction
from tri_core.target_selection import resolve

__all__ = ["Compiles", "compiled_for"]


class Compiles:
    """Additional compiles for ``targets``: names of versions, and errors by target and name."""

    def __init__(self, targets: Sequence[str]) -> None:
        self.targets = targets
        self.seen: set[str] = set()
        self.errors: dict[tuple[str, str], str] = {}

    def __call__(self, source: Any, target: Any, options: Any = None, **more: Any) -> Any:
        """``tri_core.compiler.compile`` with further compiles of each version."""
        made = _compile(source, target, options, **more)
        key = f"{source.name} {source.fingerprint()[:8]}"
        # layouts written by hand count on the lanes of the target that they are for
        if key not in self.seen and not isinstance(getattr(source, "fn", None), GluonJITFunction):
            self.seen.add(key)
            for each in self.targets:
                self._again(key, source, each, dict(options or {}))
        return made

    def _again(self, key: str, source: Any, target: str, options: dict[str, Any]) -> None:
        try:
            _compile(source, target, options | _warps(target, options))
        except Exception as error:
            self.errors[target, key] = f"{type(error).__name__}: {error}"

    def failed(self, target: str) -> int:
        """Number of versions that do not compile for ``target``."""
        return sum(where == target for where, _ in self.errors)


def _warps(target: str, options: dict[str, Any]) -> dict[str, Any]:
    """As many warps as ``target`` runs, where more were asked for: the packages count on 32 lanes, or ask which GPU there is."""
    spec = resolve(target).spec
    most = spec.limits["threads"] // spec.threads_per_warp[0] if spec.threads_per_warp else 0
    asked = options.get("num_warps", 0)
    return {"num_warps": most} if most and asked > most else {}


_compile = tri_core.compiler.compile


@contextmanager
def compiled_for(targets: Sequence[str]) -> Iterator[Compiles]:
    """Compile for ``targets``, too, what is compiled inside of the ``with`` block."""
    compiles = Compiles(targets)
    with mock.patch.object(tri_core.compiler, "compile", compiles):
        yield compiles
