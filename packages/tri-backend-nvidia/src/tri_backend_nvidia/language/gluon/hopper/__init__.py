"""``gl.nvidia.hopper``: block copies, dots of warp groups, fences and clusters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from tri.experimental.gluon.layouts import DotOperandLayout
from tri.experimental.gluon.shared_memory import shared_memory_descriptor
from tri.experimental.gluon.types import layout_in
from tri.language import builtin
from tri.language import types as t
from tri.language.dot import precision_attribute
from tri.language.structure import Structure
from tri.language.tensor import dimensions, tensor
from tri_backend_nvidia.language.gluon.ampere import async_copy, mma_v2
from tri_backend_nvidia.language.gluon.cache_policies import CachePolicy, FractionalEvictionPolicy
from tri_backend_nvidia.language.gluon.checks import buffer_of, constant, for_target, truth_value
from tri_backend_nvidia.language.gluon.hopper import cluster, mbarrier, tma
from tri_backend_nvidia.language.gluon.layouts import NVMMADistributedLayout, NVMMASharedLayout
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri.experimental.gluon.builder import GluonBuilder

__all__ = [
    "CachePolicy",
    "FractionalEvictionPolicy",
    "async_copy",
    "cluster",
    "fence_async_shared",
    "mbarrier",
    "mma_v2",
    "tma",
    "warpgroup_mma",
    "warpgroup_mma_accumulator",
    "warpgroup_mma_init",
    "warpgroup_mma_wait",
]

#: names that are not here yet, and what to do instead
__later__ = {
    "async_store": "store with the buffer's store, then arrive on the mbarrier",
    "warpgroup_mma_accumulator_type": "ask for the type of the accumulator's tensor after warpgroup_mma_wait",
}


class warpgroup_mma_accumulator(Structure):
    """The accumulator of dots under way: a tensor once :func:`warpgroup_mma_wait` has waited for them."""

    __slots__ = ("handle",)

    def __init__(self, handle: tensor) -> None:
        self.handle = handle

    @property
    def type(self) -> t.dtype:
        """The type of the tensor."""
        return self.handle.type

    def structure_parts(self) -> tuple[Any, ...]:
        """The one value."""
        return (self.handle,)

    def structure_with(self, parts: Iterable[Any]) -> Self:
        """Another accumulator of this type."""
        return type(self)(*parts)

    def structure_names(self) -> tuple[str, ...]:
        """A name for messages."""
        return ("accumulator",)


@builtin
def fence_async_shared(cluster: bool = False, *, _semantic: Builder) -> None:
    """Order this thread's accesses of shared memory before copies and dots that run on their own; it waits for none of those."""
    del cluster
    for_target(_semantic, "hopper.fence_async_shared", "tma").create("ttg.fence_async_shared")


@builtin
def warpgroup_mma_init(value: tensor, *, _semantic: Builder) -> warpgroup_mma_accumulator:
    """``value`` as the accumulator of dots that run on their own."""
    for_target(_semantic, "hopper.warpgroup_mma_init", "wgmma")
    return warpgroup_mma_accumulator(value)


