"""Both versions of a kernel: with the hardware's 2D blocks, and by elements where it does not take the surfaces.

Which one runs is asked when the kernel does.  The body is there twice, with a constant in place of the answer.
"""

from __future__ import annotations

from tri_backend_intel.dialect import BlockLoadOp, BlockPrefetchOp, BlockStoreOp
from tri_backend_intel.xegpu.elements import load_elements, store_elements
from tri_backend_intel.xegpu.layouts import refusal
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.lowering import Builder

__all__ = ["with_versions"]


def with_versions(module: ir.Module, kernel: ir.Operation, holds: str) -> None:
    """Split ``kernel`` at its call of the function ``holds``; without one it stays as it is."""
    call = next((op for op in all_ops(kernel) if _is_call(op, holds)), None)
    if call is None:
        return
    entry = kernel.regions[0].blocks[0]
    if call.block != entry:
        raise refusal(call, "its surfaces are known only behind a branch")
    by_blocks, by_elements = _split(module, kernel, call)
    b = Builder(module, entry)
    with ir.InsertionPoint(entry), call.location:
        ir.Operation.create(
            "llvm.cond_br", operands=[call.operands[0]], successors=[by_blocks, by_elements[0]],
            attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0])},
        )  # fmt: skip
    call.results[0].replace_all_uses_with(b.true())
    call.erase()
    for block in by_elements:
        for view in list(block.operations):
            _without_blocks(b, view.operation)


def _split(module: ir.Module, kernel: ir.Operation, call: ir.Operation) -> tuple[ir.Block, list[ir.Block]]:
    """Split the block after ``call``: the rest in a block of its own, and a copy of it for the answer no."""
    region, entry = kernel.regions[0], kernel.regions[0].blocks[0]
    other = kernel.clone(ip=ir.InsertionPoint(module.body)).operation
    copies = dict(zip(all_ops(kernel), all_ops(other), strict=True))
    for own, copy in zip(entry.arguments, other.regions[0].blocks[0].arguments, strict=True):
        copy.replace_all_uses_with(own)
    again = copies[call]
    for each in (call, again):
        _cut(each)
    with ir.InsertionPoint(call):
        no = ir.Operation.create(
            "llvm.mlir.constant",
            results=[call.results[0].type],
            attributes={"value": ir.IntegerAttr.get(call.results[0].type, 0)},
        )
    again.results[0].replace_all_uses_with(no.results[0])
    for view in list(entry.operations):  # what is before the question is the same in both
        if (twin := copies.get(view.operation)) is not None and view.operation != call:
            for own, copy in zip(view.operation.results, twin.results, strict=True):
                copy.replace_all_uses_with(own)
    moved = list(other.regions[0].blocks)[1:]
    count = len(moved)
    for block in moved:
        block.append_to(region)
    other.erase()
    blocks = list(region.blocks)  # anew: handles from before were the other function's
    return blocks[1], blocks[-count:]


def _cut(call: ir.Operation) -> None:
    """Move the ops after ``call`` in its block to a new one behind it."""
    block = call.block
    following = [view.operation for view in block.operations]
    following = following[following.index(call) + 1 :]
    made = block.create_after()
    with ir.InsertionPoint(made):
        end = ir.Operation.create("llvm.unreachable")
    for op in following:
        op.move_before(end)
    end.erase()


def _is_call(op: ir.Operation, name: str) -> bool:
    if op.name != "llvm.call" or "callee" not in op.attributes:
        return False
    return bool(ir.FlatSymbolRefAttr(op.attributes["callee"]).value == name)


def _without_blocks(b: Builder, op: ir.Operation) -> None:
    """An access of ``op`` element by element; prefetches are left out."""
    if not isa(op, BlockLoadOp, BlockStoreOp, BlockPrefetchOp):
        return
    if isa(op, BlockLoadOp):
        with ir.InsertionPoint(op), op.location:
            for old, new in zip(op.results, load_elements(b, op), strict=True):
                old.replace_all_uses_with(new)
    elif isa(op, BlockStoreOp):
        with ir.InsertionPoint(op), op.location:
            store_elements(b, op)
    op.erase()
