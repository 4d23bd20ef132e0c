"""Functions that Gluon has beside those of :mod:`tri.language`, or that take a layout there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tri.language as tl
from tri.compiler.builder import Builder
from tri.experimental.gluon.builder import of_gluon
from tri.experimental.gluon.layouts import (
    AutoLayout,
    BlockedLayout,
    DistributedLayout,
    DotOperandLayout,
    SharedLayout,
    linear_record,
)
from tri.experimental.gluon.types import distributed_type, layout_in, shared_memory_descriptor_type
from tri.language import builtin
from tri.language.builtin import of_builtin
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError, Unsupported
from tri_gpu_dialect.edit import GLOBAL, SHARED
from tri_gpu_dialect.layouts import WARP, Banks, layout_for
from tri_gpu_dialect.layouts import bank_conflicts as cycles
from tri_gpu_dialect.layouts.encoding import places_alike

__all__ = [
    "arange",
    "bank_conflicts",
    "barrier",
    "convert_layout",
    "dot_fma",
    "full",
    "full_like",
    "histogram",
    "num_ctas",
    "num_warps",
    "set_auto_layout",
    "to_linear_layout",
    "zeros",
    "zeros_like",
]


def _placed(b: Builder, name: str, value: tensor, layout: Any) -> tensor:
    """``value``, which was made with an open layout, in ``layout`` (None: left open)."""
    own = of_gluon(b, name)
    if layout is None or isinstance(layout, AutoLayout) or not dimensions(value):
        return value
    _check_layout(layout)
    return own.placed(value, layout)


def _check_layout(layout: Any) -> None:
    if not isinstance(layout, DistributedLayout):
        raise CompilationError(
            f"a layout of tensors in registers is expected, got {layout!r}",
            remedy="e.g. gl.BlockedLayout(...)",
        )


@builtin
def arange(start: int, end: int, layout: Any = None, *, _semantic: Builder) -> tensor:
    """The int32 values ``start`` to ``end - 1`` in ``layout``; both are constexpr."""
    return _placed(_semantic, "arange", of_builtin(tl.arange)(start, end, _semantic=_semantic), layout)


@builtin
def full(shape: Any, value: Any, dtype: Any, layout: Any = None, *, _semantic: Builder) -> tensor:
    """A tensor of ``shape`` in ``layout`` with ``value`` everywhere, as ``dtype``."""
    made = of_builtin(tl.full)(shape, value, dtype, _semantic=_semantic)
    return _placed(_semantic, "full", made, layout)


@builtin
def zeros(shape: Any, dtype: Any, layout: Any = None, *, _semantic: Builder) -> tensor:
    """A tensor of ``shape`` in ``layout`` with zeros of ``dtype``."""
    made = of_builtin(tl.full)(shape, 0, dtype, _semantic=_semantic)
    return _placed(_semantic, "zeros", made, layout)


@builtin
def full_like(
    input: tensor, value: Any, shape: Any = None, dtype: Any = None, layout: Any = None, *, _semantic: Builder
) -> tensor:
    """``value`` everywhere in a tensor like ``input``, of whose shape, dtype and layout each may be replaced."""
    shape = list(dimensions(input)) if shape is None else shape
    made = of_builtin(tl.full)(shape, value, dtype or input.dtype, _semantic=_semantic)
    return _placed(_semantic, "full_like", made, layout_in(input.type) if layout is None else layout)


@builtin
def zeros_like(
    input: tensor, shape: Any = None, dtype: Any = None, layout: Any = None, *, _semantic: Builder
) -> tensor:
    """Zeros in a tensor like ``input``, of whose shape, dtype and layout each may be replaced."""
    return of_builtin(full_like)(input, 0, shape, dtype, layout, _semantic=_semantic)


@builtin
def set_auto_layout(value: tensor, layout: Any, *, _semantic: Builder) -> tensor:
    """``value``, whose layout is left open, in ``layout``, as is all that it is made of."""
    b = of_gluon(_semantic, "set_auto_layout")
    _check_layout(layout)
    have = layout_in(value.type)
    if have is not None and have != layout:
        raise CompilationError(
            f"set_auto_layout of a value whose layout is {have}", remedy="use gl.convert_layout"
        )
    return value if have is not None else b.placed(value, layout)


@builtin
def convert_layout(value: tensor, layout: Any, assert_trivial: bool = False, *, _semantic: Builder) -> tensor:
    """``value`` in ``layout``; with ``assert_trivial`` no element may change its register or thread."""
    b = of_gluon(_semantic, "convert_layout")
    _check_layout(layout)
    if isinstance(layout, AutoLayout):
        raise CompilationError("convert_layout to AutoLayout", remedy="name the layout")
    if not isinstance(value, tensor) or not dimensions(value):
        raise CompilationError(
            "convert_layout takes a tensor that is no scalar", remedy="gl.full spreads a scalar"
        )
    if layout_in(value.type) is None:
        return b.placed(value, layout)
    shape = dimensions(value)
    encoding = b.encoding(layout, shape)
    have = layout_in(value.type)
    assert have is not None
    source = have.encoding()
    assert source is not None
    if assert_trivial and not places_alike(source, encoding, shape):
        raise CompilationError(
            f"the conversion from {have} to {layout} moves elements, and assert_trivial says it does not",
            remedy="leave assert_trivial out, or make the value in the layout",
        )
    if source == encoding:
        return value
    return b.value("ttg.convert_layout", distributed_type(value.dtype, shape, layout), value)


@builtin
def histogram(
    input: tensor, num_bins: int, mask: Any = None, layout: Any = None, *, _semantic: Builder
) -> tensor:
    """The int32 counts, in ``layout``, of the values 0 to ``num_bins - 1`` in ``input``, a tensor of rank 1."""
    made = of_builtin(tl.histogram)(input, num_bins, mask, _semantic=_semantic)
    return _placed(_semantic, "histogram", made, layout)


@builtin
def dot_fma(a: tensor, b: tensor, acc: tensor, *, _semantic: Builder) -> tensor:
    """``a @ b + acc`` by multiply-add: ``acc`` in a BlockedLayout, ``a`` and ``b`` in its DotOperandLayouts."""
    builder = of_gluon(_semantic, "dot_fma")
    own = layout_in(acc.type)
    if not isinstance(own, BlockedLayout):
        raise CompilationError(f"dot_fma's acc has layout {own}", remedy="make acc in a gl.BlockedLayout")
    for i, operand in enumerate((a, b)):
        have = layout_in(operand.type)
        if not isinstance(have, DotOperandLayout) or (have.operand_index, have.parent) != (i, own):
            raise CompilationError(
                f"dot_fma's operand {'ab'[i]} has layout {have}",
                remedy=f"convert it: gl.convert_layout(x, {DotOperandLayout(i, own, 0)})",
            )
    shapes = [dimensions(x) for x in (a, b, acc)]
    if len({len(s) for s in shapes}) != 1 or shapes[0][-1] != shapes[1][-2] or (
        *shapes[0][:-1], shapes[1][-1]
    ) != shapes[2]:  # fmt: skip
        raise CompilationError(
            f"dot_fma of shapes {', '.join(str(list(s)) for s in shapes)}", remedy="use MxK, KxN and MxN"
        )
    return builder.value("tt.dot", acc.type, a, b, acc, attributes={"inputPrecision": builder.i32(2)})


@builtin
def barrier(*, cluster: bool = False, _semantic: Builder) -> None:
    """All threads of a CTA wait for each other, and see each other's memory; with ``cluster`` those of all CTAs."""
    b = of_gluon(_semantic, "barrier")
    if cluster and b.options.num_ctas > 1:
        raise Unsupported("a barrier of a cluster by gl.barrier", remedy="launch with num_ctas=1")
    b.create("ttg.barrier", attributes={"addrSpace": b.i32(SHARED | GLOBAL)})


