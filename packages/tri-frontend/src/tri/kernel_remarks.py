"""Remarks on a compiled kernel: the schedule that a backend chose, what its stages say, and the optimisations that passes declined."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tri_core.compiler import CompiledKernel
    from tri_core.remarks import Remark

__all__ = ["kernel_remarks"]


def kernel_remarks(kernel: CompiledKernel, declined: Iterable[Remark] = ()) -> list[str]:
    """Lines on ``kernel``, in their order: its schedule, remarks of its stages, then those of ``declined`` that these do not say."""
    schedule = kernel.metadata.attrs.get("schedule")
    kept = [*([] if schedule is None else [f"schedule: {schedule}"]), *kernel.resources.remarks]
    return [*kept, *(str(remark) for remark in declined if remark.said not in kept)]
