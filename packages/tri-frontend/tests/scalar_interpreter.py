"""Executes TTIR of scalar integers: enough to check what control flow means."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from tri_core.mlir import ir

__all__ = ["run"]

_BINARY: dict[str, Callable[[int, int], int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
}
_COMPARE = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def _wrap(value: int, type_: ir.Type) -> int:
    """``value`` as a signed integer of the type's width; i1 is 0 or 1."""
    width = ir.IntegerType(type_).width
    value &= (1 << width) - 1
    return value - (1 << width) if width > 1 and value >> (width - 1) else value


class _Interpreter:
    def __init__(self, memory: list[int]) -> None:
        self.memory = memory
        self.values: dict[Any, Any] = {}

    def block(self, block: ir.Block, arguments: Sequence[Any] = ()) -> tuple[str, list[Any]]:
        """Run to the terminator; its name and operands."""
        self.values.update(zip(block.arguments, arguments, strict=True))
        for op in block.operations:
            op = op.operation
            operands = [self.values[v] for v in op.operands]
            if op.name in ("scf.yield", "scf.condition", "tt.return"):
                return op.name, operands
            results = self.operation(op, operands)
            self.values.update(zip(op.results, results, strict=True))
        return "", []

    def operation(self, op: ir.Operation, operands: list[Any]) -> Sequence[Any]:
        name = op.name
        if name in _BINARY:
            return [_wrap(_BINARY[name](*operands), op.results[0].type)]
        if name == "arith.constant":
            return [_wrap(ir.IntegerAttr(op.attributes["value"]).value, op.results[0].type)]
        if name == "arith.cmpi":
            return [int(_COMPARE[ir.IntegerAttr(op.attributes["predicate"]).value](*operands))]
        if name == "arith.extui":
            width = ir.IntegerType(op.operands[0].type).width
            return [operands[0] & ((1 << width) - 1)]
        if name == "tt.addptr":
            return [operands[0] + operands[1]]
        if name == "tt.store":
            self.memory[operands[0]] = operands[1]
            return []
        return getattr(self, name.replace(".", "_"))(op, operands)

    def scf_if(self, op: ir.Operation, operands: list[Any]) -> Sequence[Any]:
        return self.block(op.regions[0 if operands[0] else 1].blocks[0])[1]

    def scf_for(self, op: ir.Operation, operands: list[Any]) -> Sequence[Any]:
        start, end, step, *carried = operands
        for i in range(start, end, step):
            carried = self.block(op.regions[0].blocks[0], [i, *carried])[1]
        return carried

    def scf_while(self, op: ir.Operation, operands: list[Any]) -> Sequence[Any]:
        carried = operands
        while True:
            _, (go_on, *passed) = self.block(op.regions[0].blocks[0], carried)
            if not go_on:
                return passed
            carried = self.block(op.regions[1].blocks[0], passed)[1]


def run(module: ir.Module, arguments: Sequence[int], memory: list[int]) -> None:
    """Run the module's one function; a pointer argument is an index into ``memory``."""
    function = module.body.operations[0].operation
    _Interpreter(memory).block(function.regions[0].blocks[0], arguments)
