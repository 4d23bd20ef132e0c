"""Tests of passes as text: a module in Triton's syntax, the passes to run on it, and what must come out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tri_core.testing.filecheck import FileCheckError, filecheck

__all__ = ["check_passes"]

_RUN = "// RUN: "


def check_passes(
    text: str, *, path: str = "-", target: str | None = None, options: Mapping[str, Any] | None = None
) -> None:
    """Run the passes that the ``// RUN:`` line of ``text`` lists; FileCheckError unless its checks hold::

        // RUN: cse,canonicalize
        // CHECK: %[[X:.*]] = tt.load
        module {...}

    The list, ``target`` and ``options`` are those of :func:`tri_core.compiler.optimize.optimize`.
    """
    from tri_core.compiler.optimize import optimize

    lists = [line.removeprefix(_RUN) for line in text.splitlines() if line.startswith(_RUN)]
    if len(lists) != 1:
        raise FileCheckError(f"{path} has {len(lists)} lines `{_RUN}passes`; one is expected")
    filecheck(optimize(text, lists[0], path=path, target=target, options=options), text)
