"""Dots of block-scaled operands as plain dots, for targets that have nothing better."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import ClassVar

from tri_core.dialects.tt import DotScaledOp
from tri_core.dialects.tt.enums import InputPrecision, ScaleDotElemType
from tri_core.errors import Unsupported
from tri_core.ir.views import isa
from tri_core.ir.walking import walk
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_core.passes.base import Pass
from tri_core.passes.rewriting import constant, make
from tri_core.pipeline import StageContext
from tri_core.remarks import declined

__all__ = ["DecomposeDotScaled"]

logger = logging.getLogger(__name__)

#: NaN among e8m0 scales, as an i8
_INVALID = -1
#: 2**-127, which bf16 and f32 have only as denormal numbers
_SMALLEST_BF16 = 0x40


@dataclass(frozen=True)
class DecomposeDotScaled(Pass):
    """``tt.dot_scaled`` becomes conversions to bf16 (f16 when an operand is), products with scales, and ``tt.dot``.

    A scale of 0xFF is NaN; with ``fastMath`` it may be anything.  Dots with scales are rounded to the type
    that they are computed in, so that a scaled value beyond its range overflows.

    ``refuses``: why a target's instructions cannot do an op (None: they can, and it stays); without, none can.  The reasons
    go into the module's attribute ``tt.dot_scaled_decomposed``.
    """

    name: ClassVar[str] = "decompose-dot-scaled"
    required: ClassVar[bool] = True

    refuses: Callable[[ir.Operation], str | None] | None = None

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        found: list[ir.Operation] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            if isa(op, DotScaledOp):
                found.append(op)
            return ir.WalkResult.ADVANCE

        walk(module.operation, visit)
        reasons = dict[str, None]()
        for op in found:
            reason = "" if self.refuses is None else self.refuses(op)
            if reason is None:
                continue
            if reason:
                reasons[_reported(op, reason)] = None
            op.result.replace_all_uses_with(_decomposed(op))
            op.erase()
        if reasons:
            texts = [ir.StringAttr.get(text) for text in reasons]
            module.operation.attributes["tt.dot_scaled_decomposed"] = ir.ArrayAttr.get(texts)


def _reported(op: ir.Operation, reason: str) -> str:
    """``reason`` with the place of ``op``, logged."""
    place = source_location(op.location)
    where = f"{place.file}:{place.line}: " if place is not None else ""
    text = f"the scaled dot is done by conversions and a plain one: {reason}"
    declined(DecomposeDotScaled.name, op, "{}", text)
    logger.info("%s%s", where, text)
    return f"{where}{text}"


@dataclass(frozen=True)
class _Operand:
    """An operand of a scaled dot: K is along dimension ``k`` (counted from the back)."""

    value: ir.Value
    scale: ir.Value | None
    format: ScaleDotElemType
    k: int
    k_pack: bool


def _decomposed(op: ir.Operation) -> ir.Value:
    a, b, c, *scales = op.operands
    given = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    a_scale = scales.pop(0) if given[3] else None
    b_scale = scales.pop(0) if given[4] else None
    lhs = _Operand(a, a_scale, _format(op, "a_elem_type"), -1, _flag(op, "lhs_k_pack", default=True))
    rhs = _Operand(b, b_scale, _format(op, "b_elem_type"), -2, _flag(op, "rhs_k_pack", default=True))
    half = ScaleDotElemType.FP16 in (lhs.format, rhs.format)
    compute: ir.Type = ir.F16Type.get() if half else ir.BF16Type.get()
    fast = _flag(op, "fastMath", default=False)
    operands = [_scaled(op, operand, compute, fast) for operand in (lhs, rhs)]
    precision = {"inputPrecision": ir.IntegerAttr.get(_int(32), int(InputPrecision.IEEE))}
    return make(op, "tt.dot", op.result.type, [*operands, c], precision)


def _format(op: ir.Operation, name: str) -> ScaleDotElemType:
    found = ScaleDotElemType(ir.IntegerAttr(op.attributes[name]).value)
    if found in (ScaleDotElemType.E2M3, ScaleDotElemType.E3M2):
        raise Unsupported(
            f"tt.dot_scaled of {found.name.lower()}",
            remedy="use e2m1, e4m3, e5m2, bf16 or fp16",
            location=source_location(op.location),
        )
    return found


def _flag(op: ir.Operation, name: str, *, default: bool) -> bool:
    if name not in op.attributes:
        return default
    return bool(ir.IntegerAttr(op.attributes[name]).value)


def _int(bits: int) -> ir.Type:
    return ir.IntegerType.get_signless(bits)


def _like(value: ir.Value, element: ir.Type, shape: Sequence[int] | None = None) -> ir.RankedTensorType:
    return ir.RankedTensorType.get(
        list(ir.RankedTensorType(value.type).shape) if shape is None else list(shape), element
    )


def _number(op: ir.Operation, value: int, like: ir.Value) -> ir.Value:
    """An integer in every place of a tensor like ``like``."""
    type_ = ir.RankedTensorType(like.type)
    return constant(op, ir.DenseElementsAttr.get_splat(type_, ir.IntegerAttr.get(type_.element_type, value)))


def _bits(op: ir.Operation, name: str, x: ir.Value, number: int) -> ir.Value:
    return make(op, name, x.type, [x, _number(op, number, x)])


def _equal(op: ir.Operation, x: ir.Value, number: int) -> ir.Value:
    predicate = {"predicate": ir.IntegerAttr.get(_int(64), 0)}
    return make(op, "arith.cmpi", _like(x, _int(1)), [x, _number(op, number, x)], predicate)


def _select(op: ir.Operation, condition: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
    return make(op, "arith.select", x.type, [condition, x, y])


# --- elements -------------------------------------------------------------------------------------------


def _scaled(op: ir.Operation, operand: _Operand, compute: ir.Type, fast: bool) -> ir.Value:
    """The operand in the type ``compute``, with its scales multiplied in."""
    value = _converted(op, operand, compute)
    if operand.scale is None:
        return value
    scale = _scale(op, operand.scale, compute)
    if not fast and isinstance(ir.RankedTensorType(operand.scale.type).element_type, ir.IntegerType):
        # of the scales, which are few: a product with NaN is NaN
        nan = ir.DenseElementsAttr.get_splat(scale.type, ir.FloatAttr.get(compute, float("nan")))
        scale = _select(op, _equal(op, operand.scale, _INVALID), constant(op, nan), scale)
    spread = _spread(op, scale, operand.k, ir.RankedTensorType(value.type).shape)
    return make(op, "arith.mulf", value.type, [value, spread])


def _converted(op: ir.Operation, operand: _Operand, compute: ir.Type) -> ir.Value:
    value = operand.value
    if operand.format == ScaleDotElemType.E2M1:
        axis = operand.k if operand.k_pack else -3 - operand.k
        return _unpacked(op, value, axis, compute)
    if ir.RankedTensorType(value.type).element_type == compute:
        return value
    return make(op, "tt.fp_to_fp", _like(value, compute), [value], _rounding(value, compute))


def _rounding(value: ir.Value, compute: ir.Type) -> dict[str, ir.Attribute]:
    """To nearest even where bits are lost: bf16 to f16."""
    narrow = ir.RankedTensorType(value.type).element_type.width < 16
    return {} if narrow else {"rounding": ir.IntegerAttr.get(_int(32), 1)}


def _unpacked(op: ir.Operation, packed: ir.Value, axis: int, compute: ir.Type) -> ir.Value:
    """Pairs of e2m1 numbers (the first in the low bits) along ``axis`` as twice as many of ``compute``."""
    shape = list(ir.RankedTensorType(packed.type).shape)
    axis += len(shape)
    low = _e2m1(op, _bits(op, "arith.andi", packed, 0xF), compute)
    high = _e2m1(op, _bits(op, "arith.shrui", packed, 4), compute)
    joined = make(op, "tt.join", _like(low, compute, [*shape, 2]), [low, high])
    order = [*range(axis + 1), len(shape), *range(axis + 1, len(shape))]
    moved = [[*shape, 2][i] for i in order]
    if order != list(range(len(order))):
        attributes = {"order": ir.DenseI32ArrayAttr.get(order)}
        joined = make(op, "tt.trans", _like(joined, compute, moved), [joined], attributes)
    shape[axis] *= 2
    return make(op, "tt.reshape", _like(joined, compute, shape), [joined])


def _e2m1(op: ir.Operation, nibble: ir.Value, compute: ir.Type) -> ir.Value:
    """The e2m1 number in the low 4 bits of each i8: its exponent and mantissa moved to their new places.

    The one denormal number, 0.5, and zero are no numbers of that form.
    """
    mantissa, bias = (10, 15) if isinstance(compute, ir.F16Type) else (7, 127)
    wide = make(op, "arith.extui", _like(nibble, _int(16)), [nibble])
    magnitude = _bits(op, "arith.andi", wide, 7)
    number = _bits(op, "arith.shli", magnitude, mantissa - 1)
    number = _bits(op, "arith.addi", number, (bias - 1) << mantissa)
    number = _select(op, _equal(op, magnitude, 1), _number(op, (bias - 1) << mantissa, wide), number)
    number = _select(op, _equal(op, magnitude, 0), _number(op, 0, wide), number)
    sign = _bits(op, "arith.shli", _bits(op, "arith.andi", wide, 8), 12)
    return make(op, "tt.bitcast", _like(wide, compute), [make(op, "arith.ori", wide.type, [number, sign])])


# --- scales ---------------------------------------------------------------------------------------------


def _scale(op: ir.Operation, scale: ir.Value, compute: ir.Type) -> ir.Value:
    """Scales in the type ``compute``: e8m0 as bytes, or floats."""
    if not isinstance(ir.RankedTensorType(scale.type).element_type, ir.IntegerType):
        return make(op, "tt.fp_to_fp", _like(scale, compute), [scale])
    if isinstance(compute, ir.F16Type):
        wide = make(op, "arith.extui", _like(scale, _int(32)), [scale])
        single = make(op, "tt.bitcast", _like(wide, ir.F32Type.get()), [_bits(op, "arith.shli", wide, 23)])
        return make(op, "arith.truncf", _like(scale, compute), [single])
    wide = make(op, "arith.extui", _like(scale, _int(16)), [scale])
    bits = _bits(op, "arith.maxui", _bits(op, "arith.shli", wide, 7), _SMALLEST_BF16)
    return make(op, "tt.bitcast", _like(wide, compute), [bits])


def _spread(op: ir.Operation, scale: ir.Value, k: int, shape: Sequence[int]) -> ir.Value:
    """Scales of [rows, groups] for the elements of ``shape``, whose dimension ``k`` is that of the groups."""
    element = ir.RankedTensorType(scale.type).element_type
    groups = list(ir.RankedTensorType(scale.type).shape)
    rank = len(groups)
    if k == -2:
        order = [*range(rank - 2), rank - 1, rank - 2]
        groups = [groups[i] for i in order]
        attributes = {"order": ir.DenseI32ArrayAttr.get(order)}
        scale = make(op, "tt.trans", _like(scale, element, groups), [scale], attributes)
    axis = rank + k + 1
    size = shape[k] // groups[k]
    apart = [*groups[:axis], 1, *groups[axis:]]
    scale = make(
        op,
        "tt.expand_dims",
        _like(scale, element, apart),
        [scale],
        {"axis": ir.IntegerAttr.get(_int(32), axis)},
    )
    apart[axis] = size
    scale = make(op, "tt.broadcast", _like(scale, element, apart), [scale])
    return make(op, "tt.reshape", _like(scale, element, list(shape)), [scale])
