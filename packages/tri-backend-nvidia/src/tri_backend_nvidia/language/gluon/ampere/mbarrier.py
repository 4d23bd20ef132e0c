"""``gl.nvidia.ampere.mbarrier``: barriers in shared memory that threads arrive on and wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.experimental.gluon import jit
from tri.experimental.gluon.layouts import SwizzledSharedLayout
from tri.language import builtin, constexpr_function
from tri_backend_nvidia.language.gluon.barriers import (
    MBarrierLayout,
    allocate_mbarrier,
    arrived,
    init,
    invalidate,
    wait,
)
from tri_backend_nvidia.language.gluon.checks import for_target

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = [
    "MBarrierLayout",
    "SwizzledSharedLayout",
    "allocate_mbarrier",
    "arrive",
    "builtin",
    "constexpr_function",
    "init",
    "invalidate",
    "jit",
    "wait",
]


@builtin
def arrive(mbarrier: Any, *, pred: Any = True, from_cta: Any = None, _semantic: Builder) -> None:
    """Arrive once, where ``pred``, on ``mbarrier``, for all threads that run the call, which synchronise first."""
    arrived(for_target(_semantic, "ampere.mbarrier.arrive", "cp-async"), mbarrier, 1, pred, from_cta)
