"""Reductions in loops: each thread keeps a sum of its own, and threads are combined once, after the loop.

    for i: total = total + sum(x(i))

becomes

    for i: part = part + (sum of x(i) over what a thread has)
    total = total + sum(part)

Shuffles, scratch memory and barriers leave the loop.  What a thread has along the axis is found in the layout: bits of the
coordinate that only registers change.  Each run of them is reduced as a dimension of its own.

Sums of floats are taken in another order, as reductions may be; ``part`` starts from the operation's neutral element
(-0 for sums, NaN for maxima that prefer numbers), so a loop without iterations gives what it was given.

A sum that is scaled before it grows (softmax's, by what the largest score has grown) is kept in parts as well, since products
distribute over sums: ``total = total * f(i) + sum(x(i))`` becomes ``part = part * f(i) + ...``.  What the loop is given would have
to be scaled with the parts, so it has to be zeros, from which the parts start, or the sum of such parts that a loop before has left:
then they go on, and nothing is combined between the two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import ReduceOp
from tri_core.ir.regions import loops_in
from tri_core.ir.rewriting import attributes_of
from tri_core.ir.traits import source_of
from tri_core.ir.views import cast, defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_core.remarks import declined
from tri_gpu_dialect import layouts
from tri_gpu_dialect.dialect import ConvertLayoutOp
from tri_gpu_dialect.edit import block_ops, functions, terminator, unconverted
from tri_gpu_dialect.encodings import Encoding, Slice, transform
from tri_gpu_dialect.layouts import REGISTER, LinearLayout, layout_for
from tri_gpu_dialect.plans.reduction import plan_reduction
from tri_gpu_dialect.types import TensorInfo, tensor_info, tensor_type

__all__ = ["OptimizeThreadLocality"]

Shape = tuple[int, ...]

_ALL, _LEAST, _MOST = "all bits", "least", "most"
#: operations that may be done in any order, and what changes nothing
_NEUTRAL: dict[str, float | str] = {
    "arith.addf": -0.0, "arith.mulf": 1.0, "arith.maxnumf": math.nan, "arith.minnumf": math.nan,
    "arith.maximumf": -math.inf, "arith.minimumf": math.inf,
    "arith.addi": 0, "arith.muli": 1, "arith.ori": 0, "arith.xori": 0, "arith.andi": _ALL,
    "arith.maxsi": _LEAST, "arith.minsi": _MOST, "arith.maxui": 0, "arith.minui": _ALL,
}  # fmt: skip
#: what distributes over what
_SUM = "arith.addf"


@dataclass(frozen=True)
class OptimizeThreadLocality(Pass):
    """See the module; partial results of up to ``words`` 32-bit words per thread are kept in registers."""

    name: ClassVar[str] = "optimize-thread-locality"

    words: int = 32

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the loops of every function of ``module``."""
        for function in functions(module):
            for loop in loops_in(function):
                body = loop.regions[0].blocks[0]
                for number in range(len(loop.results)):
                    found = _accumulation(body, number)
                    if found is not None:
                        self.rewrite(loop, number, found)

    def rewrite(self, loop: ir.Operation, number: int, found: _Accumulation) -> None:
        """Take the threads' part of ``found``, in carried value ``number``, out of ``loop``."""
        reduce, combine, scale = found.reduce, found.combine, found.scale
        given = cast(reduce, ReduceOp).srcs[0].type
        source = tensor_info(given)
        assert source is not None
        assert source.encoding is not None
        axis = _axis(reduce)
        plan = plan_reduction(layouts.of(given), axis)
        steps = _steps(source.shape, axis, source.encoding)
        type_ = _kept(source, steps)
        across = plan.lane_masks or plan.warp_masks
        if not across or source.bitwidth < 8:
            return
        if _words(type_) > self.words:
            text = "threads reduce with each other in every iteration: their parts would take {} registers, {} at most"
            declined(self.name, reduce, text, _words(type_), self.words)
            return
        init, old = loop.operands[3 + number], loop.results[number].type
        start = None if scale is None else _start(loop, init, type_, axis)
        if scale is not None and start is None:
            why = "what the scaled sum begins with is neither zeros nor another loop's sum"
            declined(self.name, reduce, "threads reduce with each other in every iteration: {}", why)
            return
        argument, result = loop.regions[0].blocks[0].arguments[1 + number], loop.results[number]
        combine.operands[found.place] = _reduced(reduce, steps)
        for value in (argument, result, combine.results[0]):
            value.set_type(type_)
        if scale is not None:
            _stretch(scale, argument, type_, axis)
        if start is None:
            with ir.InsertionPoint(loop), loop.location:
                start = _neutral(combine.name, type_)
        loop.operands[3 + number] = start
        users = [(use.owner.operation, use.operand_number) for use in result.uses]
        total = _total(loop, reduce, result, axis, old)
        if scale is None:
            total = _added(combine, init, total)
        for user, operand in users:
            user.operands[operand] = total
        reduce.erase()
        _drop(init)


