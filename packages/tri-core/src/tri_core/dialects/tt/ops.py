"""The ops of the ``tt`` dialect, as a table.

Results come first because optional operands must come last.  Source: Triton's ``TritonOps.td`` (names,
operands, attributes); enumerations are in :mod:`.enums`.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any, TypeAlias

from tri_core.dialects.tt.dialect import TT
from tri_core.ir.dots import DotLike
from tri_core.ir.effects import (
    HOST,
    SYNCHRONIZE_CTA,
    Effects,
)
from tri_core.ir.regions import ScalarRegions
from tri_core.ir.traits import (
    Cast,
    DataMovement,
    Decomposable,
    DerivesPointer,
    Elementwise,
    Instructions,
    Pure,
    PureByAttribute,
    Rematerializable,
    Replicates,
)
from tri_core.mlir import ext, ir

__all__ = [
    "OPTIONAL_ATTRIBUTES",
    "AddPtrOp",
    "ApproxDivfOp",
    "AssertOp",
    "BarrierOp",
    "BitcastOp",
    "BroadcastOp",
    "CallOp",
    "CatOp",
    "ClampfOp",
    "DotOp",
    "DotScaledOp",
    "ElementwiseInlineAsmOp",
    "ExpandDimsOp",
    "ExternElementwiseOp",
    "FpToFpOp",
    "FuncOp",
    "GatherOp",
    "GetNumProgramsOp",
    "GetProgramIdOp",
    "HistogramOp",
    "IntToPtrOp",
    "JoinOp",
    "MakeRangeOp",
    "MapElementwiseOp",
    "MapElementwiseReturnOp",
    "MulhiUIOp",
    "PreciseDivfOp",
    "PreciseSqrtOp",
    "PrintOp",
    "PtrToIntOp",
    "ReduceOp",
    "ReduceReturnOp",
    "ReshapeOp",
    "ReturnOp",
    "ScanOp",
    "ScanReturnOp",
    "SplatOp",
    "SplitOp",
    "TransOp",
    "UnsplatOp",
]

_In: TypeAlias = ext.Operand[Any]
_Out: TypeAlias = ext.Result[Any]
_Opt: TypeAlias = ext.Operand[Any] | None
_Ins: TypeAlias = Sequence[ext.Operand[Any]]
_Outs: TypeAlias = Sequence[ext.Result[Any]]


#: attributes an op may carry without declaring them: IRDL knows no optional ones
OPTIONAL_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "tt.func": ("sym_visibility", "arg_attrs", "res_attrs", "noinline"),
    "tt.call": ("arg_attrs", "res_attrs"),
    "tt.load": ("isVolatile", "cache", "evict"),
    "tt.store": ("cache", "evict", "ignore_cta"),
    "tt.fp_to_fp": ("rounding",),
    "tt.reshape": ("allow_reorder", "efficient_layout"),
    "tt.dot": ("maxNumImpreciseAcc",),
    "tt.dot_scaled": ("lhs_k_pack", "rhs_k_pack"),
    "tt.make_tensor_descriptor": ("padding",),
    "tt.descriptor_load": ("cache", "evict"),
    "tt.gather": ("efficient_layout",),
}


# --- functions ------------------------------------------------------------------------------------------


class FuncOp(TT.Operation, name="func", traits=[ir.IsIsolatedFromAboveTrait, Effects()]):
    """A kernel (public) or a device function (private); ``function_type`` holds pointers and tensors."""

    sym_name: ir.StringAttr
    function_type: ir.TypeAttr
    body: ext.Region


class ReturnOp(TT.Operation, name="return", traits=[ir.IsTerminatorTrait, Effects()]):
    """Leaves a ``tt.func``."""

    srcs: _Ins


class CallOp(TT.Operation, name="call"):
    """A call of another ``tt.func`` of the module; inlined before anything else."""

    results_: _Outs
    operands_: _Ins
    callee: Any


# --- programs -------------------------------------------------------------------------------------------


class GetProgramIdOp(TT.Operation, name="get_program_id", traits=[Pure, Rematerializable]):
    """The index of this program along ``axis`` (0, 1 or 2)."""

    axis: ir.IntegerAttr
    result: _Out


class GetNumProgramsOp(TT.Operation, name="get_num_programs", traits=[Pure, Rematerializable]):
    """The number of programs along ``axis`` (0, 1 or 2)."""

    axis: ir.IntegerAttr
    result: _Out


# --- elementwise ----------------------------------------------------------------------------------------


class _UnaryOp(TT.Operation, traits=[Pure]):
    """One operand, one result."""

    src: _In
    result: _Out


class _BinaryOp(TT.Operation, traits=[Pure]):
    """Two operands, one result, all of one type."""

    x: _In
    y: _In
    result: _Out


class IntToPtrOp(_UnaryOp, name="int_to_ptr", traits=[Elementwise, Cast]):
    """An i64 as a pointer."""


class PtrToIntOp(_UnaryOp, name="ptr_to_int", traits=[Elementwise, Cast]):
    """A pointer as an i64."""


class BitcastOp(_UnaryOp, name="bitcast", traits=[Elementwise, Cast, DerivesPointer]):
    """The same bits as another type of the same width."""


class FpToFpOp(_UnaryOp, name="fp_to_fp", traits=[Elementwise, Cast]):
    """A cast between float types that ``arith`` lacks: fp8, or with ``rounding`` (0 rtz, 1 rtne)."""


class PreciseSqrtOp(TT.Operation, name="precise_sqrt", traits=[Pure, Elementwise]):
    """Square root, rounded to nearest even."""

    x: _In
    result: _Out


class PreciseDivfOp(_BinaryOp, name="precise_divf", traits=[Elementwise]):
    """Division, rounded to nearest even."""


class ApproxDivfOp(_BinaryOp, name="approx_divf", traits=[Elementwise, Decomposable]):
    """Division with the target's fast approximation (2 ulp for f32)."""

    def decompose(self) -> ir.Value:
        """``arith.divf``, which is more precise."""
        division = ir.Operation.create("arith.divf", results=[self.result.type], operands=[self.x, self.y])
        return division.result


