"""Splits a loop of dots where a comparison of indices stops, or begins, to hold for whole tiles: the diagonal of a causal mask.

    for i in low .. high: s = dot(...); p = select(rows >= i + columns, f(s), 0)
    ->  for i in low .. mid: s = dot(...); p = f(s)        for i in mid .. high: as before

``mid`` is where the least of ``rows - columns - i`` becomes negative; where ``i`` counts the other way, the loop with the mask is the first one.
Both go on from each other, so that later passes may take them for one schedule in two pieces (:mod:`tri_gpu_dialect.async_units.pipeline_chained_dots`).

Masks of loads may be such comparisons too: the mask along k of a GEMM, which matters in the last iteration.

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
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_core.passes.loops import body, carried, copy_body, make_loop
from tri_core.passes.tiles import Index, Polynomial, Reader, Trip, is_inside
from tri_core.remarks import declined
from tri_gpu_dialect.dialect import WarpGroupDotOp
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
    masks, which is seldom more than an iteration, is not pipelined.
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
                found = _split(loop, loads=everywhere)
                if found is not None:
                    found.run()


@dataclass(frozen=True)
class _Split:
    """A ``loop`` and comparisons, numbers ``places`` of its ops: they hold for all elements where ``offset + slope * iteration >= 0``.

    ``loads``: it is loads alone that they mask.
    """

    loop: ir.Operation
    places: tuple[int, ...]
    offset: Polynomial
    slope: int
    loads: bool = False

    def run(self) -> None:
        """Put two loops in place of the one."""
        low, high, step = list(self.loop.operands)[:3]
        with ir.InsertionPoint(self.loop), self.loop.location:
            middle = self.middle(low, high, step)
        holds_first = self.slope < 0
        first = self.piece((low, middle, step), carried(self.loop), holds_first)
        second = self.piece((middle, high, step), list(first.results), not holds_first)
        if self.loads:
            rest = second if holds_first else first
            rest.attributes["tt.num_stages"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)
        for old, new in zip(self.loop.results, second.results, strict=True):
            old.replace_all_uses_with(new)
        self.loop.erase()

    @property
    def ahead(self) -> Polynomial:
        """The iterations of the first loop times the rate, but for what rounding down takes away, and where it is not negative."""
        rate = abs(self.slope)
        # floor(offset / rate) + 1 iterations hold, or ceil(-offset / rate) do not
        holds = self.offset + Polynomial.constant(rate)
        return holds if self.slope < 0 else Polynomial.constant(rate - 1) - self.offset

    @property
    def is_useful(self) -> bool:
        """Whether the comparison may hold in some iterations and not in others, and numbers are such that they may be computed here."""
        value, type_ = self.ahead.value, For(self.loop).lower.type
        if value is not None and value < abs(self.slope):
            return False
        symbols = set(self.offset.symbols())
        if any(isinstance(s, Trip) or s.type != type_ or is_inside(s, self.loop) for s in symbols):
            return False
        return abs(self.slope) < _MOST and all(abs(c) < _MOST for _, c in self.ahead.terms)

    def middle(self, low: ir.Value, high: ir.Value, step: ir.Value) -> ir.Value:
        """Where the second loop begins: behind the iterations for which the comparison holds, or does not."""
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
            for place in self.places:
                drop(ops[place])
        return made


def _is_of_dots(loop: ir.Operation, *dots: type[ir.OpView]) -> bool:
    """Whether one of the ``dots`` stands in the body of ``loop`` itself, and no loop does."""
    ops = all_ops(loop)
    if "unsignedCmp" in loop.attributes or any(is_loop(op) for op in ops if op != loop):
        return False
    return any(isa(op, *dots) for op in block_ops(body(loop)))


def _split(loop: ir.Operation, *, loads: bool) -> _Split | None:
    """Where to split ``loop``: by the first of its comparisons that allows it and chooses between values, or, with ``loads``, masks loads.

    Those that hold in the same iterations go with it.
    """
    reader, first = Reader(), None
    for place, op in enumerate(block_ops(body(loop))):
        if not isa(op, arith.CmpIOp) or not (found := masked(op)) or not (loads or _chooses(op)):
            continue
        index = _difference(reader, op)
        if index is None:
            _stays(op, "it is none of indices in steps that are known")
            continue
        of_loads = [isa(user, LoadOp) for user in found]
        split = _Split(loop, (place,), *_first_iteration(_least(op, index), loop), all(of_loads))
        if split.slope and not split.is_useful:
            _stays(
                op,
                "what it compares with is computed in the loop, or of another type than the loop's variable",
            )
        if first is None and split.slope and split.is_useful:
            first = split
        elif first is not None and (split.offset, split.slope) == (first.offset, first.slope):
            first = replace(first, places=(*first.places, place), loads=first.loads and split.loads)
    return first


def _stays(comparison: ir.Operation, why: str) -> None:
    """The loop of ``comparison`` is not split by it."""
    declined(SplitLoops.name, comparison, "the mask is computed in all iterations: {}", why)


def _chooses(comparison: ir.Operation) -> bool:
    """Whether ``comparison``, of tensors, does nothing but choose elements itself."""
    if tensor_info(comparison.results[0].type) is None:
        return False
    uses = [(use.owner.operation.name, use.operand_number) for use in comparison.results[0].uses]
    return bool(uses) and all(use == ("arith.select", 0) for use in uses)


def _difference(reader: Reader, op: ir.Operation) -> Index | None:
    """What is not negative where the comparison ``op`` holds."""
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
