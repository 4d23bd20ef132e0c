"""An access through a descriptor where a condition holds, and by pointers where it does not."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.mlir import ir
from tri_core.passes.descriptor_access import ACCESSES, Descriptor

__all__ = ["ASKED", "SELDOM", "guarded"]

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


def _yield(block: ir.Block, location: ir.Location, values: Sequence[ir.Value]) -> ir.Operation:
    point = ir.InsertionPoint(block)
    return ir.Operation.create("scf.yield", operands=list(values), loc=location, ip=point)
