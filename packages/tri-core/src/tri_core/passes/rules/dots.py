"""Additions that a dot can do itself."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects.tt import DotOp
from tri_core.ir.dots import Dot
from tri_core.ir.views import defining_op
from tri_core.mlir import ir
from tri_core.passes.rewriting import make
from tri_core.passes.rules.table import COMBINE
from tri_core.passes.rules.uniform import uniform_attr

__all__: list[str] = []


@COMBINE.rule("arith.addf", "arith.addi", fed_by=["tt.dot"])
def _dot_plus(op: ir.Operation) -> Sequence[ir.Value] | None:
    """``dot(a, b, 0) + c`` is ``dot(a, b, c)``: matrix units add for nothing."""
    for summand, addend in (op.operands, reversed(list(op.operands))):
        dot = defining_op(summand, DotOp)
        if dot is None or len(list(summand.uses)) != 1 or not _is_plain_dot(dot.operation):
            continue
        attributes = {name: dot.attributes[name] for name in dot.attributes}
        return [make(op, "tt.dot", op.result.type, [dot.a, dot.b, addend], attributes)]
    return None


def _is_plain_dot(dot: ir.Operation) -> bool:
    """True if ``dot`` adds zero, without intermediate rounding beyond what was requested."""
    limit = "maxNumImpreciseAcc"
    if limit in dot.attributes and ir.IntegerAttr(dot.attributes[limit]).value != 0:
        return False
    zero = uniform_attr(Dot(dot).c)
    if isinstance(zero, ir.FloatAttr):
        return zero.value == 0.0
    return isinstance(zero, ir.IntegerAttr) and zero.value == 0
