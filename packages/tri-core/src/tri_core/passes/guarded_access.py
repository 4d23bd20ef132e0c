"""An access through a descriptor where a condition holds, and by pointers where it does not."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.mlir import ir
from tri_core.passes.descriptor_access import ACCESSES, Descriptor

__all__ = ["ASKED", "SELDOM", "branched", "guarded", "narrowed"]

#: the attribute of an access that is done only where its condition holds
ASKED = "tt.asked"
#: the attribute of a store by pointers that is done only where such a condition does not hold: what it costs matters little
SELDOM = "tt.seldom"


def guarded(access: ir.Operation, condition: ir.Value, descriptor: Descriptor) -> None:
    """Put ``access`` in a branch of an ``scf.if`` on ``condition`` (i1); the other does it through ``descriptor``.

    Unsupported for what pointers cannot do.
    """
    branch = ir.Operation.create(
        "scf.if",
        results=[r.type for r in access.results],
        operands=[condition],
        regions=2,
        loc=access.location,
        ip=ir.InsertionPoint(access),
    )
    for result, value in zip(access.results, branch.results, strict=True):
        result.replace_all_uses_with(value)
    inside, outside = (region.blocks.append() for region in branch.regions)
    copy = access.clone(ip=ir.InsertionPoint(outside)).operation
    access.attributes[ASKED] = ir.UnitAttr.get()
    access.move_before(_yield(inside, access.location, list(access.results)))
    values = ACCESSES[access.name](copy, descriptor)
    copy.erase()
    for view in outside:
        if view.operation.name == "tt.store":
            view.operation.attributes[SELDOM] = ir.UnitAttr.get()
    _yield(outside, access.location, values)


def branched(access: ir.Operation, condition: ir.Value) -> ir.Operation:
    """Put ``access``, which gives nothing, in the second branch of an ``scf.if`` on ``condition``; gives its copy in the first."""
    branch = ir.Operation.create(
        "scf.if", operands=[condition], regions=2, loc=access.location, ip=ir.InsertionPoint(access),
        attributes={ASKED: ir.UnitAttr.get()},
    )  # fmt: skip
    inside, outside = (region.blocks.append() for region in branch.regions)
    copy = access.clone(ip=ir.InsertionPoint(inside)).operation
    _yield(inside, access.location, [])
    access.move_before(_yield(outside, access.location, []))
    return copy


def narrowed(access: ir.Operation, condition: ir.Value) -> bool:
    """Add ``condition``, computed right before ``access``, to that of the ``scf.if`` that :func:`branched` made; False without one."""
    branch = access.parent.operation
    if branch.name != "scf.if" or ASKED not in branch.attributes:
        return False
    for view in list(access.block):
        if view.operation == access:
            break
        view.operation.move_before(branch)
    both = ir.Operation.create(
        "arith.andi", results=[condition.type], operands=[branch.operands[0], condition], loc=access.location,
        ip=ir.InsertionPoint(branch),
    )  # fmt: skip
    branch.operands[0] = both.result
    access.attributes[ASKED] = ir.UnitAttr.get()
    return True


def _yield(block: ir.Block, location: ir.Location, values: Sequence[ir.Value]) -> ir.Operation:
    point = ir.InsertionPoint(block)
    return ir.Operation.create("scf.yield", operands=list(values), loc=location, ip=point)
