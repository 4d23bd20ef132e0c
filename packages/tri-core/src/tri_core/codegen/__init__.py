"""LLVM behind a process boundary: text in, assembly and objects out, no abort in the user's process.

This module stays light: the worker imports it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tri_core.codegen.pool import WorkerService

__all__ = ["service", "warm_up"]


def service() -> WorkerService:
    """The code generator of this process (a forked child gets one of its own)."""
    from tri_core.codegen.pool import WorkerService

    return WorkerService.of_this_process()


def warm_up(llvm_options: tuple[str, ...] = ()) -> None:
    """Start a worker now, without waiting for it: its start overlaps with the work before code generation."""
    service().warm_up(llvm_options)