@builtin
def num_warps(*, _semantic: Builder) -> int:
    """Warps that run the kernel, or the partition around the call: constexpr."""
    return of_gluon(_semantic, "num_warps").sizes[WARP]


@builtin
def num_ctas(*, _semantic: Builder) -> int:
    """CTAs of a cluster: constexpr."""
    return int(_semantic.options.num_ctas)


@builtin
def to_linear_layout(layout: Any, shape: Sequence[int], *, _semantic: Builder | None = None) -> Any:
    """``layout`` of a tensor of ``shape`` written out: its bases for each bit of register, lane, warp and CTA, or offset."""
    del _semantic
    encoding = layout.encoding() if isinstance(layout, (DistributedLayout, SharedLayout)) else None
    if encoding is None:
        raise CompilationError(
            f"{layout!r} has no linear layout", remedy="pass a layout that is not left open"
        )
    return linear_record(layout_for(encoding, tuple(shape)))


@builtin
def bank_conflicts(distr_ty: Any, shared_ty: Any, *, _semantic: Builder) -> int:
    """Accesses of shared memory that a wavefront needs beyond the first one, between a tensor and a buffer of these types.

    Constexpr; the banks are the target's.
    """
    if not isinstance(distr_ty, distributed_type) or layout_in(distr_ty) is None:
        raise CompilationError(
            f"bank_conflicts takes a tensor's type with a layout, got {distr_ty!r}", remedy="x.type"
        )
    if not isinstance(shared_ty, shared_memory_descriptor_type):
        raise CompilationError(f"bank_conflicts takes a buffer's type, got {shared_ty!r}", remedy="smem.type")
    if distr_ty.shape != shared_ty.shape or distr_ty.element_ty is not shared_ty.element_ty:
        raise CompilationError(
            f"{distr_ty} and {shared_ty} are of different tensors", remedy="compare one tensor"
        )
    if shared_ty.layout.encoding().padding:
        raise Unsupported("bank_conflicts of a padded layout", remedy="count them with tri explore")
    banks = Banks.of(_semantic.target)
    registers = layout_for(layout_of_type(distr_ty), distr_ty.shape)
    memory = layout_for(shared_ty.layout.encoding(), shared_ty.shape)
    bits = distr_ty.element_ty.primitive_bitwidth
    return cycles(registers, memory, bits, banks, 8 * banks.access_bytes) - 1


def layout_of_type(type_: distributed_type) -> Any:
    """The encoding of a tensor's type."""
    return type_.layout.encoding()
