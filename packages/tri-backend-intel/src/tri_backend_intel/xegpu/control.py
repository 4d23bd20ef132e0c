"""Loops and branches: what goes along their edges goes as pieces."""

from __future__ import annotations

from dataclasses import replace

from tri_backend_intel.xegpu.conversion import Conversion, Known, Pieces, flattened, is_pointers
from tri_backend_intel.xegpu.layouts import refusal
from tri_core.ir.regions import For, edges_of
from tri_core.ir.views import isa
from tri_core.mlir import ir

__all__ = ["control"]


def control(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """A loop or branch, region by region."""
    attributes = {name: op.attributes[name] for name in op.attributes if not name.startswith("tt.")}
    made = ir.Operation.create(
        op.name, results=[t for r in op.results for t in ctx.types_of(r)],
        operands=list(flattened([ctx.known[v] for v in op.operands])),
        attributes=attributes, regions=len(op.regions),
    )  # fmt: skip
    bases: dict[ir.Value, ir.Value] = {}
    _follow(ctx, op, op, bases, made)
    for source, region in zip(op.regions, made.regions, strict=True):
        for block in source.blocks:
            into = region.blocks.append(*(t for a in block.arguments for t in ctx.types_of(a)))
            ctx.known.update(
                zip(
                    block.arguments,
                    _joined(ctx, list(block.arguments), list(into.arguments), bases),
                    strict=True,
                )
            )
            last = list(block.operations)[-1].operation
            with ir.InsertionPoint(into):
                handed = _laid(ctx, op, ctx.block(block))
                ir.Operation.create(last.name, operands=list(flattened(handed)))
            _follow(ctx, op, last, bases, made)
    return _joined(ctx, list(op.results), list(made.results), bases)


def _laid(ctx: Conversion, op: ir.Operation, handed: list[Known]) -> list[Known]:
    """Values around a loop without later uses, with explicit layouts: upstream finds layouts by going back
    from uses.
    """
    if not isa(op, For):
        return handed
    found = []
    for known, result in zip(handed, op.results, strict=True):
        if (
            isinstance(known, Pieces)
            and known.share.along is not None
            and next(iter(result.uses), None) is None
        ):
            rows = known.share.across is not None
            known = replace(known, values=tuple(ctx.pinned(v, rows=rows) for v in known.values))
        found.append(known)
    return found


def _joined(
    ctx: Conversion, values: list[ir.Value], parts: list[ir.Value], bases: dict[ir.Value, ir.Value]
) -> list[Known]:
    """``parts`` as what ``values`` of the source became."""
    found: list[Known] = []
    for value in values:
        if not isinstance(value.type, ir.RankedTensorType):
            found.append(parts.pop(0))
            continue
        count = len(ctx.types_of(value))
        own, parts = parts[:count], parts[count:]
        made = ctx.tensor(value, own)
        found.append(replace(made, base=bases.get(value)) if isinstance(made, Pieces) else made)
    return found


def _follow(
    ctx: Conversion,
    op: ir.Operation,
    source: ir.Operation,
    bases: dict[ir.Value, ir.Value],
    made: ir.Operation,
) -> None:
    """Propagate base addresses of tensors of pointers along the edges from ``source``: one address each,
    known before ``op``.
    """
    for edge in edges_of(op):
        if edge.source != source:
            continue
        for value, target in zip(edge.values, edge.targets, strict=True):
            if not is_pointers(value.type) or not ctx.has_pieces(value):
                continue
            base = ctx.pieces_of(value).base
            assert base is not None
            if bases.setdefault(target, base) != base:
                raise refusal(op, "pointers from different addresses go through it")
            if _is_inside(base, made):
                raise refusal(op, "pointers from an address that is made inside of it leave it")


def _is_inside(value: ir.Value, op: ir.Operation) -> bool:
    block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
    at: ir.Operation | None = block.owner.operation
    while at is not None and at.name != "gpu.func":
        if at == op:
            return True
        at = at.parent.operation if at.parent is not None else None
    return False
