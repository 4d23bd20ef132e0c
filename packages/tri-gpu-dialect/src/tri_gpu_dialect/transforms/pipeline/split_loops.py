"""Splits a loop of dots where a comparison of indices stops, or begins, to hold for whole tiles: the diagonal of a causal mask.

    for i in low .. high: s = dot(...); p = select(rows >= i + columns, f(s), 0)
    ->  for i in low .. mid: s = dot(...); p = f(s)        for i in mid .. high: as before

``mid`` is where the least of ``rows - columns - i`` becomes negative; where ``i`` counts the other way, the loop with the mask is the first one.
Both go on from each other, so that later passes may take them for one schedule in two pieces (:mod:`tri_gpu_dialect.async_units.pipeline_chained_dots`).

Masks of loads may be such comparisons too: the mask along k of a GEMM, which matters in the last iteration.

Where the loop with the masks is known to have few iterations, as on the diagonal of causal attention, all comparisons of which that is known go
together, and ``mid`` is where the first of them ceases to hold: one loop without any mask, and a short one with all.

The comparison is read as ``offset + slope * iteration + sum(coefficient_d * range_d) >= 0`` (:mod:`tri_core.passes.tiles`), in which indices do not
overflow.  Cf. index set splitting (Wolfe, High Performance Compilers for Parallel Computing, 1996).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import DotOp, LoadOp
from tri_core.ir.regions import For, is_loop
from tri_core.ir.traits import source_of
from tri_core.ir.views import defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_core.passes.loops import body, carried, copy_body, make_loop
from tri_core.passes.tiles import Index, Polynomial, Reader, Trip, is_inside
from tri_core.remarks import declined
from tri_gpu_dialect.dialect import WarpGroupDotOp
from tri_gpu_dialect.dialect.markers import HELD_BEFORE
from tri_gpu_dialect.edit import all_ops, block_ops, functions
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.transforms.pipeline.held_masks import drop, masked
from tri_gpu_dialect.types import tensor_info

__all__ = ["SplitLoops"]

_SLT, _SLE, _SGT, _SGE = 2, 3, 4, 5
#: coefficients beyond are no sizes of tiles: computing with them might overflow
_MOST = 1 << 24
#: a comparison ``left ? right`` as ``first - second - rest >= 0``: whether the right side comes first, and the rest
_AS_DIFFERENCE = {_SLT: (True, 1), _SLE: (True, 0), _SGT: (False, 1), _SGE: (False, 0)}


@dataclass(frozen=True)
class SplitLoops(Pass):
    """See the module; unless ``policy.pipeline.split_loops`` is False.  Runs before ``warp-specialize``, in functions that it takes apart.

    Where ``split_loops`` is True, in all functions, and by masks of loads as well: of the loops that come about by these the one with the
    masks, which is seldom more than an iteration, is not pipelined.  Nor is one that is known to have ``short_rest`` iterations at most.
    """

    name: ClassVar[str] = "split-loops"

    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Split the loops of every function of ``module``."""
        if self.policy.pipeline.split_loops is False:
            return
        everywhere = self.policy.pipeline.split_loops is True
        for function in functions(module):
            if not everywhere and self.policy.specialization(function) is None:
                continue
            dots = (WarpGroupDotOp, DotOp) if everywhere else (WarpGroupDotOp,)
            for loop in [op for op in all_ops(function) if isa(op, For) and _is_of_dots(op, *dots)]:
                found = _split(loop, everywhere, self.policy.pipeline.short_rest)
                if found is not None:
                    found.run(self.policy.pipeline.short_rest)


