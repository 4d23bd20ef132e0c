"""Vectors of one element as numbers: what lanes have of a row is one, and neither SPIR-V nor the simulator has such vectors."""

from __future__ import annotations

from tri_backend_intel.xegpu.layouts import refusal
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops

__all__ = ["without_singles"]


def without_singles(kernel: ir.Operation) -> None:
    """Rewrite all values of ``vector<1xT>`` in ``kernel``, which is in the ``llvm`` dialect, as ``T``.

    Unsupported, located, where such vectors are joined to a larger one.
    """
    for op in all_ops(kernel):
        if op.name == "llvm.shufflevector":
            _extract(op)
    ops = all_ops(kernel)
    moves = [op for op in ops if _moves_single(op)]
    for op in ops:
        if op.name == "llvm.mlir.constant" and _is_single(op.results[0].type):
            op.attributes["value"] = _number(op)
        for result in op.results:
            _narrow(result)
    for block in kernel.regions[0].blocks:
        for argument in block.arguments:
            _narrow(argument)
    for op in moves:  # into a vector of one, or out of it
        op.results[0].replace_all_uses_with(op.operands[int(op.name == "llvm.insertelement")])
        op.erase()


def _extract(shuffle: ir.Operation) -> None:
    """The element that ``shuffle`` takes into a vector of one, taken out of its vector first."""
    first, second = shuffle.operands
    if _is_single(first.type):
        raise refusal(shuffle, "rows of one element are joined")
    if not _is_single(shuffle.results[0].type):
        return
    (number,) = ir.DenseI32ArrayAttr(shuffle.attributes["mask"])
    count = first.type.shape[0]
    vector, element = (first, number) if number < count else (second, number - count)
    i32 = ir.IntegerType.get_signless(32)
    single = shuffle.results[0].type
    with ir.InsertionPoint(shuffle), shuffle.location:
        index, none = (
            ir.Operation.create(
                "llvm.mlir.constant", results=[i32], attributes={"value": ir.IntegerAttr.get(i32, n)}
            )
            for n in (element, 0)
        )
        taken = ir.Operation.create(
            "llvm.extractelement", results=[single.element_type], operands=[vector, index.results[0]]
        )
        empty = ir.Operation.create("llvm.mlir.poison", results=[single])
        made = ir.Operation.create(
            "llvm.insertelement",
            results=[single],
            operands=[empty.results[0], taken.results[0], none.results[0]],
        )
    shuffle.results[0].replace_all_uses_with(made.results[0])
    shuffle.erase()


def _is_single(type_: ir.Type) -> bool:
    return isinstance(type_, ir.VectorType) and list(type_.shape) == [1]


def _moves_single(op: ir.Operation) -> bool:
    if op.name == "llvm.extractelement":
        return _is_single(op.operands[0].type)
    return op.name == "llvm.insertelement" and _is_single(op.results[0].type)


def _narrow(value: ir.Value) -> None:
    if _is_single(value.type):
        value.set_type(value.type.element_type)


def _number(op: ir.Operation) -> ir.Attribute:
    """The one element of a constant; indices are numbers of the result's width."""
    kept = ir.DenseElementsAttr(op.attributes["value"]).get_splat_value()
    if isinstance(kept, ir.IntegerAttr):
        return ir.IntegerAttr.get(op.results[0].type.element_type, kept.value)
    return kept
