"""Kernels as JSON: a failure is kept, and replayed."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from integration.random_programs.program import Part, Programs, Shape

__all__ = ["load", "save"]


def save(kernel: Programs, path: Path, why: str) -> None:
    """Write ``kernel``, with ``why`` it is kept and its text for readers."""
    content = {"why": why, "text": kernel.source.splitlines(), "kernel": dataclasses.asdict(kernel)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load(path: Path) -> Programs:
    """The kernel of a file that :func:`save` wrote; its text is made again."""
    fields = json.loads(path.read_text(encoding="utf-8"))["kernel"]
    parts = tuple(
        Part(part["pattern"], tuple((name, value) for name, value in part["attributes"]))
        for part in fields["parts"]
    )
    return Programs(**fields | {"shape": Shape(**fields["shape"]), "parts": parts})