@dataclass(frozen=True)
class _Split:
    """A ``loop`` and comparisons, numbers ``places`` of its ops: they hold for all elements where ``offset + slope * iteration >= 0``.

    ``loads``: it is loads alone that they mask; ``rest``: the most iterations that are left with the masks, None where that is not known;
    ``others``: those of other offsets, which hold in the first iterations as well and go with it.
    """

    loop: ir.Operation
    places: tuple[int, ...]
    offset: Polynomial
    slope: int
    loads: bool = False
    rest: int | None = None
    others: tuple[_Split, ...] = ()

    def run(self, short: int) -> None:
        """Put two loops in place of the one; the one with the masks is not pipelined if it has ``short`` iterations at most."""
        low, high, step = list(self.loop.operands)[:3]
        with ir.InsertionPoint(self.loop), self.loop.location:
            middle = self.middle(low, high, step)
            for each in self.others:
                middle = _arithmetic("arith.minsi", middle, each.middle(low, high, step))
        holds_first = self.slope < 0
        first = self.piece((low, middle, step), carried(self.loop), holds_first)
        second = self.piece((middle, high, step), list(first.results), not holds_first)
        if self.loads or self.is_short(short):
            _run_as_it_is(second if holds_first else first, self.all_places if holds_first else ())
        for old, new in zip(self.loop.results, second.results, strict=True):
            old.replace_all_uses_with(new)
        self.loop.erase()

    def is_short(self, short: int) -> bool:
        """True if the remaining masked iterations are known to be at most ``short``."""
        return self.rest is not None and self.rest <= short

    @property
    def all_places(self) -> tuple[int, ...]:
        """Of all comparisons that go."""
        return tuple(place for each in (self, *self.others) for place in each.places)

    @property
    def ahead(self) -> Polynomial:
        """The iterations of the first loop times the rate, but for what rounding down takes away, and where it is not negative."""
        rate = abs(self.slope)
        # floor(offset / rate) + 1 iterations hold, or ceil(-offset / rate) do not
        holds = self.offset + Polynomial.constant(rate)
        return holds if self.slope < 0 else Polynomial.constant(rate - 1) - self.offset

    @property
    def is_useful(self) -> bool:
        """True if the comparison may hold in some iterations and not in others, and its operands allow
        computing the split here.
        """
        value, type_ = self.ahead.value, For(self.loop).lower.type
        if value is not None and value < abs(self.slope):
            return False
        symbols = set(self.offset.symbols())
        if any(isinstance(s, Trip) or s.type != type_ or is_inside(s, self.loop) for s in symbols):
            return False
        return abs(self.slope) < _MOST and all(abs(c) < _MOST for _, c in self.ahead.terms)

    def middle(self, low: ir.Value, high: ir.Value, step: ir.Value) -> ir.Value:
        """First iteration of the second loop: after the iterations for which the comparison holds, or does
        not.
        """
        iterations = _arithmetic("arith.maxsi", self.emitted(self.ahead), _number(low.type, 0))
        iterations = _arithmetic("arith.divsi", iterations, _number(low.type, abs(self.slope)))
        end = _arithmetic("arith.addi", low, _arithmetic("arith.muli", iterations, step))
        return _arithmetic("arith.minsi", end, _arithmetic("arith.maxsi", low, high))

    def emitted(self, value: Polynomial) -> ir.Value:
        """``value`` as arithmetic here."""
        type_ = For(self.loop).lower.type

        def scalar(symbol: ir.Value | Trip) -> ir.Value:
            assert isinstance(symbol, ir.Value)
            return symbol

        return value.emitted(lambda n: _number(type_, n), scalar, _arithmetic)

    def piece(self, bounds: tuple[ir.Value, ...], initial: Sequence[ir.Value], holds: bool) -> ir.Operation:
        """A copy of the loop with other ``bounds``, before it; ``holds``: without the comparisons."""
        made = make_loop(self.loop, bounds, initial)
        ip = ir.InsertionPoint(body(made))
        values = copy_body(self.loop, list(body(made).arguments), ip)
        ir.Operation.create("scf.yield", operands=values, loc=self.loop.location, ip=ip)
        if holds:
            ops = block_ops(body(made))
            for place in self.all_places:
                drop(ops[place])
        return made


def _is_of_dots(loop: ir.Operation, *dots: type[ir.OpView]) -> bool:
    """True if the body of ``loop`` itself contains one of ``dots`` and no loop."""
    ops = all_ops(loop)
    if "unsignedCmp" in loop.attributes or any(is_loop(op) for op in ops if op != loop):
        return False
    return any(isa(op, *dots) for op in block_ops(body(loop)))


def _run_as_it_is(rest: ir.Operation, places: Sequence[int]) -> None:
    """Have ``rest`` not pipelined; comparisons at ``places`` of it are known to hold in the iterations before its first."""
    rest.attributes["tt.num_stages"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)
    ops = block_ops(body(rest))
    for place in places:
        ops[place].attributes[HELD_BEFORE] = ir.UnitAttr.get()


def _split(loop: ir.Operation, loads: bool, short: int) -> _Split | None:
    """Split point of ``loop``: by the first of its comparisons that allows it and chooses between values, or,
    with ``loads``, masks loads.

    Those that hold in the same iterations go with it; where it leaves ``short`` iterations at most, so do others of which that is true.
    """
    found = _splits(loop, loads)
    if not found:
        return None
    first, *others = found
    if not loads or not (first.loads or first.is_short(short)) or first.slope > 0:
        return first
    others = [each for each in others if each.slope < 0 and each.is_short(short)]
    if not first.is_short(short):
        # how much is left by masks of loads alone is not always known
        others = [each for each in others if each.loads]
    return replace(first, others=tuple(others), loads=all(each.loads for each in (first, *others)))


