"""What serving listens to: launches that need a version, choices of tuners, compiles."""

from __future__ import annotations

from tri.launch.reported import VERSIONS
from tri.serving.policy import gate
from tri.serving.recorder import add_choice, add_version
from tri.tuning.report import CHOICES
from tri_core.compiler import before_compile

__all__ = ["attach"]


def attach() -> None:
    """Listen; a second time changes nothing."""
    VERSIONS.add(add_version)
    CHOICES.add(add_choice)
    # first: what is refused while a bundle is served was not compiled, and is not remembered
    before_compile(gate, is_first=True)
