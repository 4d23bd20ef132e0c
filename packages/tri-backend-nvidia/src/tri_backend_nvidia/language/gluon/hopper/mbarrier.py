"""``gl.nvidia.hopper.mbarrier``: barriers in shared memory that count the bytes of copies, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.language import builtin
from tri_backend_nvidia.language.gluon.barriers import (
    MBarrierLayout,
    allocate_mbarrier,
    arrive,
    init,
    invalidate,
    wait,
)
from tri_backend_nvidia.language.gluon.checks import barrier_of, constant, for_target, truth_value
from tri_core.errors import CompilationError, Unsupported

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = [
    "MBarrierLayout",
    "allocate_mbarrier",
    "arrive",
    "builtin",
    "expect",
    "init",
    "invalidate",
    "wait",
]


@builtin
def expect(
    mbarrier: Any, bytes_per_cta: Any = None, pred: Any = True, *, from_cta: Any = None, _semantic: Builder
) -> None:
    """Arrive once, where ``pred``, on ``mbarrier``, whose phase then waits for ``bytes_per_cta`` (constexpr) bytes more."""
    b = for_target(_semantic, "hopper.mbarrier.expect", "tma")
    if from_cta is not None:
        raise Unsupported("expect with from_cta", remedy="leave it out")
    if bytes_per_cta is None:
        raise CompilationError("expect without bytes_per_cta", remedy="pass the descriptor's nbytes_per_cta")
    attributes = {"size": b.i32(constant(bytes_per_cta, "bytes_per_cta", least=1))}
    operands = [barrier_of(mbarrier).handle, truth_value(b, pred)]
    b.create("ttg.barrier_expect", operands=operands, attributes=attributes)
