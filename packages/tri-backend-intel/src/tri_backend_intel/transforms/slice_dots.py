"""Dots of operands that are loaded by elements go over k in slices, so that no more of them is in registers than one instruction takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tri_backend_intel.dialect.encoding import Dpas
from tri_backend_intel.dialect.tiles import BY_ELEMENTS, coordinates, is_block_access, is_transposed
from tri_backend_intel.transforms.fold_tiles import maker_of
from tri_core.api import Pass, StageContext
from tri_core.ir.traits import is_pure
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.edit import all_ops, constant, functions, make
from tri_gpu_dialect.types import shape_of, tensor_info, tensor_type

__all__ = ["SliceDots"]


@dataclass(frozen=True)
class SliceDots(Pass):
    """``dot(tile_load, tile_load, c)``, both by elements and for the dot alone, becomes a loop of dots as deep as an instruction.

    Runs after :class:`VersionTiles`.
    """

    name: ClassVar[str] = "slice-dots"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        for function in functions(module):
            for op in all_ops(function):
                encoding = encoding_of(op.results[0]) if op.name == "tt.dot" else None
                if isinstance(encoding, Dpas):
                    _slice(op, encoding.depth)


def _slice(dot: ir.Operation, depth: int) -> None:
    left, right = (_own_load(v, dot) for v in list(dot.operands)[:2])
    whole = shape_of(dot.operands[0].type)[1]
    if left is None or right is None or whole <= depth:
        return
    result = dot.results[0]
    with ir.InsertionPoint(dot), dot.location:
        bounds = [constant(32, n) for n in (0, whole, depth)]
        loop = ir.Operation.create(
            "scf.for", results=[result.type], operands=[*bounds, dot.operands[2]], regions=1
        )
        body = loop.regions[0].blocks.append(bounds[0].type, result.type)
        with ir.InsertionPoint(body):
            at, total = body.arguments
            operands = [_part(load, k, at, depth) for load, k in ((left, 1), (right, 0))]
            attributes = {name: dot.attributes[name] for name in dot.attributes}
            made = make("tt.dot", [*operands, total], result.type, **attributes)
            ir.Operation.create("scf.yield", operands=list(made.results))
    result.replace_all_uses_with(loop.results[0])
    for op in dict.fromkeys((dot, left, right)):
        op.erase()


def _own_load(value: ir.Value, dot: ir.Operation) -> ir.Operation | None:
    """The load by elements that made ``value`` for ``dot`` alone, with nothing written between the two."""
    op = maker_of(value)
    if op is None or not is_block_access(op) or BY_ELEMENTS not in op.attributes or op.block != dot.block:
        return None
    return op if len(list(value.uses)) == 1 and not _writes_between(op, dot) else None


def _writes_between(first: ir.Operation, last: ir.Operation) -> bool:
    ops = [view.operation for view in first.block.operations]
    return any(
        not (is_pure(op) or (is_block_access(op) and len(op.results)))
        for op in ops[ops.index(first) + 1 : ops.index(last)]
    )


def _part(load: ir.Operation, k: int, at: ir.Value, depth: int) -> ir.Value:
    """``depth`` of ``load`` from ``at`` on, along dimension ``k`` of the result."""
    info = tensor_info(load.results[0].type)
    assert info is not None
    shape = tuple(depth if d == k else n for d, n in enumerate(info.shape))
    place = coordinates(load)
    moved = 1 - k if is_transposed(load) else k
    place[moved] = make("arith.addi", [place[moved], at], at.type).results[0]
    attributes = {name: load.attributes[name] for name in load.attributes}
    type_ = tensor_type(shape, info.element_type, encoding_of(load.results[0]))
    return make(load.name, [load.operands[0], *place], type_, **attributes).results[0]