def _splits(loop: ir.Operation, loads: bool) -> list[_Split]:
    """By each comparison of ``loop`` that allows it, in their order; those that hold in the same iterations are one."""
    reader, made = Reader(), dict[tuple[Polynomial, int], _Split]()
    for place, op in enumerate(block_ops(body(loop))):
        if not isa(op, arith.CmpIOp) or not (found := masked(op)) or not (loads or _chooses(op)):
            continue
        index = _difference(reader, op)
        if index is None:
            _stays(op, "it is none of indices in steps that are known")
            continue
        split = _Split(loop, (place,), *_first_iteration(_least(op, index), loop))
        if split.slope and not split.is_useful:
            _stays(
                op,
                "what it compares with is computed in the loop, or of another type than the loop's variable",
            )
        if not split.slope or not split.is_useful:
            continue
        of_loads, key = all(isa(user, LoadOp) for user in found), (split.offset, split.slope)
        if (known := made.get(key)) is not None:
            made[key] = replace(known, places=(*known.places, place), loads=known.loads and of_loads)
        else:
            made[key] = replace(split, loads=of_loads, rest=_rest(split, reader))
    return list(made.values())


def _rest(split: _Split, reader: Reader) -> int | None:
    """The most iterations of the loop behind those in which the comparison of ``split``, which holds first, does; None: it is not known."""
    counted = For(split.loop)
    step = reader.scalar(counted.step).value
    if split.slope > 0 or step is None or step <= 0:
        return None
    rate, low, known = -split.slope, reader.scalar(counted.lower), []
    for end in _ends(counted.upper):
        # ceil((end - low) / step) - floor(ahead / rate), of what they differ by
        left = (
            Polynomial.constant(rate) * (reader.scalar(end) - low) - Polynomial.constant(step) * split.ahead
        )
        if left.value is not None:
            known.append(max(-(-left.value // (rate * step)) + 1, 0))
    return min(known, default=None)


def _ends(upper: ir.Value) -> list[ir.Value]:
    """Operands of the minimum that ``upper`` is; ``upper`` itself if it is none."""
    made = defining_op(upper)
    if made is None or not isa(made, arith.MinSIOp):
        return [upper]
    return [end for operand in made.operands for end in _ends(operand)]


def _stays(comparison: ir.Operation, why: str) -> None:
    """The loop of ``comparison`` is not split by it."""
    declined(SplitLoops.name, comparison, "the mask is computed in all iterations: {}", why)


def _chooses(comparison: ir.Operation) -> bool:
    """True if all uses of ``comparison``, of tensors, are selects of elements."""
    if tensor_info(comparison.results[0].type) is None:
        return False
    uses = [(use.owner.operation.name, use.operand_number) for use in comparison.results[0].uses]
    return bool(uses) and all(use == ("arith.select", 0) for use in uses)


def _difference(reader: Reader, op: ir.Operation) -> Index | None:
    """Expression that is non-negative if and only if the comparison ``op`` holds."""
    kind = ir.IntegerAttr(op.attributes["predicate"]).value
    left, right = (reader.index(v) for v in op.operands)
    if kind not in _AS_DIFFERENCE or left is None or right is None:
        return None
    transposed, rest = _AS_DIFFERENCE[kind]
    found = right.plus(left, -1) if transposed else left.plus(right, -1)
    if found is None or found.wraps or any(c.value is None for _, c in found.coefficients):
        return None
    return found.plus(Index(Polynomial.constant(-rest)))


def _least(op: ir.Operation, index: Index) -> Polynomial:
    """The least element of ``index``, a tensor of the shape that ``op`` compares."""
    shape = source_of(op).type.shape
    spans = (min(0, (c.value or 0) * (shape[d] - 1)) for d, c in index.coefficients)
    return index.offset + Polynomial.constant(sum(spans))


def _first_iteration(value: Polynomial, loop: ir.Operation) -> tuple[Polynomial, int]:
    """(rest, slope) of ``value`` as ``rest + slope * iteration of the loop``; slope 0: it is no such number."""
    iteration = frozenset({(Trip(loop), 1)})
    slope = dict(value.terms).get(iteration, 0)
    return Polynomial.of({m: c for m, c in value.terms if m != iteration}), slope


def _arithmetic(name: str, left: ir.Value, right: ir.Value) -> ir.Value:
    return ir.Operation.create(name, results=[left.type], operands=[left, right]).results[0]


def _number(type_: ir.Type, value: int) -> ir.Value:
    attributes = {"value": ir.IntegerAttr.get(type_, value)}
    return ir.Operation.create("arith.constant", results=[type_], attributes=attributes).results[0]