class MulhiUIOp(_BinaryOp, name="mulhiui", traits=[Elementwise]):
    """The high half of the unsigned product."""


class ClampfOp(TT.Operation, name="clampf", traits=[Pure, Elementwise]):
    """``min(max(x, min), max)``; ``propagateNan`` as in ``tt.PropagateNan``."""

    x: _In
    min: _In
    max: _In
    propagateNan: ir.IntegerAttr
    result: _Out


class AddPtrOp(TT.Operation, name="addptr", traits=[Pure, Elementwise, DerivesPointer, Instructions(1)]):
    """A pointer moved by ``offset`` elements (not bytes)."""

    ptr: _In
    offset: _In
    result: _Out


class ExternElementwiseOp(TT.Operation, name="extern_elementwise", traits=[PureByAttribute, Elementwise]):
    """A function ``symbol`` of library ``libname`` at ``libpath``, applied elementwise."""

    srcs: _Ins
    libname: ir.StringAttr
    libpath: ir.StringAttr
    symbol: ir.StringAttr
    pure: ir.IntegerAttr
    result: _Out


class ElementwiseInlineAsmOp(
    TT.Operation, name="elementwise_inline_asm", traits=[PureByAttribute, Elementwise]
):
    """Target assembly applied to ``packed_element`` elements at a time."""

    results_: _Outs
    args: _Ins
    asm_string: ir.StringAttr
    constraints: ir.StringAttr
    pure: ir.IntegerAttr
    packed_element: ir.IntegerAttr


class MapElementwiseOp(TT.Operation, name="map_elementwise", traits=[Elementwise, Effects(), ScalarRegions]):
    """A scalar region applied to ``pack`` elements at a time."""

    results_: _Outs
    srcs: _Ins
    pack: ir.IntegerAttr
    scalar_op: ext.Region


class MapElementwiseReturnOp(
    TT.Operation, name="map_elementwise_return", traits=[ir.IsTerminatorTrait, Effects()]
):
    """Ends the region of ``tt.map_elementwise`` (Triton: ``tt.map_elementwise.return``)."""

    srcs: _Ins


# --- shapes ---------------------------------------------------------------------------------------------


class MakeRangeOp(TT.Operation, name="make_range", traits=[Pure, Rematerializable, Instructions(1)]):
    """``[start, end)`` as i32; the length is a power of two."""

    start: ir.IntegerAttr
    end: ir.IntegerAttr
    result: _Out


class SplatOp(_UnaryOp, name="splat", traits=[Rematerializable, DataMovement, Instructions(0)]):
    """A scalar in every place of a tensor."""


class UnsplatOp(_UnaryOp, name="unsplat", traits=[DataMovement]):
    """The one element of a tensor."""


