"""Observers of serving: launches that need a version, choices of tuners, compiles.

Every process that launches comes here, and few record or serve: the rest is imported once one does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tri.launch.reported import CHOICES, VERSIONS
from tri_core import knobs
from tri_core.compiler import Attempt, before_compile

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri.kernel import Kernel
    from tri_core.target import Target

__all__ = ["attach"]


def attach() -> None:
    """Listen; a second time changes nothing."""
    VERSIONS.add(_add_version)
    CHOICES.add(_add_choice)
    # first: what is refused while a bundle is served was not compiled, and is not remembered
    before_compile(_pass_gate, is_first=True)


def _add_version(source: ASTSource, target: Target, options: Mapping[str, Any]) -> None:
    path = knobs.get("RECORD")
    if path is not None:
        from tri.serving.recorder import add_version

        add_version(path, source, target, options)


def _add_choice(
    function: Kernel, target: Target, key: str, among: str, choice: str, ms: Sequence[float]
) -> None:
    path = knobs.get("RECORD")
    if path is not None:
        from tri.serving.recorder import add_choice

        add_choice(path, function, target, key, among, choice, ms)


def _pass_gate(attempt: Attempt) -> None:
    if knobs.get("BUNDLE") is not None:
        from tri.serving.policy import gate

        gate(attempt)
