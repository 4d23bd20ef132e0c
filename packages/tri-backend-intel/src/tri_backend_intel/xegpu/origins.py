"""Which dot an access of a block belongs to: its layouts are the access's."""

from __future__ import annotations

from tri_backend_intel.transforms.fold_tiles import maker_of
from tri_backend_intel.xegpu.layouts import refusal
from tri_core.ir.regions import edges_of, is_control
from tri_core.ir.traits import is_elementwise
from tri_core.mlir import ir

__all__ = ["dot_of_operand", "dot_of_result", "stores_of"]

#: how many values are looked at between a dot and a store
_HORIZON = 256


def dot_of_operand(load: ir.Operation) -> tuple[ir.Operation, int, bool]:
    """The dot that ``load`` gives an operand, which one, and whether that is transposed."""
    for use in load.results[0].uses:
        op, number, transposed = use.owner.operation, use.operand_number, False
        if op.name == "tt.trans":
            inner = next(iter(op.results[0].uses), None)
            if inner is None:
                continue
            op, number, transposed = inner.owner.operation, inner.operand_number, True
        if op.name == "tt.dot" and number < 2:
            return op, number, transposed
    raise refusal(load, "what it loads is no operand of a dot")


def stores_of(load: ir.Operation) -> list[ir.Operation]:
    """Where what ``load`` gives is stored, after elementwise ops."""
    ahead, seen, found = [load.results[0]], set[ir.Value](), []
    while ahead and len(seen) < _HORIZON:
        value = ahead.pop(0)
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            op = use.owner.operation
            if op.name in ("tt.store", "ttig.tile_store"):
                found.append(op)
            elif is_elementwise(op):
                ahead += op.results
    return found


def dot_of_result(store: ir.Operation) -> ir.Operation:
    """The dot whose result is stored, after elementwise ops."""
    ahead, seen = [store.operands[1]], set[ir.Value]()
    while ahead and len(seen) < _HORIZON:
        value = ahead.pop(0)
        op = maker_of(value)
        if value in seen or op is None:
            continue
        seen.add(value)
        if op.name == "tt.dot":
            return op
        if is_control(op):
            number = ir.OpResult(value).result_number
            edges = (edge.value(number) for edge in edges_of(op) if edge.leads_to(None))
            ahead += [v for v in edges if v is not None]
        else:
            ahead += op.operands
    raise refusal(store, "what it stores is not made of a dot")
