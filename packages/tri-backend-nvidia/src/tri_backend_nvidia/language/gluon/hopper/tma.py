"""``gl.nvidia.hopper.tma``: copies of blocks between descriptors and shared memory by the tensor memory accelerator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.experimental.gluon.descriptors import layout_text, tensor_descriptor
from tri.language import builtin
from tri.language import types as t
from tri.language.descriptors import described, scalar_integer, sequence
from tri.language.types import tensor_descriptor_type
from tri_backend_nvidia.language.gluon.cache_policies import CachePolicy
from tri_backend_nvidia.language.gluon.checks import (
    barrier_of,
    buffer_of,
    constant,
    for_target,
    truth_value,
)
from tri_backend_nvidia.language.gluon.layouts import NVMMASharedLayout
from tri_core.dialects.tt.enums import DescriptorReduceKind
from tri_core.errors import CompilationError, Unsupported

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri.experimental.gluon.shared_memory import shared_memory_descriptor
    from tri.language.tensor import tensor

__all__ = [
    "CachePolicy",
    "NVMMASharedLayout",
    "async_atomic_add",
    "async_atomic_and",
    "async_atomic_max",
    "async_atomic_min",
    "async_atomic_or",
    "async_atomic_xor",
    "async_load",
    "async_store",
    "builtin",
    "make_tensor_descriptor",
    "store_wait",
    "tensor_descriptor",
    "tensor_descriptor_type",
]

_IM2COL = "copy tiles with async_load"
#: names that are not here yet, and what to do instead
__later__ = {
    "async_copy_global_to_shared": "Triton dropped it; call async_load",
    "async_copy_global_to_shared_im2col": _IM2COL,
    "async_copy_shared_to_global": "Triton dropped it; call async_store",
    "async_load_im2col": _IM2COL,
    "tensor_descriptor_im2col": _IM2COL,
    "tensor_descriptor_im2col_type": _IM2COL,
}


def _descriptor(value: Any, name: str) -> tensor_descriptor:
    if not isinstance(value, tensor_descriptor):
        raise CompilationError(
            f"{name} through {value!r}; a tensor descriptor is expected",
            remedy="pass a TensorDescriptor, or make one with tma.make_tensor_descriptor",
        )
    return value


def _place(b: Builder, desc: tensor_descriptor, coord: Any) -> list[tensor]:
    given = sequence(coord, "coord", len(desc.block_type.shape))
    return [scalar_integer(b, x, t.int32, f"coordinate {i}") for i, x in enumerate(given)]


def _block(desc: tensor_descriptor, value: Any, name: str) -> shared_memory_descriptor:
    """``value`` as a buffer of one block of ``desc``; CompilationError otherwise."""
    buffer = buffer_of(value, f"{name}'s buffer")
    if buffer.type.shape != desc.block_type.shape or buffer.dtype is not desc.dtype:
        raise CompilationError(
            f"{name} between {desc!r} and {buffer!r}: blocks are of shape {list(desc.block_type.shape)}",
            remedy="allocate it with the descriptor's dtype and block_shape",
        )
    if buffer.layout.encoding() != desc.layout.encoding():
        raise CompilationError(
            f"{name} between blocks in {desc.layout} and a buffer in {buffer.layout}",
            remedy="allocate the buffer in the descriptor's layout",
        )
    return buffer


def _check_policy(policy: Any) -> None:
    if policy is None:
        return
    if not isinstance(policy, CachePolicy):
        raise CompilationError(f"cache_policy is {policy!r}", remedy="pass a CachePolicy")
    raise Unsupported(f"a copy with {policy}", remedy="leave cache_policy out: it changes no result")


@builtin
def async_load(
    tensor_desc: Any,
    coord: Any,
    barrier: Any,
    result: Any,
    pred: Any = True,
    multicast: bool = False,
    cache_policy: Any = None,
    *,
    _semantic: Builder,
) -> None:
    """Start copying, where ``pred``, the block at ``coord`` (int32, in elements) to ``result``; its bytes count at ``barrier``.

    Out of bounds it is padded.  CompilationError for a buffer of another shape, dtype or layout.
    """
    b = for_target(_semantic, "hopper.tma.async_load", "tma")
    _check_policy(cache_policy)
    if multicast and b.options.num_ctas > 1:
        raise Unsupported("a multicast async_load", remedy="launch with num_ctas=1")
    desc = _descriptor(tensor_desc, "async_load")
    buffer = _block(desc, result, "async_load")
    operands = [desc.handle, *_place(b, desc, coord), barrier_of(barrier, "barrier").handle, buffer.handle]
    b.create("ttg.async_copy_descriptor_to_local", operands=[*operands, truth_value(b, pred)])


@builtin
def async_store(
    tensor_desc: Any, coord: Any, src: Any, cache_policy: Any = None, *, _semantic: Builder
) -> None:
    """Start copying ``src`` to the block at ``coord``, cut off at the tensor's bounds; :func:`store_wait` waits for it."""
    _check_policy(cache_policy)
    _stored(_semantic, "async_store", tensor_desc, coord, src, None)