@builtin
def warpgroup_mma(
    a: Any,
    b: Any,
    acc: Any,
    *,
    use_acc: Any = True,
    precision: Any = None,
    max_num_imprecise_acc: Any = None,
    is_async: bool = False,
    _semantic: Builder,
) -> Any:
    """``a @ b + acc`` (without ``acc`` where ``use_acc`` is false) by ``wgmma``, ``acc`` in an NVMMADistributedLayout [3, 0].

    ``a`` is a buffer in an NVMMASharedLayout, or a tensor in operand 0's DotOperandLayout; ``b`` is a buffer.  With
    ``is_async`` it goes on: the result is an accumulator for the next dot, or for :func:`warpgroup_mma_wait`.
    ``max_num_imprecise_acc``: as :func:`tri.language.dot` has it.
    """
    own = for_target(_semantic, "hopper.warpgroup_mma", "wgmma")
    total = acc.handle if isinstance(acc, warpgroup_mma_accumulator) else acc
    layout = layout_in(total.type) if isinstance(total, tensor) else None
    if not isinstance(layout, NVMMADistributedLayout) or tuple(layout.version) != (3, 0):
        raise CompilationError(
            f"warpgroup_mma's acc has layout {layout}",
            remedy="make acc in an NVMMADistributedLayout of version [3, 0]",
        )
    operands = [_left(a, layout), _memory(b, "b"), total, truth_value(own, use_acc)]
    _check_shapes(operands[0], operands[1], total)
    attributes = {"inputPrecision": precision_attribute(own, precision)}
    if max_num_imprecise_acc is not None:
        attributes["maxNumImpreciseAcc"] = own.i32(constant(max_num_imprecise_acc, "max_num_imprecise_acc"))
    made = own.value("ttg.warp_group_dot", total.type, *operands, attributes=attributes)
    return warpgroup_mma_accumulator(made) if is_async else _waited(own, made, 0)


def _left(a: Any, layout: NVMMADistributedLayout) -> tensor:
    if not isinstance(a, tensor):
        return _memory(a, "a")
    have = layout_in(a.type)
    if not isinstance(have, DotOperandLayout) or (have.operand_index, have.parent) != (0, layout):
        wanted = DotOperandLayout(0, layout, 32 // a.dtype.primitive_bitwidth)
        raise CompilationError(
            f"warpgroup_mma's operand a has layout {have}",
            remedy=f"convert it, gl.convert_layout(a, {wanted}), or pass a buffer in shared memory",
        )
    return a


def _memory(value: Any, name: str) -> tensor:
    buffer = buffer_of(value, f"warpgroup_mma's operand {name}")
    if not isinstance(buffer.layout, NVMMASharedLayout):
        raise CompilationError(
            f"warpgroup_mma's operand {name} has layout {buffer.layout}",
            remedy="allocate it in NVMMASharedLayout.get_default_for(shape, dtype)",
        )
    return buffer.handle


def _shape(value: tensor) -> tuple[int, ...]:
    return tuple(value.type.shape) if not isinstance(value.type, t.block_type) else dimensions(value)  # type: ignore[attr-defined]  # a buffer's


def _check_shapes(left: tensor, right: tensor, total: tensor) -> None:
    (m, k), (inner, n) = _shape(left), _shape(right)
    if k != inner or dimensions(total) != (m, n):
        raise CompilationError(
            f"warpgroup_mma of {[m, k]} and {[inner, n]} onto {list(dimensions(total))}",
            remedy="use MxK, KxN and MxN; permute a buffer that holds its transpose",
        )


@builtin
def warpgroup_mma_wait(num_outstanding: int = 0, deps: Any = None, *, _semantic: Builder) -> Any:
    """``deps`` once at most ``num_outstanding`` (constexpr) dots are under way, accumulators as tensors; one dep alone by itself.

    Buffers among ``deps`` may be written again after that.
    """
    b = for_target(_semantic, "hopper.warpgroup_mma_wait", "wgmma")
    if not deps:
        raise CompilationError("warpgroup_mma_wait without deps", remedy="pass the accumulators, deps=(acc,)")
    pending = constant(num_outstanding, "num_outstanding")
    found = tuple(_waited_for(b, each, pending) for each in deps)
    return found[0] if len(found) == 1 else found


def _waited_for(b: GluonBuilder, value: Any, pending: int) -> Any:
    if isinstance(value, shared_memory_descriptor):
        return value
    return _waited(b, value.handle if isinstance(value, warpgroup_mma_accumulator) else value, pending)


def _waited(b: GluonBuilder, value: tensor, pending: int) -> tensor:
    return b.value("ttg.warp_group_dot_wait", value.type, value, attributes={"pendings": b.i32(pending)})
