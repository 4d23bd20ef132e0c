"""Dots go over k in slices where whole operands would fill the registers.

Operands that are loaded by elements are in registers as one instruction takes them; those that are loaded in blocks, or read out of
local memory, share what the sums leave: the driver's compiler moves loads up as far as it can, all those of a loop's body.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tri_backend_intel.dialect.encoding import Dpas
from tri_backend_intel.dialect.tiles import BY_ELEMENTS, coordinates, is_block_access, is_transposed
from tri_backend_intel.transforms.fold_tiles import maker_of
from tri_core.api import Pass, StageContext
from tri_core.ir.dots import Dot
from tri_core.ir.effects import READ_DESCRIBED, READ_GLOBAL, READ_SHARED, has_at_most
from tri_core.ir.regions import For
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.remarks import declined
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.analysis.pressure import registers_of
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import LocalLoadOp
from tri_gpu_dialect.edit import all_ops, constant, functions, make
from tri_gpu_dialect.types import shape_of, tensor_info, tensor_type

__all__ = ["MOST_REGISTERS", "SliceDots", "is_loaded_for"]

#: registers of the large register file, without those for addresses, numbers and what is computed
MOST_REGISTERS = 256 - 32
#: an odd number whose product with a loop's variable is nothing that compilers see through an exclusive or
_SPREAD = 0x2545F491


@dataclass(frozen=True)
class SliceDots(Pass):
    """A dot of what is loaded for it alone becomes several, a part of k each.

    Where both operands are loaded by elements a loop goes over k.  Else the dots stand one after the other, because it must be
    known which registers of an operand that was computed are a slice; ``most`` is how many of 32 bits a lane has for a dot's sum
    and for what is loaded in blocks or read, a slice for each of a body's dots.  Runs after :class:`VersionTiles` and
    :class:`PrefetchTiles`, or, without blocks, where operands are in local memory.
    """

    name: ClassVar[str] = "slice-dots"

    most: int = MOST_REGISTERS

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        for function in functions(module):
            dots = [_Dot.of(op) for op in all_ops(function) if op.name == "tt.dot"]
            sharing = [dot for dot in dots if dot is not None]
            counts = [sum(other.op.block == dot.op.block for other in sharing) for dot in sharing]
            for dot, count in zip(sharing, counts, strict=True):
                dot.slice((self.most - registers_of(dot.op.results[0])) // count)


@dataclass(frozen=True)
class _Dot:
    """A dot on the matrix unit, with the loads of its operands that are for it alone; ``depth``: of an instruction along k."""

    op: ir.Operation
    loads: tuple[ir.Operation | None, ir.Operation | None]
    depth: int

    @classmethod
    def of(cls, op: ir.Operation) -> _Dot | None:
        """None: nothing can be sliced."""
        encoding = encoding_of(op.results[0])
        left, right = (_own_load(v, op) for v in list(op.operands)[:2])
        if not isinstance(encoding, Dpas):
            return None
        if left is None and right is None:
            if shape_of(Dot(op).a.type)[1] > encoding.depth:
                declined(SliceDots.name, op, "the dot takes whole operands: neither is loaded for it alone")
            return None
        return cls(op, (left, right), encoding.depth)

    def slice(self, most: int) -> None:
        """Replace it by dots whose loads take ``most`` registers."""
        found = [load for load in self.loads if load is not None]
        by_elements = [BY_ELEMENTS in load.attributes for load in found]
        whole = shape_of(self.op.operands[0].type)[1]
        deep = self.depth if any(by_elements) else max(_fitting(found, whole, most), self.depth)
        if whole <= deep:
            return
        with ir.InsertionPoint(self.op), self.op.location:
            looped = len(found) == 2 and all(by_elements)
            made = _looped(self.op, found, deep) if looped else _unrolled(self.op, self.loads, deep)
        self.op.results[0].replace_all_uses_with(made)
        for op in (self.op, *found):
            op.erase()


def _fitting(loads: Sequence[ir.Operation], whole: int, most: int) -> int:
    """Size of the part of ``whole`` that fits ``most`` registers; 0 if accumulators leave none."""
    registers = sum(registers_of(op.results[0]) for op in loads)
    while whole and registers > most:
        registers, whole = registers // 2, whole // 2
    return whole


def _looped(dot: ir.Operation, loads: Sequence[ir.Operation], depth: int) -> ir.Value:
    """A loop over k.

    It carries the coordinates that stay what they are, each mixed with the loop's variable: compilers would else move what is
    made of them before the loop, address and test of every element, and fill the registers that the sums leave.
    """
    result = dot.results[0]
    bounds = [constant(32, n) for n in (0, shape_of(dot.operands[0].type)[1], depth)]
    still = [coordinates(load)[1 - _moved(load, 1 - i)] for i, load in enumerate(loads)]
    loop = ir.Operation.create(
        For.OPERATION_NAME,
        results=[result.type, *(v.type for v in still)],
        operands=[*bounds, dot.operands[2], *still],
        regions=1,
    )
    body = loop.regions[0].blocks.append(bounds[0].type, *(r.type for r in loop.results))
    with ir.InsertionPoint(body):
        at, total, *mixed = body.arguments
        still = [_mixed(v, at) for v in mixed]
        operands = [_part(load, 1 - i, at, depth, still[i]) for i, load in enumerate(loads)]
        after = make("arith.addi", [at, bounds[2]], at.type).results[0]
        kept = [_mixed(v, after) for v in still]
        ir.Operation.create("scf.yield", operands=[_multiplied(dot, operands, total), *kept])
    return loop.results[0]


def _mixed(value: ir.Value, at: ir.Value) -> ir.Value:
    """``value`` as no compiler knows it; mixed again with the same ``at`` it is ``value``."""
    spread = make("arith.muli", [at, constant(32, _SPREAD)], at.type).results[0]
    return make("arith.xori", [value, spread], at.type).results[0]


def _unrolled(dot: ir.Operation, loads: Sequence[ir.Operation | None], depth: int) -> ir.Value:
    """A dot after the other: which registers an operand's slice is must be known."""
    total = dot.operands[2]
    for k in range(0, shape_of(dot.operands[0].type)[1], depth):
        operands = [
            _registers(dot.operands[i], 1 - i, k, depth) if load is None else _piece(load, 1 - i, k, depth)
            for i, load in enumerate(loads)
        ]
        total = _multiplied(dot, operands, total)
    return total