def _stored(
    b: Builder, name: str, tensor_desc: Any, coord: Any, src: Any, kind: DescriptorReduceKind | None
) -> None:
    own = for_target(b, f"hopper.tma.{name}", "tma")
    desc = _descriptor(tensor_desc, name)
    operands = [desc.handle, *_place(own, desc, coord), _block(desc, src, name).handle]
    attributes = {} if kind is None else {"kind": own.i32(int(kind))}
    own.create("ttg.async_copy_local_to_descriptor", operands=operands, attributes=attributes)


@builtin
def async_atomic_add(tensor_desc: Any, coord: Any, src: Any, *, _semantic: Builder) -> None:
    """Start adding ``src`` to the block at ``coord``, each element atomically."""
    _stored(_semantic, "async_atomic_add", tensor_desc, coord, src, DescriptorReduceKind.ADD)


@builtin
def async_atomic_min(tensor_desc: Any, coord: Any, src: Any, *, _semantic: Builder) -> None:
    """Start making the block at ``coord`` the minimum of itself and ``src``, each element atomically."""
    _stored(_semantic, "async_atomic_min", tensor_desc, coord, src, DescriptorReduceKind.MIN)


@builtin
def async_atomic_max(tensor_desc: Any, coord: Any, src: Any, *, _semantic: Builder) -> None:
    """Start making the block at ``coord`` the maximum of itself and ``src``, each element atomically."""
    _stored(_semantic, "async_atomic_max", tensor_desc, coord, src, DescriptorReduceKind.MAX)


@builtin
def async_atomic_and(tensor_desc: Any, coord: Any, src: Any, *, _semantic: Builder) -> None:
    """Start making the block at ``coord`` the bitwise and of itself and ``src``, each element atomically."""
    _stored(_semantic, "async_atomic_and", tensor_desc, coord, src, DescriptorReduceKind.AND)


@builtin
def async_atomic_or(tensor_desc: Any, coord: Any, src: Any, *, _semantic: Builder) -> None:
    """Start making the block at ``coord`` the bitwise or of itself and ``src``, each element atomically."""
    _stored(_semantic, "async_atomic_or", tensor_desc, coord, src, DescriptorReduceKind.OR)


@builtin
def async_atomic_xor(tensor_desc: Any, coord: Any, src: Any, *, _semantic: Builder) -> None:
    """Start making the block at ``coord`` the exclusive or of itself and ``src``, each element atomically."""
    _stored(_semantic, "async_atomic_xor", tensor_desc, coord, src, DescriptorReduceKind.XOR)


@builtin
def store_wait(pendings: int, read_only: bool = True, *, _semantic: Builder) -> None:
    """Wait until at most ``pendings`` (constexpr) copies to descriptors still read their buffers; without ``read_only`` until they are done."""
    b = for_target(_semantic, "hopper.tma.store_wait", "tma")
    attributes = {"pendings": b.i32(constant(pendings, "pendings"))}
    if not read_only:
        attributes["complete"] = b.unit()
    b.create("ttg.async_store_wait", attributes=attributes)


@builtin
def make_tensor_descriptor(
    base: Any,
    shape: Any,
    strides: Any,
    block_shape: Any,
    layout: Any,
    padding_option: str = "zero",
    *,
    _semantic: Builder,
) -> tensor_descriptor:
    """A descriptor of the tensor at ``base``, as :func:`tri.language.make_tensor_descriptor`, whose blocks lie in ``layout``."""
    b = for_target(_semantic, "hopper.tma.make_tensor_descriptor", "tma")
    if not isinstance(layout, NVMMASharedLayout):
        raise CompilationError(
            f"layout is {layout!r}", remedy="use NVMMASharedLayout.get_default_for(block_shape, dtype)"
        )
    made = described(b, base, shape, strides, block_shape, padding_option, layout_text(layout))
    assert isinstance(made, tensor_descriptor)
    return made
