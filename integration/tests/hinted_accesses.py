"""A hint of a plugin on each load and store of the programs' kernels, looked for after each pass."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

import tri.language.descriptors
import tri.language.memory
from tri_core.api import AccessModifier, LanguageExtension, Target
from tri_core.errors import VerificationError
from tri_core.ir.access import access_of
from tri_core.ir.access_hints import register_hints
from tri_core.ir.effects import READ_DESCRIBED, READ_GLOBAL, WRITE_DESCRIBED, WRITE_GLOBAL, effects_of
from tri_core.ir.walking import collect
from tri_core.locations import source_location
from tri_core.mlir import ext, ir, registry

__all__ = ["HINT", "check", "hinted"]

HINT = "hinted.cache"
_GLOBAL = frozenset((READ_GLOBAL, WRITE_GLOBAL, READ_DESCRIBED, WRITE_DESCRIBED))
_EXTENSION = LanguageExtension(
    namespace="hinted", module="", modifiers={"cache": AccessModifier(values=("stream",))}
)
#: names of accesses that had the hint, of all modules checked
found: set[str] = set()


class HINTED(ext.Dialect, name="hinted"):  # type: ignore[call-arg]  # the bindings read it
    """The dialect whose name the hint has."""


def is_access(op: ir.Operation) -> bool:
    """True if ``op`` loads or stores global memory, by pointers or descriptors, and is no atomic."""
    effects = effects_of(op) or frozenset()
    return access_of(op) is not None and "atomic" not in op.name and not effects.isdisjoint(_GLOBAL)


def check(module: ir.Module, target: Target | None) -> None:
    """VerificationError for a load or store in ``module`` that has lost its hint."""
    del target
    for op in collect(module.operation):
        if not is_access(op):
            continue
        if HINT not in op.attributes:
            raise VerificationError(f"{op.name} has lost {HINT}", location=source_location(op.location))
        found.add(op.name)


@contextmanager
def hinted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Context in which each load and store of a kernel has the hint, and modules are checked after each pass."""
    registry.add_dialect(HINTED)
    register_hints([_EXTENSION])
    with monkeypatch.context() as patch:
        for module in (tri.language.memory, tri.language.descriptors):
            for name in ("load_policies", "store_policies"):
                patch.setattr(module, name, _with_hint(getattr(module, name)))
        patch.setattr(registry, "checks", [*registry.checks, f"{__name__}:check"])
        patch.setenv("TRI_VERIFY", "1")
        yield


def _with_hint(policies: Any) -> Any:
    def given(*args: Any) -> Mapping[str, Any]:
        return {**policies(*args), HINT: args[0].string("stream")}

    return given
