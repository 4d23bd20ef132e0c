"""Pointers that a loop moves by the same step in all elements stay where they are, plus an offset that the loop carries.

A buffer instruction adds a scalar register to every lane's offset, so such a step costs one scalar addition for a whole
tensor.  A scalar register is unsigned: a loop that steps back begins with the distance that it will go, which the
tensor outside of the loop is moved back by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tri_backend_amd.dialect.block import UNIFORM
from tri_backend_amd.lowering.small_arrays import is_small
from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import AddPtrOp, FuncOp, PointerType, SplatOp
from tri_core.ir.regions import For, loops_in
from tri_core.ir.traits import source_of
from tri_core.ir.views import defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_core.passes import loops
from tri_core.passes.origins import argument_of
from tri_core.passes.rewriting import constant, make, producer
from tri_core.remarks import declined
from tri_gpu_dialect.analysis.ranges import Ranges

__all__ = ["UniformOffsets"]

_WIDTH = 32


@dataclass(frozen=True)
class UniformOffsets(Pass):
    """Carries one i32 for every tensor of pointers into a small array that a loop moves as a whole.

    Arrays of any size keep their pointers: their offsets need more than 32 bits.  Pointers that a loop moves may nowhere be 2 GiB or
    more from their array.
    """

    name: ClassVar[str] = "amdg-uniform-offsets"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite every loop."""
        for loop in loops_in(module.operation):
            steps = {}
            for number in range(len(loops.carried(loop))):
                found = _steps(loop, number)
                if isinstance(found, list):
                    steps[number] = found
                elif found is not None:
                    text = "each pointer is moved by itself in every iteration: {}"
                    declined(self.name, loop, text, found)
            if steps:
                _carry_offsets(loop, steps)


def _steps(loop: ir.Operation, number: int) -> list[ir.Value] | str | None:
    """The scalars that carried value ``number`` is moved by in an iteration, or why it stays a tensor; None where it is something else."""
    start, moved = loops.carried(loop)[number], loops.body(loop).arguments[1 + number]
    if not isinstance(start.type, ir.RankedTensorType) or not isinstance(
        start.type.element_type, PointerType
    ):
        return None
    if loops.yielded(loop).operands[number] == moved:
        return None
    root = argument_of(start)
    if root is None or not is_small(root):
        return "the array is not known to be below 2 GiB"
    if _bits(For(loop).lower.type) != _WIDTH:
        return "the loop counts in 64 bits"
    found: list[ir.Value] = []
    value = loops.yielded(loop).operands[number]
    while value != moved:
        moved_by = defining_op(value, AddPtrOp)
        step = _same_in_all(moved_by.offset, loop) if moved_by is not None else None
        if moved_by is None or step is None:
            return "their step is not the same for all elements, in 32 bits, and known before the loop"
        found.append(step)
        value = moved_by.ptr
    return found or None


def _bits(type_: ir.Type) -> int:
    return type_.width if isinstance(type_, ir.IntegerType) else 0


def _same_in_all(offset: ir.Value, loop: ir.Operation) -> ir.Value | None:
    """The i32 from outside of ``loop`` that all elements of ``offset`` are."""
    op = producer(offset)
    if op is None or _bits(offset.type.element_type) != _WIDTH:
        return None
    if isa(op, SplatOp):
        scalar = source_of(op)
        return scalar if _is_outside(scalar, loop) else None
    attribute = op.attributes["value"].maybe_downcast() if isa(op, arith.ConstantOp) else None
    if not isinstance(attribute, ir.DenseElementsAttr) or not attribute.is_splat:
        return None
    return constant(loop, attribute.get_splat_value().maybe_downcast())


def _is_outside(value: ir.Value, loop: ir.Operation) -> bool:
    block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
    while block != loops.body(loop):
        parent = block.owner.operation
        if isa(parent, FuncOp):
            return True
        block = parent.block
    return False