class ExpandDimsOp(
    TT.Operation, name="expand_dims", traits=[Pure, Rematerializable, Replicates, Instructions(1)]
):
    """A new dimension of size 1 at ``axis``."""

    src: _In
    axis: ir.IntegerAttr
    result: _Out


class BroadcastOp(_UnaryOp, name="broadcast", traits=[Rematerializable, Replicates, Instructions(1)]):
    """Dimensions of size 1 stretched."""


class ReshapeOp(_UnaryOp, name="reshape", traits=[Rematerializable, DataMovement]):
    """The same elements, row-major, in another shape (any order with ``allow_reorder``)."""


class TransOp(TT.Operation, name="trans", traits=[Pure, Rematerializable, DataMovement]):
    """Dimensions permuted: result dimension i is source dimension ``order[i]``."""

    src: _In
    order: Any
    result: _Out


class CatOp(TT.Operation, name="cat", traits=[Pure]):
    """Two tensors one after the other, in any order of elements."""

    lhs: _In
    rhs: _In
    result: _Out


class JoinOp(TT.Operation, name="join", traits=[Pure]):
    """Two tensors along a new last dimension of size 2."""

    lhs: _In
    rhs: _In
    result: _Out


class SplitOp(TT.Operation, name="split", traits=[Pure]):
    """The two halves along a last dimension of size 2."""

    src: _In
    out_lhs: _Out
    out_rhs: _Out


class GatherOp(TT.Operation, name="gather", traits=[Pure]):
    """``result[..., i, ...] = src[..., indices[..., i, ...], ...]`` along ``axis``."""

    src: _In
    indices: _In
    axis: ir.IntegerAttr
    result: _Out


# --- reductions and dots --------------------------------------------------------------------------------


class ReduceOp(TT.Operation, name="reduce", traits=[Pure, ScalarRegions]):
    """Reduces ``srcs`` along ``axis`` with the region's function of (accumulators, elements)."""

    results_: _Outs
    srcs: _Ins
    axis: ir.IntegerAttr
    combine_op: ext.Region


class ReduceReturnOp(TT.Operation, name="reduce_return", traits=[ir.IsTerminatorTrait, Effects()]):
    """Ends the region of ``tt.reduce`` (Triton: ``tt.reduce.return``)."""

    srcs: _Ins


class ScanOp(TT.Operation, name="scan", traits=[Pure, ScalarRegions]):
    """Inclusive scan of ``srcs`` along ``axis``, from the end when ``reverse``."""

    results_: _Outs
    srcs: _Ins
    axis: ir.IntegerAttr
    reverse: ir.IntegerAttr
    combine_op: ext.Region


class ScanReturnOp(TT.Operation, name="scan_return", traits=[ir.IsTerminatorTrait, Effects()]):
    """Ends the region of ``tt.scan`` (Triton: ``tt.scan.return``)."""

    srcs: _Ins


class DotOp(TT.Operation, name="dot", traits=[Pure, DotLike]):
    """``a @ b + c`` over the last two dimensions; ``inputPrecision`` as in :mod:`.enums`."""

    a: _In
    b: _In
    c: _In
    inputPrecision: ir.IntegerAttr
    result: _Out


class DotScaledOp(TT.Operation, name="dot_scaled", traits=[Pure, DotLike]):
    """Block-scaled ``a @ b + c`` (microscaling formats); element types as in :mod:`.enums`."""

    result: _Out
    a: _In
    b: _In
    c: _In
    a_elem_type: ir.IntegerAttr
    b_elem_type: ir.IntegerAttr
    fastMath: ir.IntegerAttr
    a_scale: _Opt = None
    b_scale: _Opt = None


class HistogramOp(TT.Operation, name="histogram", traits=[Pure]):
    """Counts of the values 0 to N-1 among ``src`` where ``mask`` is true."""

    result: _Out
    src: _In
    mask: _Opt = None


# --- debugging ------------------------------------------------------------------------------------------


class BarrierOp(TT.Operation, name="barrier", traits=[Effects(SYNCHRONIZE_CTA)]):
    """All threads of the program wait for each other (Triton emits ``ttg.barrier`` for it)."""


class PrintOp(TT.Operation, name="print", traits=[Effects(HOST)]):
    """Prints ``prefix`` and the elements of ``args``."""

    prefix: ir.StringAttr
    hex: ir.IntegerAttr
    args: _Ins
    isSigned: Any


class AssertOp(TT.Operation, name="assert", traits=[Effects(HOST)]):
    """Fails the kernel with ``message`` where ``condition`` is false."""

    condition: _In
    message: ir.StringAttr