def _piece(load: ir.Operation, k: int, at: int, depth: int) -> ir.Value:
    """``depth`` of ``load`` from ``at`` on, along dimension ``k`` of the result."""
    if not _is_read(load):
        return _part(load, k, constant(32, at) if at else None, depth)
    (buffer,) = load.operands
    view = _subslice(buffer, k, at, depth)
    return make(load.name, [view], _sliced(load.results[0], k, depth)).results[0]


def _subslice(view: ir.Value, k: int, at: int, depth: int) -> ir.Value:
    """``depth`` of buffer ``view`` from ``at`` on, along dimension ``k``."""
    whole = view.type
    shape = [depth if d == k else n for d, n in enumerate(whole.shape)]
    type_ = MemDescType.of(
        shape, whole.element_type, whole.encoding, mutable=whole.mutable, alloc_shape=whole.alloc_shape
    )
    offsets = ir.DenseI32ArrayAttr.get([at if d == k else 0 for d in range(len(shape))])
    return make("ttg.memdesc_subslice", [view], type_, offsets=offsets).results[0]


def _multiplied(dot: ir.Operation, operands: Sequence[ir.Value], total: ir.Value) -> ir.Value:
    attributes = {name: dot.attributes[name] for name in dot.attributes}
    return make("tt.dot", [*operands, total], dot.results[0].type, **attributes).results[0]


def _own_load(value: ir.Value, dot: ir.Operation) -> ir.Operation | None:
    """The load that made ``value`` for ``dot`` alone, with nothing written between the two."""
    op = maker_of(value)
    if op is None or not (is_block_access(op) or _is_read(op)):
        return None
    return op if len(list(value.uses)) == 1 and is_loaded_for(op, dot) else None


def is_loaded_for(load: ir.Operation, dot: ir.Operation) -> bool:
    """True if ``load``, whose only user is ``dot``, may be moved right before it: nothing is written between
    the two.
    """
    return load.block == dot.block and not _writes_between(load, dot)


def _is_read(op: ir.Operation) -> bool:
    """True if ``op`` reads a matrix out of local memory."""
    return isa(op, LocalLoadOp) and len(op.operands) == 1 and len(shape_of(op.results[0].type)) == 2


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


def _moved(load: ir.Operation, k: int) -> int:
    """The coordinate of ``load`` that goes along dimension ``k`` of the result."""
    return 1 - k if is_transposed(load) else k


def _part(
    load: ir.Operation, k: int, at: ir.Value | None, depth: int, other: ir.Value | None = None
) -> ir.Value:
    """``depth`` of ``load`` from ``at`` (None: the beginning) on, along dimension ``k`` of the result; ``other``: the other coordinate."""
    type_ = _sliced(load.results[0], k, depth)
    place, moved = coordinates(load), _moved(load, k)
    if other is not None:
        place[1 - moved] = other
    if at is not None:
        place[moved] = make("arith.addi", [place[moved], at], at.type).results[0]
    attributes = {name: load.attributes[name] for name in load.attributes}
    return make(load.name, [load.operands[0], *place], type_, **attributes).results[0]
