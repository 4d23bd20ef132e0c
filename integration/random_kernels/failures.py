"""Failures of a sweep: what is known of one, and whether it explains another."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integration.random_kernels.family import Kernel

__all__ = ["DISAGREEMENT", "Failure"]

DISAGREEMENT = "Disagreement"
#: what nearly every kernel has
_PLUMBING = frozenset({"load", "store", "cast", "truncate", "copy"})


@dataclass(frozen=True)
class Failure:
    """Failure of ``target`` with ``kernel``: ``kind`` is an error's type, ``Disagreement``, ``Died`` or
    ``Hung``.
    """

    target: str
    kind: str
    text: str
    kernel: Kernel

    @property
    def message(self) -> str:
        """The text's first line without numbers, names and places."""
        line = self.text.strip().split("\n")[0]
        return re.sub(r"'[^']*'|\"[^\"]*\"|/\S+|<[^>]*>|[\w.]*\d[\w.]*", "_", line)[:200]

    def explains(self, other: Failure) -> bool:
        """True if ``other`` is likely to be the same fault: the same error, or a kernel that contains all
        parts of this one.
        """
        if self.kind == DISAGREEMENT == other.kind:
            return self._telling <= other.kernel.productions
        return self.same_kind(other)

    def same_kind(self, other: Failure) -> bool:
        """True if ``other`` failed in the same way: by another result, or by an error of the same message."""
        if self.kind != other.kind:
            return False
        return self.kind == DISAGREEMENT or self.message == other.message

    @property
    def _telling(self) -> frozenset[str]:
        productions = self.kernel.productions
        return (productions - _PLUMBING) or productions

    @property
    def name(self) -> str:
        """A name for a file."""
        what = "-".join(sorted(self._telling))[:60] if self.kind == DISAGREEMENT else self.kind
        digest = hashlib.sha256(self.kernel.source.encode()).hexdigest()[:8]
        return re.sub(r"\W+", "_", f"{self.target}_{what}").strip("_") + f"_{digest}"

    def keep(self, folder: Path, save: Callable[[Any, Path, str], None]) -> Path:
        """Write the kernel down by ``save`` as a case to be replayed."""
        path = folder / f"{self.name}.json"
        save(self.kernel, path, f"{self.target}: {self.kind}: {self.text.split(chr(10))[0]}")
        return path
