"""Barriers in shared memory, which Ampere's and Hopper's namespaces share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.experimental.gluon.layouts import SwizzledSharedLayout
from tri.experimental.gluon.shared_memory import allocate_shared_memory
from tri.language import builtin, constexpr_function
from tri.language import types as t
from tri.language.builtin import of_builtin
from tri.language.casts import convert, value_of
from tri_backend_nvidia.language.gluon.checks import barrier_of, buffer_of, constant, for_target, where
from tri_core.errors import CompilationError, Unsupported

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri.experimental.gluon.builder import GluonBuilder
    from tri.experimental.gluon.shared_memory import shared_memory_descriptor

__all__ = ["MBarrierLayout", "allocate_mbarrier", "arrive", "arrived", "init", "invalidate", "wait"]


class MBarrierLayout(SwizzledSharedLayout):
    """The layout of an mbarrier, or of a batch of them: one after the other."""

    def __init__(self, cga_layout: Any = None) -> None:
        super().__init__(1, 1, 1, [0], cga_layout or ())

    @staticmethod
    @constexpr_function
    def multicta(num_ctas: int, two_cta: bool = False) -> MBarrierLayout:
        """The layout of one mbarrier in each of ``num_ctas`` (a power of two) CTAs; with ``two_cta`` in every other."""
        if num_ctas < 1 or num_ctas & (num_ctas - 1):
            raise CompilationError(f"num_ctas is {num_ctas}", remedy="use a power of two")
        if two_cta and num_ctas % 2:
            raise CompilationError("two_cta with one CTA", remedy="use an even num_ctas")
        bases = [[0]] if two_cta else []
        count = num_ctas // 2 if two_cta else num_ctas
        return MBarrierLayout([*bases, *([1 << i] for i in range(count.bit_length() - 1))])


@builtin
def allocate_mbarrier(
    batch: Any = None, two_ctas: bool = False, *, _semantic: Builder
) -> shared_memory_descriptor:
    """Memory of one mbarrier, or of ``batch`` (constexpr) of them, which ``index`` tells apart."""
    b = for_target(_semantic, "mbarrier.allocate_mbarrier", "cp-async")
    if b.options.num_ctas > 1 or two_ctas:
        raise Unsupported("an mbarrier of a cluster's CTAs", remedy="launch with num_ctas=1")
    shape = [1] if batch is None else [constant(batch, "batch", least=1), 1]
    return of_builtin(allocate_shared_memory)(t.int64, shape, MBarrierLayout(), _semantic=b)


@builtin
def init(mbarrier: Any, count: int, *, _semantic: Builder) -> None:
    """Begin the first phase of ``mbarrier``: each phase completes after ``count`` (constexpr) arrivals, when all expected bytes came."""
    b = for_target(_semantic, "mbarrier.init", "cp-async")
    attributes = {"count": b.i32(constant(count, "count", least=1))}
    b.create("ttg.init_barrier", operands=[barrier_of(mbarrier).handle], attributes=attributes)


@builtin
def invalidate(mbarrier: Any, *, _semantic: Builder) -> None:
    """End the life of ``mbarrier``, whose memory may then hold something else."""
    b = for_target(_semantic, "mbarrier.invalidate", "cp-async")
    b.create("ttg.inval_barrier", operands=[barrier_of(mbarrier).handle])


@builtin
def wait(mbarrier: Any, phase: Any, pred: Any = True, deps: Any = (), *, _semantic: Builder) -> None:
    """Wait, where ``pred``, until the phase of parity ``phase`` (0 or 1) of ``mbarrier`` is complete.

    ``deps``: the buffers that are ready then, which live up to here at least.
    """
    b = for_target(_semantic, "mbarrier.wait", "cp-async")
    parity = convert(b, value_of(b, phase), t.int32)
    buffers = [buffer_of(d, "a dependency").handle for d in deps]
    operands = [barrier_of(mbarrier).handle, parity, *buffers]
    where(b, pred, lambda: _created(b, "ttg.wait_barrier", operands))


@builtin
def arrive(
    mbarrier: Any, *, count: int = 1, pred: Any = True, from_cta: Any = None, _semantic: Builder
) -> None:
    """Arrive ``count`` (constexpr) times, where ``pred``, on ``mbarrier``, once for all threads that run the call.

    They synchronise first: what each of them accessed before is released to who waits for the phase.
    """
    arrived(for_target(_semantic, "mbarrier.arrive", "cp-async"), mbarrier, count, pred, from_cta)


def arrived(b: GluonBuilder, mbarrier: Any, count: Any, pred: Any, from_cta: Any) -> None:
    """The operations of :func:`arrive`."""
    if from_cta is not None:
        raise Unsupported("arrive with from_cta", remedy="leave it out: each CTA arrives on its own mbarrier")
    attributes = {"count": b.i32(constant(count, "count", least=1))}
    handle = barrier_of(mbarrier).handle
    where(b, pred, lambda: _created(b, "ttg.arrive_barrier", [handle], attributes))


def _created(b: GluonBuilder, name: str, operands: Any, attributes: Any = None) -> None:
    b.create(name, operands=operands, attributes=attributes)
