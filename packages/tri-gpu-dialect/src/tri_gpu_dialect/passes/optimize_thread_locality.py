"""Reductions in loops: each thread keeps a sum of its own, and threads are combined once, after the loop.

    for i: total = total + sum(x(i))

becomes

    for i: part = part + (sum of x(i) over what a thread has)
    total = total + sum(part)

Shuffles, scratch memory and barriers leave the loop.  What a thread has along the axis is found in the layout: bits of the
coordinate that only registers change.  Each run of them is reduced as a dimension of its own.

Sums of floats are taken in another order, as reductions may be; ``part`` starts from the operation's neutral element
(-0 for sums, NaN for maxima that prefer numbers), so a loop without iterations gives what it was given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.edit import all_ops, block_ops, functions, terminator
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


@dataclass(frozen=True)
class OptimizeThreadLocality(Pass):
    """See the module; partial results of up to ``words`` 32-bit words per thread are kept in registers."""

    name: ClassVar[str] = "optimize-thread-locality"

    words: int = 32

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the loops of every function of ``module``."""
        for function in functions(module):
            for loop in [op for op in all_ops(function) if op.name == "scf.for"]:
                body = loop.regions[0].blocks[0]
                for number in range(len(loop.results)):
                    found = _accumulation(body, number)
                    if found is not None:
                        self.rewrite(loop, number, *found)

    def rewrite(self, loop: ir.Operation, number: int, reduce: ir.Operation, combine: ir.Operation) -> None:
        """Take the threads' part of ``reduce``, whose result ``combine`` adds to carried value ``number``, out of ``loop``."""
        source = tensor_info(reduce.operands[0].type)
        assert source is not None
        assert source.encoding is not None
        axis = _axis(reduce)
        plan = plan_reduction(layouts.of(reduce.operands[0].type), axis)
        steps = _steps(source.shape, axis, source.encoding)
        type_ = _kept(source, steps)
        across = plan.lane_masks or plan.warp_masks
        if not across or source.bitwidth < 8 or _words(type_) > self.words:
            return
        init, old = loop.operands[3 + number], loop.results[number].type
        argument, result = loop.regions[0].blocks[0].arguments[1 + number], loop.results[number]
        local = _reduced(reduce, steps)
        place = list(combine.operands).index(argument)
        combine.operands[1 - place] = local
        for value in (argument, result, combine.results[0]):
            value.set_type(type_)
        with ir.InsertionPoint(loop), loop.location:
            loop.operands[3 + number] = _neutral(combine.name, type_)
        users = [(use.owner.operation, use.operand_number) for use in result.uses]
        total = _combined(loop, reduce, combine, result, axis, init, old)
        for user, operand in users:
            user.operands[operand] = total
        reduce.erase()


# --- what is looked for -----------------------------------------------------------------------------------


def _accumulation(body: ir.Block, number: int) -> tuple[ir.Operation, ir.Operation] | None:
    """The reduction whose result is combined with carried value ``number`` and is nothing else's, and the combination."""
    argument, coming = body.arguments[1 + number], terminator(body).operands[number]
    combine = _only_user(argument)
    if combine is None or combine.name not in _NEUTRAL or combine.block != body:
        return None
    if coming != combine.results[0] or _only_user(coming) != terminator(body):
        return None
    other = next((v for v in combine.operands if v != argument), argument)
    if isinstance(other.owner, ir.Block):
        return None
    reduce = other.owner.operation
    if reduce.name != "tt.reduce" or len(reduce.operands) != 1 or reduce.block != body:
        return None
    same = _only_user(other) == combine and _operation(reduce) == combine.name
    return (reduce, combine) if same else None


def _only_user(value: ir.Value) -> ir.Operation | None:
    uses = list(value.uses)
    return uses[0].owner.operation if len(uses) == 1 else None


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
    """The steps that reduce what each thread has along ``axis``, the highest bits first."""
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
    """The highest run ``[low, high)`` of bits of the coordinate along ``axis`` that registers alone change."""
    unit = [tuple(bit if d == axis else 0 for d in range(len(layout.outs))) for bit in _bits(layout, axis)]
    mine = [basis in layout.bases[REGISTER] for basis in unit]
    # a bit that another input changes as well is not the thread's own
    for name, bases in layout.bases.items():
        for basis in bases:
            if name != REGISTER or basis not in unit:
                mine = [own and not basis[axis] >> i & 1 for i, own in enumerate(mine)]
    if True not in mine:
        return None
    high = max(i for i, own in enumerate(mine) if own) + 1
    low = high
    while low and mine[low - 1]:
        low -= 1
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
    value = reduce.operands[0]
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
    """What the operation ``name`` leaves anything unchanged with, everywhere."""
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


def _combined(
    loop: ir.Operation,
    reduce: ir.Operation,
    combine: ir.Operation,
    part: ir.Value,
    axis: int,
    init: ir.Value,
    type_: ir.Type,
) -> ir.Value:
    """``init`` combined with ``part`` of all threads, after ``loop``, of type ``type_``."""
    info = tensor_info(part.type)
    assert info is not None
    assert info.encoding is not None
    with ir.InsertionPoint.after(loop), reduce.location:
        shape = tuple(n for d, n in enumerate(info.shape) if d != axis)
        total = _again(reduce, part, axis, shape, Slice(axis, info.encoding))
        if total.type != type_:
            total = ir.Operation.create("ttg.convert_layout", results=[type_], operands=[total]).results[0]
        attributes = {name: combine.attributes[name] for name in combine.attributes}
        return ir.Operation.create(
            combine.name, results=[type_], operands=[init, total], attributes=attributes
        ).results[0]
