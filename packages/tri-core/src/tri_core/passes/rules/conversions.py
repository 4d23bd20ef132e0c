"""Conversions: integers that become narrow floats at once where nothing is rounded on the way."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.ir.views import cast, defining_op
from tri_core.mlir import arith, ir
from tri_core.passes.rewriting import make
from tri_core.passes.rules.table import TABLE

__all__: list[str] = []

#: bits of the significand, the hidden one included
_PRECISION = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}


@TABLE.rule("arith.truncf", fed_by=["arith.sitofp", "arith.uitofp"])
def _exact_integer(op: ir.Operation) -> Sequence[ir.Value] | None:
    """An integer that the wider float holds exactly is rounded once either way.

    Upstream folds any such pair, and with it one of two roundings: of 2**60 + 2**36 + 1 through f64 f32 has 2**60, directly the number above.
    """
    narrowed = cast(op, arith.TruncFOp)
    if "roundingmode" in op.attributes:
        return None
    for kind in (arith.SIToFPOp, arith.UIToFPOp):
        made = defining_op(narrowed.in_, kind)
        if made is None:
            continue
        integer, wide = (_element(value.type) for value in (made.in_, made.out))
        if ir.IntegerType(integer).width <= _PRECISION.get(str(wide), 0):
            return [make(op, made.operation.name, op.results[0].type, [made.in_])]
    return None


def _element(type_: ir.Type) -> ir.Type:
    return type_.element_type if isinstance(type_, ir.ShapedType) else type_
