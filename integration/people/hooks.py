"""Hooks for third parties' patches of Triton: nine, each looked up by the name it has or would have."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from tri_core import api, hookspecs

__all__ = ["HOOKS", "Hook"]


@dataclass(frozen=True)
class Hook:
    """A hook and a look for it, which runs nothing."""

    what: str
    exists: Callable[[], bool]


def _stages() -> bool:
    return all(hasattr(api.Pipeline, name) for name in ("replace", "insert_before", "insert_after"))


def _text() -> bool:
    return "text_passes" in {field.name for field in dataclasses.fields(api.Stage)}


def _fields(record: type, *names: str) -> bool:
    return set(names) <= {field.name for field in dataclasses.fields(record)}


HOOKS = (
    Hook("stages that replace or follow others", _stages),
    Hook("passes over the text of LLVM IR and assembly", _text),
    Hook(
        "a reader of TTIR, and errors that name an op's place",
        lambda: hasattr(api, "located") and hasattr(api, "read_kernel"),
    ),
    Hook("a lowering to linalg, in upstream dialects alone", lambda: hasattr(api, "to_linalg")),
    Hook(
        "types and `with` scopes of the language", lambda: _fields(api.LanguageExtension, "types", "scopes")
    ),
    Hook(
        "modifiers of loads and stores that pass through", lambda: _fields(api.LanguageExtension, "modifiers")
    ),
    Hook(
        "configurations of the autotuner: pruning, defaults",
        lambda: hasattr(api.Policy, "prune") and hasattr(api.Policy, "configurations"),
    ),
    Hook("heuristics and device properties for Inductor", lambda: hasattr(hookspecs, "tri_inductor")),
    Hook("device times for a profiler", lambda: _fields(api.Observer, "device_times")),
)