# --- what is looked for -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Accumulation:
    """``combine`` adds the result of ``reduce``, its operand ``place``, to a carried value, which ``scale`` may multiply before that."""

    reduce: ir.Operation
    combine: ir.Operation
    place: int
    scale: ir.Operation | None


def _accumulation(body: ir.Block, number: int) -> _Accumulation | None:
    """Accumulation in iter_arg ``number``: combined with the result of a reduction that has no other use."""
    argument, coming = body.arguments[1 + number], terminator(body).operands[number]
    first = _only_user(argument)
    scale = first if first is not None and isa(first, arith.MulFOp) else None
    combine = first if scale is None else _only_user(scale.results[0])
    if scale is not None and (combine is None or not isa(combine, arith.AddFOp)):
        # a dot of what is carried is an accumulation itself
        scale, combine = None, first
    if combine is None or _NEUTRAL.get(combine.name) is None or combine.block != body:
        return None
    if coming != combine.results[0] or not _used_once_by(coming, terminator(body)):
        return None
    so_far = argument if scale is None else scale.results[0]
    place = next((i for i, v in enumerate(combine.operands) if v != so_far), None)
    reduce = None if place is None else _reduction(combine.operands[place], combine)
    return None if place is None or reduce is None else _Accumulation(reduce, combine, place, scale)


def _reduction(value: ir.Value, combine: ir.Operation) -> ir.Operation | None:
    """The reduction by the operation of ``combine``, in its block, of which ``value`` is the result."""
    if isinstance(value.owner, ir.Block):
        return None
    reduce = value.owner.operation
    if not isa(reduce, ReduceOp) or len(reduce.operands) != 1 or reduce.block != combine.block:
        return None
    same = _used_once_by(value, combine) and _operation(reduce) == combine.name
    return reduce if same else None


def _only_user(value: ir.Value) -> ir.Operation | None:
    uses = list(value.uses)
    return uses[0].owner.operation if len(uses) == 1 else None


def _used_once_by(value: ir.Value, op: ir.Operation) -> bool:
    user = _only_user(value)
    return user is not None and user == op


def _operation(reduce: ir.Operation) -> str | None:
    """The name of the one op of the region of ``reduce``, of both its arguments; None for more than that."""
    block = reduce.regions[0].blocks[0]
    ops = block_ops(block)
    if len(ops) != 2 or list(ops[1].operands) != list(ops[0].results):
        return None
    return ops[0].name if set(ops[0].operands) == set(block.arguments) else None


def _axis(reduce: ir.Operation) -> int:
    return int(ir.IntegerAttr(reduce.attributes["axis"]).value)


# --- reductions within threads ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Step:
    """See a tensor in shape ``apart``, in ``encoding``, reduce ``axis``, and see the result in shape ``result``, in ``kept``."""

    apart: Shape
    encoding: Encoding
    axis: int
    result: Shape
    kept: Encoding


def _steps(shape: Shape, axis: int, encoding: Encoding) -> list[_Step]:
    """The steps that reduce what each thread has along ``axis``, neighbours first: they are also cast, packed and loaded together."""
    steps: list[_Step] = []
    while (run := _run(layout_for(encoding, shape), axis)) is not None:
        low, high = run
        above, below = shape[axis] >> high, 1 << low
        parts = [above] * (above > 1) + [1 << (high - low)] + [below] * (below > 1)
        apart = (*shape[:axis], *parts, *shape[axis + 1 :])
        seen, at = transform.reshaped(encoding, shape, apart), axis + (above > 1)
        reduced = (*apart[:at], *apart[at + 1 :])
        result = (*shape[:axis], above * below, *shape[axis + 1 :])
        kept = transform.reshaped(Slice(at, seen), reduced, result)
        steps.append(_Step(apart, seen, at, result, kept))
        shape, encoding = result, kept
    return steps


