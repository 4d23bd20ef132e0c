"""The pass over PTX text before a ptxas: what that one gets wrong is said otherwise."""

from __future__ import annotations

from pathlib import Path

from tri_backend_nvidia.ptxas.faults import Version, rewritings
from tri_backend_nvidia.ptxas.rewritings import Rewriting
from tri_backend_nvidia.ptxas.version import version_of_ptxas
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Sound", "every", "sound"]


@dataclass(frozen=True)
class Sound:
    """``steps`` for ptxas of ``version`` (None: not known, all of them), in order."""

    version: Version | None
    steps: tuple[Rewriting, ...]

    def text(self) -> str:
        """Version and steps, for cache keys."""
        version = ".".join(map(str, self.version)) if self.version else "unknown"
        return f"{version}: {', '.join(step.name for step in self.steps) or 'nothing'}"

    def apply(self, ptx: str) -> tuple[str, tuple[str, ...]]:
        """``ptx`` rewritten, and the names of the steps that changed something."""
        changed = []
        for step in self.steps:
            if not step.concerns(ptx):
                continue
            rewritten = step.apply(ptx)
            if rewritten != ptx:
                changed.append(step.name)
            ptx = rewritten
        return ptx, tuple(changed)


def sound(program: Path, architecture: str) -> Sound:
    """The pass for the ptxas at ``program`` and ``architecture`` (``"sm_90a"``)."""
    version = version_of_ptxas(program)
    return Sound(version, rewritings(version, architecture))


def every(architecture: str) -> Sound:
    """The pass for a ptxas of which nothing is known: all rewritings for ``architecture``."""
    return Sound(None, rewritings(None, architecture))
