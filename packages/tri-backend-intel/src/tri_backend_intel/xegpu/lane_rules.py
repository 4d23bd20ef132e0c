"""Rules of ops of lanes (``ttig.lanes``), in machine ops: those that the attribute ``does`` names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tri_backend_intel.dialect import DpasOp, ShuffleXorOp, SubGroupLaneOp
from tri_backend_intel.lowering.small_floats import widened
from tri_backend_intel.xegpu.layouts import LANES, refusal
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder
from tri_gpu_dialect.lowering.words import from_words, to_words

__all__ = ["RULES", "lane_op"]

Rule = Callable[[Builder, ir.Operation], list[ir.Value]]


def lane_op(b: Builder, op: ir.Operation) -> list[ir.Value]:
    """By the rule of its name."""
    rule = RULES.get(ir.StringAttr(op.attributes["does"]).value)
    if rule is None:
        raise refusal(op, f"lanes do no {op.attributes['does']}")
    return rule(b, op)


def _number(op: ir.Operation, name: str) -> int:
    return int(ir.IntegerAttr(op.attributes[name]).value)


def registers(b: Builder, op: ir.Operation) -> list[ir.Value]:
    """The elements of a vector; what has no type of its own on machines is bits."""
    types = [r.type for r in op.results]
    return [b.bitcast(v, t) for v, t in zip(b.unpack(op.operands[0]), types, strict=True)]


def column(b: Builder, op: ir.Operation) -> list[ir.Value]:
    """Numbers that all lanes have as one vector; a single one is itself."""
    return [b.pack(list(op.operands)) if len(op.operands) > 1 else op.operands[0]]


def halves(b: Builder, op: ir.Operation) -> list[ir.Value]:
    """Rows of 16 lanes as A of two instructions of 32 bits: the lower half of the lanes has even rows, the upper one odd ones."""
    rows = b.unpack(op.operands[0])
    half = b.int_(LANES // 2)
    upper = b.cmp("uge", SubGroupLaneOp.build([], [b.i32])[0], half)
    crossed = [
        from_words(b, [ShuffleXorOp.build([w, half], [b.i32])[0] for w in to_words(b, [v])], v.type, 1)[0]
        for v in rows
    ]
    pairs = range(0, len(rows), 2)
    return [b.select(upper, crossed[i + 1], rows[i]) for i in pairs] + [
        b.select(upper, rows[i + 1], crossed[i]) for i in pairs
    ]


def widen(b: Builder, op: ir.Operation) -> list[ir.Value]:
    """Floats of 8 bits as f16: the even neighbours along k, then the odd ones."""
    kind = ir.StringAttr(op.attributes["kind"]).value
    even, odd = widened(b, list(op.operands), kind, _number(op, "word"))
    return [*even, *odd]


def dpas(b: Builder, op: ir.Operation) -> list[ir.Value]:
    """Sums, then A, then B of one instruction after the other."""
    kind, count = ir.StringAttr(op.attributes["kind"]).value, _number(op, "left_count")
    total, rest = b.unpack(op.operands[0]), list(op.operands)[1:]
    size = len(rest) // _number(op, "steps")
    for first in range(0, len(rest), size):
        own = rest[first : first + size]
        total = DpasOp.of(kind, own[:count], own[count:], total)
    return [b.pack(total)]


RULES: Mapping[str, Rule] = {
    "registers": registers,
    "column": column,
    "halves": halves,
    "widen": widen,
    "dpas": dpas,
}