def _run(layout: LinearLayout, axis: int) -> tuple[int, int] | None:
    """The lowest run ``[low, high)`` of bits of the coordinate along ``axis`` that registers alone change."""
    unit = [tuple(bit if d == axis else 0 for d in range(len(layout.outs))) for bit in _bits(layout, axis)]
    mine = [basis in layout.bases[REGISTER] for basis in unit]
    # a bit that another input changes as well is not the thread's own
    for name, bases in layout.bases.items():
        for basis in bases:
            if name != REGISTER or basis not in unit:
                mine = [own and not basis[axis] >> i & 1 for i, own in enumerate(mine)]
    if True not in mine:
        return None
    low = mine.index(True)
    high = low
    while high < len(mine) and mine[high]:
        high += 1
    return low, high


def _bits(layout: LinearLayout, axis: int) -> list[int]:
    size = layout.out_size(f"dim{axis}")
    return [1 << i for i in range(size.bit_length() - 1)]


def _kept(source: TensorInfo, steps: Sequence[_Step]) -> ir.Type:
    """The type of what ``steps`` leave of ``source``."""
    assert source.encoding is not None
    shape, encoding = (steps[-1].result, steps[-1].kept) if steps else (source.shape, source.encoding)
    return tensor_type(shape, source.element_type, encoding)


def _words(type_: ir.Type) -> int:
    info = tensor_info(type_)
    assert info is not None
    return layouts.of(type_).in_size(REGISTER) * max(info.bitwidth, 32) // 32


def _reduced(reduce: ir.Operation, steps: Sequence[_Step]) -> ir.Value:
    """The operand of ``reduce`` after ``steps``."""
    value = cast(reduce, ReduceOp).srcs[0]
    with ir.InsertionPoint(reduce), reduce.location:
        for step in steps:
            value = _seen(value, step.apart, step.encoding)
            less = tuple(n for d, n in enumerate(step.apart) if d != step.axis)
            value = _again(reduce, value, step.axis, less, Slice(step.axis, step.encoding))
            value = _seen(value, step.result, step.kept)
    return value


def _seen(value: ir.Value, shape: Shape, encoding: Encoding) -> ir.Value:
    """``value`` in another shape of as many elements, in the same places."""
    type_ = tensor_type(shape, value.type.element_type, encoding)
    if value.type == type_:
        return value
    return ir.Operation.create("tt.reshape", results=[type_], operands=[value]).results[0]


def _again(reduce: ir.Operation, value: ir.Value, axis: int, shape: Shape, encoding: Encoding) -> ir.Value:
    """``reduce`` of another ``value``, here."""
    made = reduce.clone(ip=ir.InsertionPoint.current).operation
    made.operands[0] = value
    made.attributes["axis"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), axis)
    element = value.type.element_type
    made.results[0].set_type(tensor_type(shape, element, encoding) if shape else element)
    return made.results[0]


# --- before and after the loop ----------------------------------------------------------------------------


def _neutral(name: str, type_: ir.RankedTensorType) -> ir.Value:
    """Splat of the identity element of the operation ``name``."""
    element, value = type_.element_type, _NEUTRAL[name]
    if isinstance(element, ir.IntegerType):
        top = 1 << (element.width - 1)
        named = {_ALL: -1, _LEAST: -top, _MOST: top - 1}
        number = named[value] if isinstance(value, str) else int(value)
        scalar: ir.Attribute = ir.IntegerAttr.get(element, number)
    else:
        scalar = ir.FloatAttr.get(element, value)
    attributes = {"value": ir.DenseElementsAttr.get_splat(type_, scalar)}
    return ir.Operation.create("arith.constant", results=[type_], attributes=attributes).results[0]


