"""Computes values at a place of a nest: the fusion of elementwise ops happens here.

:meth:`Evaluator.lanes` follows a value to the ops that define it, down to what is stored, loaded or
generated, and creates every op once per place, as far out of the loops as its operands allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tri_backend_cpu.analysis.demand import is_inline_reshape, operand_maps
from tri_backend_cpu.analysis.depth import STRETCH
from tri_backend_cpu.analysis.plan import View
from tri_backend_cpu.builder import I1
from tri_backend_cpu.lower import memory
from tri_backend_cpu.lower.casts import compute_type, narrow, widen
from tri_backend_cpu.lower.context import Context
from tri_backend_cpu.lower.division import Divisor, divide
from tri_backend_cpu.lower.elementwise import ELEMENTWISE, lower_constant, lower_elementwise
from tri_backend_cpu.lower.frame import Frame
from tri_backend_cpu.lower.place import ZERO, Address, Lanes, Place
from tri_backend_cpu.lower.regions import apply_region
from tri_core.api import Unsupported, located
from tri_core.mlir import ir
from tri_core.ttir import Op, Value, constant_of

__all__ = ["Evaluator"]


class Evaluator:
    """Values of one nest.

    ``fresh`` are those that the nest itself writes, so they are not read; ``assumed`` are masks (with their
    places but for the offset along the vectors) that are known to be true in the loop over vectors up to
    index ``split``, which is computed at the level outside of it.
    """

    def __init__(
        self,
        context: Context,
        frame: Frame,
        fresh: frozenset[Value] = frozenset(),
        assumed: frozenset[tuple[Value, Place]] = frozenset(),
        split: Lanes | None = None,
    ) -> None:
        self.context = context
        self.frame = frame
        self.fresh = fresh
        self._assumed = assumed
        self._split = split
        self.plan = context.plan
        self.axis = context.axis
        self.moved: Mapping[Value, ir.Value] = context.moved
        self._divisors: dict[ir.Value, Divisor] = {}
        self._known: dict[tuple[Value, Place], Lanes] = {}
        self._climbing = False
        self._addresses: dict[tuple[Value, Place], Address] = {}

    def lanes(self, value: Value, place: Place) -> Lanes:
        """``value`` at ``place``."""
        if not value.is_tensor:
            return Lanes(self.scalar(value), 0, wide=False)
        key = (value, place)
        found = self._known.get(key)
        if found is None:
            if self.plan.depth.get(value, 0) > STRETCH and not self._climbing:
                self._climb(value, place)
            found = self._known[key] = self._compute(value, place)
        return found

    def _climb(self, value: Value, place: Place) -> None:
        """Compute what a deep value is made of from the bottom, so that recursion never goes far."""
        waiting, seen, landings = [(value, place)], set(), []
        while waiting:
            point = waiting.pop()
            op = point[0].op
            if op is None or point in seen or point in self._known or self.is_stored(point[0]):
                continue
            seen.add(point)
            if self.plan.depth[point[0]] % (STRETCH // 2) == 0:
                landings.append((op.order, point))
            waiting.extend(self.operands_at(op, point[1]))
        self._climbing = True
        for _, point in sorted(landings, key=lambda landing: landing[0]):
            self.lanes(*point)
        self._climbing = False

    def address(self, pointer: Value, place: Place) -> Address:
        """Address of ``pointer`` at ``place``."""
        key = (pointer, place)
        found = self._addresses.get(key)
        if found is None:
            if self.plan.depth.get(pointer, 0) > STRETCH and not self._climbing:
                self._climb(pointer, place)
            found = self._addresses[key] = memory.address(self, pointer, place)
        return found

    def scalar(self, value: Value) -> ir.Value:
        """The SSA value of a scalar."""
        return self.context.scalars[value]

    def is_stored(self, value: Value) -> bool:
        """True if ``value`` is read from the buffer to which an earlier step wrote it."""
        return value in self.plan.views and value not in self.fresh

    def mask(self, mask: Value | None, place: Place) -> Lanes | None:
        """``mask`` at ``place``; None when it is true everywhere."""
        if mask is None or constant_of(mask) is True or self.is_assumed(mask, place):
            return None
        return self.lanes(mask, place)

    def mask_outside(self, mask: Value | None, place: Place, level: int) -> Lanes | None:
        """:meth:`mask` for an op at ``level``: outside of the loop where a mask is true, whether that loop runs."""
        if (
            mask is None
            or self._split is None
            or level > self._split.level
            or not self.is_assumed(mask, place)
        ):
            return self.mask(mask, place)
        with self.frame.at(self._split.level) as b:
            runs = b.cmp("sgt", self._split.value, b.i64(0))
        return Lanes(runs, self._split.level, wide=False)

    def is_assumed(self, value: Value, place: Place) -> bool:
        """True if ``value`` is a mask that is known to be true in this loop."""
        return bool(self._assumed) and (value, place.start()) in self._assumed

    def wide(self, value: Value, place: Place) -> ir.Value:
        """``value`` at ``place``, as a vector even if its lanes are equal."""
        return self.frame.widen(self.lanes(value, place))

    # --- the kinds of values -----------------------------------------------------------------------------

    def _compute(self, value: Value, place: Place) -> Lanes:
        if self.is_assumed(value, place):
            return Lanes(self.frame.b.constant(1, I1), 0, wide=False)
        self.frame.b.location = value.op.location if value.op is not None else self.frame.b.location
        if self.is_stored(value):
            return self.read(self.plan.views[value], place)
        if value in self.plan.inductions or value.dtype.is_pointer:
            return self._moving(value, place)
        if value.op is None:
            return self.read(self.plan.carried[value], place)
        if place.lane is not None and value.dtype.is_int:
            found = self._run(value, place, place.lane)
            if found is not None:
                return found
        return self.by_op(value, value.op, place)

    def _run(self, value: Value, place: Place, lane: int) -> Lanes | None:
        """Integers whose lanes are equal or consecutive: computed once per vector."""
        axis, width = self.axis(value), self.frame.width
        if axis.constancy[lane] >= width:
            return self.lanes(value, place.first())
        if axis.contiguity[lane] < width:
            return None
        first = self.lanes(value, place.first())
        vector = self.frame.widen(first)
        with self.frame.at(first.level) as b:
            return Lanes(b.same("arith.addi", vector, b.iota(value.dtype, width)), first.level, wide=True)

    def by_op(self, value: Value, op: Op, place: Place) -> Lanes:
        """``value`` by the rule of the op that defines it."""
        rule = _RULES.get(op.name)
        if rule is not None:
            return rule(self, op, place)
        if op.name in ELEMENTWISE:
            return self.apply(op, [self.lanes(v, place) for v in op.operands])
        if op.name == "tt.map_elementwise":
            return self._mapped(value, op, place)
        if op.name == "tt.split":
            return self._half(value, op, place)
        raise located(Unsupported, op.location, f"the CPU backend cannot compute {op.name} on tensors")

    def apply(self, op: Op, operands: list[Lanes]) -> Lanes:
        """Elementwise ``op`` on ``operands``, of which some may be uniform."""
        if op.name == "arith.divf" and operands[0].wide and not operands[1].wide:
            return self._divided(op, *operands)
        wide = any(o.wide for o in operands)
        values = [self.frame.widen(o) if wide else o.value for o in operands]
        level = max((o.level for o in operands), default=0)
        with self.frame.at(level) as b:
            b.location = op.location
            return Lanes(lower_elementwise(b, op, values), level, wide)

    def _divided(self, op: Op, x: Lanes, divisor: Lanes) -> Lanes:
        """Many numbers divided by one that is the same in all lanes."""
        dtype = op.result.dtype
        known = self._divisors.get(divisor.value)
        if known is None:
            with self.frame.at(divisor.level) as b:
                known = Divisor(b, widen(b, divisor.value, dtype), compute_type(dtype))
            self._divisors[divisor.value] = known
        level = max(x.level, divisor.level)
        with self.frame.at(level) as b:
            quotient = divide(b, widen(b, x.value, dtype), known)
            return Lanes(narrow(b, quotient, dtype) if dtype.bits < 32 else quotient, level, wide=True)

    def _mapped(self, value: Value, op: Op, place: Place) -> Lanes:
        operands = [self.lanes(v, place) for v in op.operands]
        wide = any(o.wide for o in operands)
        level = max(o.level for o in operands)
        values = [self.frame.widen(o) if wide else o.value for o in operands]
        with self.frame.at(level) as b:
            results = apply_region(b, op.blocks[0], values, self.context.scalars)
        for result, made in zip(op.results, results, strict=True):
            self._known[result, place] = Lanes(made, level, wide)
        return self._known[value, place]

    def _half(self, value: Value, op: Op, place: Place) -> Lanes:
        whole = self.plan.views[op.operands[0]]
        view = View(
            whole.buffer, value.shape, whole.strides[:-1], value.index * whole.strides[-1] + whole.offset
        )
        return self.read(view, place)

    def _moving(self, value: Value, place: Place) -> Lanes:
        """Pointers, and integers that a loop moves."""
        if value.dtype.is_pointer:
            return memory.pointers(self, value, place)
        start = self.lanes(self.plan.inductions[value].initial, place)
        moved = Lanes(self.moved[value], 0, wide=False)
        amount = self.frame.widen(moved) if start.wide else moved.value
        with self.frame.at(start.level) as b:
            return Lanes(b.same("arith.addi", start.value, amount), start.level, start.wide)

    def read(self, view: View, place: Place) -> Lanes:
        """Contents of ``view`` at ``place``."""
        return memory.read_view(self, view, place)

    # --- places ------------------------------------------------------------------------------------------

    def operands_at(self, op: Op, place: Place) -> Iterator[tuple[Value, Place]]:
        """The tensors that a result of inline ``op`` at ``place`` is computed from, with their places."""
        if op.blocks:
            return
        for operand, at in operand_maps(op, tuple(range(len(place.coordinates)))):
            if at is not None and operand.is_tensor:
                yield operand, _placed(place, at)

    def operand_place(self, op: Op, place: Place) -> Place:
        """Place of the first operand of a shape op whose result is evaluated at ``place``."""
        rank = len(place.coordinates)
        _, at = next(iter(operand_maps(op, tuple(range(rank)))))
        if at is None:
            raise located(Unsupported, op.location, f"{op.name} of a tensor that is not in memory")
        return _placed(place, at)


def _placed(place: Place, at: tuple[int | None, ...]) -> Place:
    """``place`` as the operand sees it whose dimensions are those in ``at``, None where it has one element."""
    lane = at.index(place.lane) if place.lane is not None and place.lane in at else None
    return Place(tuple(ZERO if d is None else place.coordinates[d] for d in at), lane)


# --- rules of ops that are not elementwise ----------------------------------------------------------------


def _constant(e: Evaluator, op: Op, place: Place) -> Lanes:
    number = op.attributes["value"]
    if isinstance(number, list):
        return e.read(e.context.table(op), place)
    return Lanes(lower_constant(e.frame.b, number, op.result.dtype), 0, wide=False)


def _range(e: Evaluator, op: Op, place: Place) -> Lanes:
    """Only reached for a single point: runs are made from their first."""
    (coordinate,) = place.coordinates
    index = e.frame.index(coordinate)
    with e.frame.at(index.level) as b:
        narrow = b.convert_int(index.value, op.result.dtype)
        start = b.constant(op.attributes["start"], op.result.dtype)
        return Lanes(b.same("arith.addi", narrow, start), index.level, wide=False)


def _splat(e: Evaluator, op: Op, place: Place) -> Lanes:
    return Lanes(e.scalar(op.operands[0]), 0, wide=False)


def _moved(e: Evaluator, op: Op, place: Place) -> Lanes:
    return e.lanes(op.operands[0], e.operand_place(op, place))


def _reshaped(e: Evaluator, op: Op, place: Place) -> Lanes:
    if is_inline_reshape(op):
        return _moved(e, op, place)
    return e.read(e.plan.views[op.result], place)


def _load(e: Evaluator, op: Op, place: Place) -> Lanes:
    return memory.load(e, op, place)


def _gather(e: Evaluator, op: Op, place: Place) -> Lanes:
    """Elements of a stored tensor, one index looked up; an index out of range is moved into it."""
    source, indices = op.operands
    axis, view = op.attributes["axis"], e.plan.views[source]
    index = e.lanes(indices, place)
    with e.frame.at(index.level) as b:
        dtype = indices.dtype
        last = b.constant(source.shape[axis] - 1, dtype, e.frame.width if index.wide else 0)
        index = Lanes(b.same("arith.minui", index.value, last), index.level, index.wide)
    return memory.read_view(e, view, place, replaced=(axis, index))


_RULES: dict[str, Callable[[Evaluator, Op, Place], Lanes]] = {
    "arith.constant": _constant,
    "tt.make_range": _range,
    "tt.splat": _splat,
    "tt.expand_dims": _moved,
    "tt.broadcast": _moved,
    "tt.trans": _moved,
    "tt.reshape": _reshaped,
    "tt.load": _load,
    "tt.gather": _gather,
}
