"""Faults whose effect on values is within the tolerance, or none on whole numbers: exact passes are to find them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from unittest import mock

from integration.verify.faults import Fault, Mistake
from tri_core.ir.walking import collect
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import convert

__all__ = ["SMALL_FAULTS", "LoweringFault"]

#: what is added or left out, of a number
_LITTLE = 2.0**-20


def _with(type_: ir.Type, element: ir.Type) -> ir.Type:
    if isinstance(type_, ir.RankedTensorType):
        return ir.RankedTensorType.get(type_.shape, element, type_.encoding)
    return element


def _floats(module: ir.Module, name: str) -> list[ir.Operation]:
    """Ops ``name`` whose result is of f32."""
    found = []
    for op in collect(module.operation):
        if op.name == name:
            type_ = op.results[0].type
            element = type_.element_type if isinstance(type_, ir.RankedTensorType) else type_
            found += [op] if isinstance(element, ir.F32Type) else []
    return found


def _made(name: str, type_: ir.Type, *operands: ir.Value) -> ir.Value:
    return ir.Operation.create(name, results=[type_], operands=list(operands)).results[0]


def _constant(name: str, value: float, type_: ir.Type) -> ir.Value:
    element = ir.FloatAttr.get(ir.F32Type.get(), value)
    held = (
        ir.DenseElementsAttr.get_splat(type_, element) if isinstance(type_, ir.RankedTensorType) else element
    )
    return ir.Operation.create(name, results=[type_], attributes={"value": held}).results[0]


def _after(op: ir.Operation) -> ir.InsertionPoint:
    place = ir.InsertionPoint(op)
    operations = list(op.block.operations)
    at = [each.operation for each in operations].index(op)
    return ir.InsertionPoint(operations[at + 1]) if at + 1 < len(operations) else place


def _through(name: str, narrow: str, dialect: str = "arith") -> Mistake:
    """Results of ``name`` are kept in a narrower type in between."""
    words = ("arith.truncf", "arith.extf") if dialect == "arith" else ("llvm.fptrunc", "llvm.fpext")

    def plant(module: ir.Module) -> None:
        for op in _floats(module, name):
            result = op.results[0]
            users = list(result.uses)
            small = _with(result.type, ir.F16Type.get() if narrow == "f16" else ir.BF16Type.get())
            with _after(op), op.location:
                made = _made(words[1], result.type, _made(words[0], small, result))
            _redirect(users, made)

    return plant


def _redirect(users: list[Any], made: ir.Value) -> None:
    for use in users:
        use.owner.operation.operands[use.operand_number] = made


def _scaled(name: str, dialect: str = "arith") -> Mistake:
    """Results of ``name`` are a little larger."""
    constant, multiply = (
        ("arith.constant", "arith.mulf") if dialect == "arith" else ("llvm.mlir.constant", "llvm.fmul")
    )

    def plant(module: ir.Module) -> None:
        for op in _floats(module, name):
            result = op.results[0]
            users = list(result.uses)
            with _after(op), op.location:
                made = _made(multiply, result.type, result, _constant(constant, 1 + _LITTLE, result.type))
            _redirect(users, made)

    return plant


def _leaking(name: str, dialect: str = "arith") -> Mistake:
    """A little of the first operand is added to results of ``name``."""
    words = (
        ("arith.constant", "arith.mulf", "arith.addf")
        if dialect == "arith"
        else ("llvm.mlir.constant", "llvm.fmul", "llvm.fadd")
    )

    def plant(module: ir.Module) -> None:
        for op in _floats(module, name):
            result, first = op.results[0], op.operands[0]
            users = list(result.uses)
            with _after(op), op.location:
                part = _made(words[1], result.type, first, _constant(words[0], _LITTLE, result.type))
                made = _made(words[2], result.type, result, part)
            _redirect(users, made)

    return plant


@dataclass(frozen=True)
class LoweringFault(Fault):
    """``mistake`` in what the lowering makes of TTGIR: ops of the ``llvm`` dialect."""

    def _patched(self) -> Any:
        right, mistake = convert.lower, self.mistake
        assert mistake is not None

        def wrong(*given: Any) -> Any:
            made = right(*given)
            mistake(made.module)
            return made

        return mock.patch.object(convert, "lower", wrong)


def _in(layer: str, step: str, kernel: str, name: str, mistake: Mistake) -> Fault:
    return Fault(name, layer, kernel, step, mistake)


def _below(kernel: str, name: str, mistake: Mistake) -> Fault:
    return LoweringFault(name, "lowering", kernel, "", mistake)


_HALF, _BRAIN, _MORE, _LEAK = (
    "f16 in between",
    "bf16 in between",
    "2^-20 too large",
    "2^-20 of an operand too much",
)

SMALL_FAULTS: tuple[Fault, ...] = (
    _in("ttir", "licm", "matmul", f"dot: {_HALF}", _through("tt.dot", "f16")),
    _in("ttir", "licm", "matmul", f"dot: {_MORE}", _scaled("tt.dot")),
    _in("ttir", "combine", "add", f"sum: {_HALF}", _through("arith.addf", "f16")),
    _in("ttir", "combine", "add", f"sum: {_BRAIN}", _through("arith.addf", "bf16")),
    _in("ttir", "canonicalize", "largest", f"difference: {_LEAK}", _leaking("arith.subf")),
    _in("ttir", "reorder-broadcast", "softmax", f"reduction: {_MORE}", _scaled("tt.reduce")),
    _in("ttir", "canonicalize", "softmax", f"quotient: {_MORE}", _scaled("arith.divf")),
    _in("ttir", "licm", "attention", f"product: {_MORE}", _scaled("arith.mulf")),
    _in("ttir", "reorder-broadcast", "softmax", f"difference: {_HALF}", _through("arith.subf", "f16")),
    _in("ttgir", "coalesce", "add", f"sum: {_HALF}", _through("arith.addf", "f16")),
    _in("ttgir", "coalesce", "add", f"sum: {_MORE}", _scaled("arith.addf")),
    _in("ttgir", "coalesce", "largest", f"difference: {_LEAK}", _leaking("arith.subf")),
    _in("ttgir", "coalesce", "largest", f"difference: {_HALF}", _through("arith.subf", "f16")),
    _in("ttgir", "coalesce", "softmax", f"difference: {_HALF}", _through("arith.subf", "f16")),
    _in("ttgir", "sink-conversions", "softmax", f"reduction: {_MORE}", _scaled("tt.reduce")),
    _in("ttgir", "accelerate-matmul", "matmul", f"dot: {_HALF}", _through("tt.dot", "f16")),
    _in("ttgir", "reorder-instructions", "attention", f"product: {_MORE}", _scaled("arith.mulf")),
    _in("ttgir", "reorder-instructions", "attention", f"power: {_MORE}", _scaled("math.exp2")),
    _below("add", f"sum: {_HALF}", _through("llvm.fadd", "f16", "llvm")),
    _below("add", f"sum: {_BRAIN}", _through("llvm.fadd", "bf16", "llvm")),
    _below("largest", f"difference: {_LEAK}", _leaking("llvm.fsub", "llvm")),
    _below("largest", f"sum: {_MORE}", _scaled("llvm.fadd", "llvm")),
    _below("softmax", f"difference: {_HALF}", _through("llvm.fsub", "f16", "llvm")),
    _below("softmax", f"sum: {_MORE}", _scaled("llvm.fadd", "llvm")),
    _below("attention", f"product: {_MORE}", _scaled("llvm.fmul", "llvm")),
    _below("attention", f"difference: {_MORE}", _scaled("llvm.fsub", "llvm")),
)