def _start(loop: ir.Operation, init: ir.Value, type_: ir.Type, axis: int) -> ir.Value | None:
    """Parts of type ``type_`` of which ``init`` is the sum along ``axis``: zeros, or those of a loop before; None: unknown."""
    maker = defining_op(unconverted(init))
    if maker is None:
        return None
    if isa(maker, ReduceOp) and _operation(maker) == _SUM and _axis(maker) == axis:
        given = cast(maker, ReduceOp).srcs[0]
        return given if given.type == type_ else None
    zero = _zero(maker)
    if zero is None:
        return None
    with ir.InsertionPoint(loop), loop.location:
        attributes = {"value": ir.DenseElementsAttr.get_splat(type_, zero)}
        return ir.Operation.create("arith.constant", results=[type_], attributes=attributes).results[0]


def _zero(op: ir.Operation) -> ir.FloatAttr | None:
    """The zero, of either sign, that every element of the constant ``op`` is; None if they are not."""
    value = op.attributes["value"] if isa(op, arith.ConstantOp) else None
    if isinstance(value, ir.DenseElementsAttr) and value.is_splat:
        value = value.get_splat_value()
    return value if isinstance(value, ir.FloatAttr) and value.value == 0.0 else None


def _stretch(scale: ir.Operation, argument: ir.Value, type_: ir.Type, axis: int) -> None:
    """Let ``scale`` multiply the parts of ``argument``, of type ``type_``, each by the factor of its sum."""
    place = next(i for i, v in enumerate(scale.operands) if v != argument)
    info = tensor_info(type_)
    assert info is not None
    assert info.encoding is not None
    with ir.InsertionPoint(scale), scale.location:
        scale.operands[place] = _stretched(scale.operands[place], info, axis)
    scale.results[0].set_type(type_)


def _stretched(factor: ir.Value, info: TensorInfo, axis: int) -> ir.Value:
    """``factor``, a number for each sum, for each part: of the type that ``info`` describes."""
    assert info.encoding is not None
    type_ = tensor_type(info.shape, info.element_type, info.encoding)
    if tensor_info(factor.type) is None:
        return ir.Operation.create("tt.splat", results=[type_], operands=[factor]).results[0]
    thin = (*info.shape[:axis], 1, *info.shape[axis + 1 :])
    number = {"axis": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), axis)}
    column = ir.Operation.create(
        "tt.expand_dims",
        results=[tensor_type(thin, info.element_type, info.encoding)],
        operands=[_laid_out(factor, Slice(axis, info.encoding))],
        attributes=number,
    ).results[0]
    return ir.Operation.create("tt.broadcast", results=[type_], operands=[column]).results[0]


def _laid_out(value: ir.Value, encoding: Encoding) -> ir.Value:
    """``value`` as ``encoding`` lays it out, the same value where that is how it lies."""
    info = tensor_info(value.type)
    assert info is not None
    if layouts.of(value.type) == layout_for(encoding, info.shape):
        return value
    type_ = tensor_type(info.shape, info.element_type, encoding)
    return ir.Operation.create("ttg.convert_layout", results=[type_], operands=[value]).results[0]


def _total(loop: ir.Operation, reduce: ir.Operation, part: ir.Value, axis: int, type_: ir.Type) -> ir.Value:
    """``part`` of all threads, after ``loop``, of type ``type_``."""
    info = tensor_info(part.type)
    assert info is not None
    assert info.encoding is not None
    with ir.InsertionPoint.after(loop), reduce.location:
        shape = tuple(n for d, n in enumerate(info.shape) if d != axis)
        total = _again(reduce, part, axis, shape, Slice(axis, info.encoding))
        if not isinstance(type_, ir.RankedTensorType) or total.type == type_:
            return total
        if layouts.of(total.type) == layouts.of(type_):
            total.set_type(type_)  # the same layout by the name that it has elsewhere
            return total
        return ir.Operation.create("ttg.convert_layout", results=[type_], operands=[total]).results[0]


def _added(combine: ir.Operation, init: ir.Value, total: ir.Value) -> ir.Value:
    """``init`` combined with ``total``, behind it."""
    with ir.InsertionPoint.after(total.owner), combine.location:
        attributes = attributes_of(combine)
        return ir.Operation.create(
            combine.name, results=[total.type], operands=[init, total], attributes=attributes
        ).results[0]


def _drop(value: ir.Value) -> None:
    """Erase the reduction, with its change of layout, that nobody reads any more."""
    while not isinstance(value.owner, ir.Block) and not list(value.uses):
        op = value.owner.operation
        if not isa(op, ReduceOp, ConvertLayoutOp):
            return
        value = source_of(op)
        op.erase()
