"""An access through a descriptor where a condition holds, and by pointers where it does not."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects.tt import StoreOp
from tri_core.ir.markers import ASKED, OWN_ROWS, SELDOM
from tri_core.ir.regions import If
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_core.passes.descriptor_access import ACCESSES, Descriptor, block_inside, store_whole

__all__ = ["branched", "guarded", "is_half", "narrowed", "stored_by_pointers"]


def guarded(access: ir.Operation, condition: ir.Value, descriptor: Descriptor) -> None:
    """Put ``access`` in one block of a branch on ``condition`` (i1); the other does it through ``descriptor``.

    Unsupported for what pointers cannot do.
    """
    branch, inside, outside = _branch(access, condition)
    for result, value in zip(access.results, branch.results, strict=True):
        result.replace_all_uses_with(value)
    copy = access.clone(ip=ir.InsertionPoint(outside)).operation
    access.attributes[ASKED] = ir.UnitAttr.get()
    access.move_before(_yield(inside, access.location, list(access.results)))
    values = ACCESSES[access.name](copy, descriptor)
    copy.erase()
    _mark_stores(outside)
    _yield(outside, access.location, values)


def branched(access: ir.Operation, condition: ir.Value) -> ir.Operation:
    """Put ``access``, which gives nothing, in the second block of a branch on ``condition``; gives its copy in the first."""
    branch, inside, outside = _branch(access, condition)
    branch.attributes[ASKED] = ir.UnitAttr.get()
    copy = access.clone(ip=ir.InsertionPoint(inside)).operation
    _yield(inside, access.location, [])
    access.move_before(_yield(outside, access.location, []))
    return copy


def stored_by_pointers(access: ir.Operation, descriptor: Descriptor) -> None:
    """Do a ``tt.descriptor_store`` by pointers: without a mask where the block is inside of the tensor, each warp what it computed.

    What :func:`guarded` asked before does not matter then.
    """
    if ASKED in access.attributes:
        asked = access.parent.operation
        access.move_before(asked)
        asked.erase()
    _, inside, outside = _branch(access, block_inside(access, descriptor))
    copy = access.clone(ip=ir.InsertionPoint(inside)).operation
    store_whole(copy, descriptor).attributes[OWN_ROWS] = ir.UnitAttr.get()
    copy.erase()
    _yield(inside, access.location, [])
    copy = access.clone(ip=ir.InsertionPoint(outside)).operation
    ACCESSES[access.name](copy, descriptor)
    copy.erase()
    _mark_stores(outside)
    _yield(outside, access.location, [])
    access.erase()


def _mark_stores(block: ir.Block) -> None:
    for view in block:
        if isa(view.operation, StoreOp):
            view.operation.attributes[SELDOM] = ir.UnitAttr.get()


def is_half(access: ir.Operation) -> bool:
    """True if ``access`` is one of the two that :func:`branched` made."""
    around = access.parent.operation
    return isa(around, If) and ASKED in around.attributes


def narrowed(access: ir.Operation, condition: ir.Value) -> bool:
    """Add ``condition``, computed right before ``access``, to that of the branch that :func:`branched` made; False without one."""
    branch = access.parent.operation
    if not is_half(access):
        return False
    for view in list(access.block):
        if view.operation == access:
            break
        view.operation.move_before(branch)
    both = ir.Operation.create(
        "arith.andi", results=[condition.type], operands=[If(branch).condition, condition], loc=access.location,
        ip=ir.InsertionPoint(branch),
    )  # fmt: skip
    If(branch).condition = both.result
    access.attributes[ASKED] = ir.UnitAttr.get()
    return True


def _branch(access: ir.Operation, condition: ir.Value) -> tuple[ir.Operation, ir.Block, ir.Block]:
    """A branch before ``access``, with results as it has, and the two blocks, which are empty."""
    branch = ir.Operation.create(
        If.OPERATION_NAME,
        results=[r.type for r in access.results],
        operands=[condition],
        regions=2,
        loc=access.location,
        ip=ir.InsertionPoint(access),
    )
    inside, outside = (region.blocks.append() for region in branch.regions)
    return branch, inside, outside


def _yield(block: ir.Block, location: ir.Location, values: Sequence[ir.Value]) -> ir.Operation:
    point = ir.InsertionPoint(block)
    return ir.Operation.create("scf.yield", operands=list(values), loc=location, ip=point)