def _carry_offsets(loop: ir.Operation, steps: dict[int, list[ir.Value]]) -> None:
    """Replace ``loop`` by one that carries offsets for the values with ``steps``."""
    moves = {number: _Move.of(loop, number, found) for number, found in steps.items()}
    initial = [
        moves[number].start if number in moves else value for number, value in enumerate(loops.carried(loop))
    ]
    made = loops.make_loop(loop, list(loop.operands)[:3], initial)
    block = loops.body(made)
    with ir.InsertionPoint(block), loop.location:
        end = ir.Operation.create("scf.yield", operands=[])
    variable, *inner = block.arguments
    pointers = [moves[i].at(end, v) if i in moves else v for i, v in enumerate(inner)]
    given = loops.copy_body(loop, [variable, *pointers], ir.InsertionPoint(end))
    for number, move in moves.items():
        given[number] = move.next(end, inner[number])
    with ir.InsertionPoint(end), loop.location:
        ir.Operation.create("scf.yield", operands=given)
    end.erase()
    for number, (old, new) in enumerate(zip(loop.results, made.results, strict=True)):
        if any(True for _ in old.uses):
            old.replace_all_uses_with(moves[number].after(loop, new) if number in moves else new)
    loop.erase()


@dataclass(frozen=True)
class _Move:
    """``tensor`` is moved by an offset that is ``start`` at first and gets ``steps`` in every iteration.

    ``forward``: whether these are known not to be negative.
    """

    tensor: ir.Value
    start: ir.Value
    steps: Sequence[ir.Value]
    forward: bool

    @classmethod
    def of(cls, loop: ir.Operation, number: int, steps: Sequence[ir.Value]) -> _Move:
        tensor, ranges = loops.carried(loop)[number], Ranges()
        zero = _number(loop, 0)
        if all(ranges.of(step).low >= 0 for step in steps):
            return cls(tensor, zero, steps, forward=True)
        i32 = steps[0].type
        step = steps[0]
        for more in steps[1:]:
            step = make(loop, "arith.addi", i32, [step, more])
        # the way from the first iteration to the last: what the last one adds is for nobody
        behind = make(loop, "arith.subi", i32, [loops.trips(loop), _number(loop, 1)])
        behind = make(loop, "arith.maxsi", i32, [behind, zero])
        back = make(loop, "arith.maxsi", i32, [make(loop, "arith.subi", i32, [zero, step]), zero])
        way = make(loop, "arith.muli", i32, [behind, back])
        away = _splat(loop, make(loop, "arith.subi", i32, [zero, way]), tensor)
        return cls(make(loop, "tt.addptr", tensor.type, [tensor, away]), way, steps, forward=False)

    def at(self, place: ir.Operation, offset: ir.Value) -> ir.Value:
        """The pointers of an iteration.  Beyond the last one (loads ahead of time, masked off) no step leads below 0."""
        if not self.forward:
            offset = make(place, "arith.maxsi", offset.type, [offset, _number(place, 0)])
        attributes = {UNIFORM: ir.UnitAttr.get()}
        return make(
            place,
            "tt.addptr",
            self.tensor.type,
            [self.tensor, _splat(place, offset, self.tensor)],
            attributes,
        )

    def next(self, place: ir.Operation, offset: ir.Value) -> ir.Value:
        """The next iteration's offset."""
        for step in self.steps:
            offset = make(place, "arith.addi", offset.type, [offset, step])
        return offset

    def after(self, place: ir.Operation, offset: ir.Value) -> ir.Value:
        """The pointers behind the loop."""
        return make(place, "tt.addptr", self.tensor.type, [self.tensor, _splat(place, offset, self.tensor)])


def _number(at: ir.Operation, value: int) -> ir.Value:
    return constant(at, ir.IntegerAttr.get(ir.IntegerType.get_signless(_WIDTH), value))


def _splat(at: ir.Operation, scalar: ir.Value, like: ir.Value) -> ir.Value:
    """``scalar`` in the shape and layout of ``like``."""
    type_ = ir.RankedTensorType(like.type)
    return make(at, "tt.splat", ir.RankedTensorType.get(type_.shape, scalar.type, type_.encoding), [scalar])
