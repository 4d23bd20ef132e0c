"""Dots go over k in slices where whole operands would fill the registers.

An operand that is loaded by elements is in registers as one instruction takes it, one that is loaded in blocks up to a quarter of
the registers: the driver's compiler moves loads up as far as it can, and the rest of the registers is what is computed meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tri_backend_intel.dialect.encoding import Dpas
from tri_backend_intel.dialect.tiles import BY_ELEMENTS, coordinates, is_block_access, is_transposed
from tri_backend_intel.transforms.fold_tiles import maker_of
from tri_core.api import Pass, StageContext
from tri_core.ir.effects import READ_DESCRIBED, READ_GLOBAL, READ_SHARED, has_at_most
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.async_units.analysis.dot_stages import registers_of
from tri_gpu_dialect.edit import all_ops, constant, functions, make
from tri_gpu_dialect.types import shape_of, tensor_info, tensor_type

__all__ = ["SliceDots"]

#: a quarter of the registers of the large register file
_MOST = 64


@dataclass(frozen=True)
class SliceDots(Pass):
    """A dot of what is loaded for it alone becomes several, a part of k each.

    Where both operands are loaded by elements a loop goes over k.  Else the dots stand one after the other, because it must be
    known which registers of an operand that was computed are a slice; ``most`` is how many of 32 bits a lane has for an operand
    that is loaded in blocks.  Runs after :class:`VersionTiles` and :class:`PrefetchTiles`.
    """

    name: ClassVar[str] = "slice-dots"

    most: int = _MOST

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        for function in functions(module):
            for op in all_ops(function):
                encoding = encoding_of(op.results[0]) if op.name == "tt.dot" else None
                if isinstance(encoding, Dpas):
                    self._slice(op, encoding.depth)

    def _slice(self, dot: ir.Operation, depth: int) -> None:
        loads = [_own_load(v, dot) for v in list(dot.operands)[:2]]
        found = [op for op in loads if op is not None]
        whole = shape_of(dot.operands[0].type)[1]
        by_elements = [BY_ELEMENTS in op.attributes for op in found]
        deep = depth if any(by_elements) else max(self._depth(found, whole), depth)
        if not found or whole <= deep:
            return
        with ir.InsertionPoint(dot), dot.location:
            looped = len(found) == 2 and all(by_elements)
            made = _looped(dot, found, deep) if looped else _unrolled(dot, loads, deep)
        dot.results[0].replace_all_uses_with(made)
        for op in (dot, *found):
            op.erase()

    def _depth(self, loads: Sequence[ir.Operation], whole: int) -> int:
        """Of slices of ``whole`` that take few enough registers."""
        most = max((registers_of(op.results[0]) for op in loads), default=0)
        while most > self.most:
            most, whole = most // 2, whole // 2
        return whole


def _looped(dot: ir.Operation, loads: Sequence[ir.Operation], depth: int) -> ir.Value:
    """A loop over k."""
    result = dot.results[0]
    bounds = [constant(32, n) for n in (0, shape_of(dot.operands[0].type)[1], depth)]
    loop = ir.Operation.create(
        "scf.for", results=[result.type], operands=[*bounds, dot.operands[2]], regions=1
    )
    body = loop.regions[0].blocks.append(bounds[0].type, result.type)
    with ir.InsertionPoint(body):
        at, total = body.arguments
        operands = [_part(load, 1 - i, at, depth) for i, load in enumerate(loads)]
        ir.Operation.create("scf.yield", operands=[_multiplied(dot, operands, total)])
    return loop.results[0]


def _unrolled(dot: ir.Operation, loads: Sequence[ir.Operation | None], depth: int) -> ir.Value:
    """A dot after the other: which registers an operand's slice is must be known."""
    total = dot.operands[2]
    for k in range(0, shape_of(dot.operands[0].type)[1], depth):
        operands = [
            _registers(dot.operands[i], 1 - i, k, depth)
            if load is None
            else _part(load, 1 - i, constant(32, k) if k else None, depth)
            for i, load in enumerate(loads)
        ]
        total = _multiplied(dot, operands, total)
    return total


def _multiplied(dot: ir.Operation, operands: Sequence[ir.Value], total: ir.Value) -> ir.Value:
    attributes = {name: dot.attributes[name] for name in dot.attributes}
    return make("tt.dot", [*operands, total], dot.results[0].type, **attributes).results[0]


def _own_load(value: ir.Value, dot: ir.Operation) -> ir.Operation | None:
    """The load that made ``value`` for ``dot`` alone, with nothing written between the two."""
    op = maker_of(value)
    if op is None or not is_block_access(op) or op.block != dot.block:
        return None
    return op if len(list(value.uses)) == 1 and not _writes_between(op, dot) else None


def _writes_between(first: ir.Operation, last: ir.Operation) -> bool:
    ops = [view.operation for view in first.block.operations]
    between = ops[ops.index(first) + 1 : ops.index(last)]
    return not all(has_at_most(op, READ_DESCRIBED, READ_GLOBAL, READ_SHARED) for op in between)


def _sliced(value: ir.Value, k: int, depth: int) -> ir.Type:
    """The type of ``depth`` of ``value`` along dimension ``k``."""
    info = tensor_info(value.type)
    assert info is not None
    shape = tuple(depth if d == k else n for d, n in enumerate(info.shape))
    return tensor_type(shape, info.element_type, encoding_of(value))


def _registers(value: ir.Value, k: int, at: int, depth: int) -> ir.Value:
    """``depth`` of ``value`` from ``at`` on, along dimension ``k``."""
    offsets = ir.DenseI32ArrayAttr.get([at if d == k else 0 for d in range(2)])
    return make("ttig.register_slice", [value], _sliced(value, k, depth), offsets=offsets).results[0]


def _part(load: ir.Operation, k: int, at: ir.Value | None, depth: int) -> ir.Value:
    """``depth`` of ``load`` from ``at`` (None: the beginning) on, along dimension ``k`` of the result."""
    place = coordinates(load)
    moved = 1 - k if is_transposed(load) else k
    if at is not None:
        place[moved] = make("arith.addi", [place[moved], at], at.type).results[0]
    attributes = {name: load.attributes[name] for name in load.attributes}
    type_ = _sliced(load.results[0], k, depth)
    return make(load.name, [load.operands[0], *place], type_, **attributes).results[0]
