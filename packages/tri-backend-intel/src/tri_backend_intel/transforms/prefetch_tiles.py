"""Blocks that loops load are brought into the cache some iterations ahead."""

from __future__ import annotations

import math
from typing import ClassVar

from tri_backend_intel.dialect.tiles import BY_ELEMENTS, coordinates, is_block_access
from tri_backend_intel.transforms.fold_tiles import maker_of
from tri_core.api import Pass, StageContext
from tri_core.ir.regions import loops_in
from tri_core.ir.traits import is_pure
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.remarks import declined
from tri_gpu_dialect.edit import constant, functions, make
from tri_gpu_dialect.types import shape_of

__all__ = ["PrefetchTiles"]

#: cycles from memory, and multiply-adds of 16 bits in a cycle of a core whose 8 engines do DPAS
_LATENCY, _PER_CYCLE = 600, 8 * 256
#: iterations ahead, at least and at most
_NEAR, _FAR = 1, 4


@dataclass(frozen=True)
class PrefetchTiles(Pass):
    """A ``ttig.tile_prefetch`` for each block load of a loop, as many iterations ahead as memory takes, the first ones before the loop.

    ``distance``: iterations; 0: by what the loop's dots take.  Runs after :class:`VersionTiles`.
    """

    name: ClassVar[str] = "prefetch-tiles"

    distance: int = 0

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        for function in functions(module):
            for loop in loops_in(function):
                body = loop.regions[0].blocks[0]
                for view in list(body.operations):
                    op = view.operation
                    if is_block_access(op) and len(op.results) and BY_ELEMENTS not in op.attributes:
                        _prefetch(op, loop, self.distance or _distance(body))


def _distance(body: ir.Block) -> int:
    """Iterations that take as long as a load from memory."""
    work = 0
    for view in body.operations:
        if view.operation.name == "tt.dot":
            left, right = (shape_of(v.type) for v in list(view.operation.operands)[:2])
            work += math.prod(left) * right[-1]
    return min(max(math.ceil(_LATENCY * _PER_CYCLE / work), _NEAR), _FAR) if work else _NEAR


def _prefetch(load: ir.Operation, loop: ir.Operation, distance: int) -> None:
    body = loop.regions[0].blocks[0]
    made_by = _slice(coordinates(load), body)
    if made_by is None:
        why = "its place is not made of the loop's variable alone"
        declined(
            PrefetchTiles.name, load, "the block is not brought to the cache before it is loaded: {}", why
        )
        return
    index = body.arguments[0]
    lower, _, step = list(loop.operands)[:3]
    for ahead in range(distance):
        with ir.InsertionPoint(loop), load.location:
            _at(load, made_by, index, _later(lower, step, ahead))
    with ir.InsertionPoint(load), load.location:
        _at(load, made_by, index, _later(index, step, distance))


def _at(load: ir.Operation, made_by: list[ir.Operation], index: ir.Value, value: ir.Value) -> None:
    """Prefetch what ``load`` reads when the loop's variable ``index`` is ``value``."""
    known = {index: value}
    for op in made_by:
        copy = op.clone().operation
        for i, operand in enumerate(op.operands):
            copy.operands[i] = known.get(operand, operand)
        known.update(zip(op.results, copy.results, strict=True))
    place = [known.get(c, c) for c in coordinates(load)]
    make("ttig.tile_prefetch", [load.operands[0], *place])


def _later(value: ir.Value, step: ir.Value, count: int) -> ir.Value:
    if not count:
        return value
    distance = make("arith.muli", [step, constant(value.type.width, count)], value.type).results[0]
    return make("arith.addi", [value, distance], value.type).results[0]


def _slice(values: list[ir.Value], body: ir.Block) -> list[ir.Operation] | None:
    """The ops of ``body`` that make ``values`` of its variable and of what is outside; None: they need more."""
    found: list[ir.Operation] = []
    seen: set[ir.Operation] = set()

    def visit(value: ir.Value) -> bool:
        op = maker_of(value)
        if op is None:
            return value.owner != body or value == body.arguments[0]
        if op.block != body or op in seen:
            return True
        seen.add(op)
        if not is_pure(op) or len(op.regions) or not all(map(visit, op.operands)):
            return False
        found.append(op)
        return True

    return found if all(map(visit, values)) else None
