"""Coordinates in 32 bits: upstream's lowering computes them in 64 and cuts the results.

LLVM's SPIR-V target (22) narrows such numbers itself where they are cut, and leaves shifts whose operands have different widths.
"""

from __future__ import annotations

from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops

__all__ = ["narrow_coordinates"]

#: the low half of the result needs the low halves of the operands only
_LOW = frozenset(f"llvm.{name}" for name in ("add", "sub", "mul", "and", "or", "xor"))
#: of numbers below 2^32 too
_UNSIGNED = frozenset(("llvm.udiv", "llvm.urem", "llvm.lshr"))
_LIMIT = 1 << 32


def narrow_coordinates(kernel: ir.Operation) -> None:
    """Every number of 64 bits that is cut to 32 is computed in 32, as far as that gives the same."""
    narrowing = _Narrowing()
    for op in all_ops(kernel):
        if op.name == "llvm.trunc" and (op.operands[0].type, op.results[0].type) == (
            narrowing.wide,
            narrowing.narrow,
        ):
            low = narrowing.low(op.operands[0])
            op.results[0].replace_all_uses_with(low)
            op.erase()


class _Narrowing:
    def __init__(self) -> None:
        self.wide, self.narrow = ir.IntegerType.get_signless(64), ir.IntegerType.get_signless(32)
        self.known: dict[ir.Value, ir.Value] = {}

    def low(self, value: ir.Value) -> ir.Value:
        """The lower half of ``value``, made beside it."""
        if value not in self.known:
            self.known[value] = self._low(value)
        return self.known[value]

    def _low(self, value: ir.Value) -> ir.Value:
        if isinstance(value.owner, ir.Block):
            return self._make("llvm.trunc", [value], ir.InsertionPoint.at_block_begin(value.owner))
        op = value.owner.operation
        if op.name in ("llvm.zext", "llvm.sext") and op.operands[0].type.width <= 32:
            source = op.operands[0]
            return (
                source if source.type == self.narrow else self._make(op.name, [source], ir.InsertionPoint(op))
            )
        if (number := _constant(value)) is not None:
            half = number % _LIMIT
            attribute = ir.IntegerAttr.get(self.narrow, half - _LIMIT if half >= _LIMIT // 2 else half)
            return self._make("llvm.mlir.constant", [], ir.InsertionPoint(op), value=attribute)
        shift = _constant(op.operands[1]) if op.name in ("llvm.shl", "llvm.lshr") else 0
        fits = op.name in _UNSIGNED and all(map(_is_small, op.operands))
        if (op.name in _LOW or op.name == "llvm.shl" or fits) and shift is not None and shift < 32:
            operands = [self.low(v) for v in op.operands]
            return self._make(op.name, operands, ir.InsertionPoint(op))
        return self._make("llvm.trunc", [value], _after(op))

    def _make(
        self, name: str, operands: list[ir.Value], place: ir.InsertionPoint, **attributes: ir.Attribute
    ) -> ir.Value:
        made = ir.Operation.create(
            name, results=[self.narrow], operands=operands, attributes=attributes, ip=place
        )
        return made.results[0]


def _after(op: ir.Operation) -> ir.InsertionPoint:
    return ir.InsertionPoint.after(op)


def _constant(value: ir.Value) -> int | None:
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "llvm.mlir.constant":
        return None
    attribute = value.owner.operation.attributes["value"]
    return int(ir.IntegerAttr(attribute).value) if isinstance(value.type, ir.IntegerType) else None


def _is_small(value: ir.Value) -> bool:
    """True if ``value`` is known to be at least 0 and below 2^32."""
    number = _constant(value)
    if number is not None:
        return 0 <= number < _LIMIT
    if isinstance(value.owner, ir.Block):
        return False
    op = value.owner.operation
    if op.name == "llvm.zext":
        return bool(op.operands[0].type.width <= 32)
    if op.name in _UNSIGNED:
        return _is_small(op.operands[0])
    return op.name == "llvm.and" and any(map(_is_small, op.operands))
