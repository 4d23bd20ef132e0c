"""Effects of a nest at its points besides writing its own buffers: stores, atomics, prints, assertions."""

from __future__ import annotations

from collections.abc import Callable

from tri_backend_cpu.analysis.plan import Effect
from tri_backend_cpu.builder import I1, I64, Builder
from tri_backend_cpu.lower import assembly, atomics, memory
from tri_backend_cpu.lower.evaluator import Evaluator
from tri_backend_cpu.lower.place import Address, Lanes, Place
from tri_backend_cpu.lower.report import report_failure, report_print
from tri_core.dialects.tt.enums import CacheModifier
from tri_core.mlir import ir
from tri_core.ttir import Op, Value

__all__ = ["act", "before", "has_rule"]


def before(e: Evaluator, member: Effect) -> None:
    """Emit the part of an effect that precedes the nest."""
    if member.op.name == "tt.histogram":
        (view,) = member.views
        if view is not None:
            e.frame.b.clear(e.context.base(view.buffer), view.buffer.nbytes)


def has_rule(name: str) -> bool:
    """True if :func:`act` supports ops called ``name``."""
    return name in _ACTIONS


def act(e: Evaluator, member: Effect, place: Place) -> None:
    """Do what ``member`` does at ``place``."""
    _ACTIONS[member.op.name](e, member, place)


def _store(e: Evaluator, member: Effect, place: Place) -> None:
    op = member.op
    value = op.operand("value")
    where, mask = e.address(op.operand("ptr"), place), e.mask(op.optional("mask"), place)
    mask = _checked(e, op, where, mask)
    stored = e.lanes(value, place)
    if op.attributes.get("cache") != CacheModifier.WT:
        memory.store(e, where, stored, mask, value.dtype, streams=True)
        return
    # others may wait for it: it is neither merged with others nor overtaken
    memory.fence(e)
    memory.store(e, where, stored, mask, value.dtype)
    memory.fence(e)


def _checked(e: Evaluator, op: Op, where: Address, mask: Lanes | None) -> Lanes | None:
    """``mask`` without the lanes that a checked kernel may not access."""
    checks = e.context.checks
    return mask if checks is None else checks.mask(e.frame, op, where, mask, len(e.frame.points) - 1)


def _atomic(e: Evaluator, member: Effect, place: Place) -> None:
    """One element's atomic operation; where the mask is false the result is 0."""
    op = member.op
    where = e.address(op.operand("ptr"), place)
    pointer = where.pointer.value
    operands = [e.lanes(v, place).value for v in _data(op)]
    mask = _checked(e, op, where, e.mask(op.optional("mask"), place))
    with e.frame.at(len(e.frame.points) - 1):
        old = _under(e, mask, op, lambda: _ATOMICS[op.name](e, op, pointer, operands))
    if not op.results:
        return
    if not op.result.is_tensor:
        e.context.scalars[op.result] = old
    elif member.views[0] is not None:
        memory.write_view(e, member.views[0], place, Lanes(old, len(e.frame.points) - 1, wide=False))


def _data(op: Op) -> list[Value]:
    """The operands besides pointer and mask."""
    return [v for i, v in enumerate(op.operands) if i and i != op.operand_names.get("mask")]


def _under(e: Evaluator, mask: Lanes | None, op: Op, make: Callable[[], ir.Value]) -> ir.Value:
    """``make()`` where ``mask`` is true, zero elsewhere."""
    b = e.frame.b
    if mask is None:
        return make()
    if not op.results:
        _, yes, no = b.branch(mask.value)
        with b.inside(yes):
            make()
            b.yield_()
        with b.inside(no):
            b.yield_()
        return mask.value
    dtype = op.result.dtype
    branch, yes, no = b.branch(mask.value, [b.type(dtype)])
    with b.inside(yes):
        b.yield_(make())
    with b.inside(no):
        b.yield_(b.undefined(dtype))
    return branch.result


def _atomic_store(e: Evaluator, op: Op, pointer: ir.Value, operands: list[ir.Value]) -> ir.Value:
    atomics.atomic_store(e.frame.b, op, pointer, operands[0])
    return operands[0]


_ATOMICS: dict[str, Callable[[Evaluator, Op, ir.Value, list[ir.Value]], ir.Value]] = {
    "tt.atomic_rmw": lambda e, op, pointer, operands: atomics.atomic_rmw(e.frame.b, op, pointer, *operands),
    "tt.atomic_cas": lambda e, op, pointer, operands: atomics.atomic_cas(e.frame.b, op, pointer, *operands),
    "tt.atomic_load": lambda e, op, pointer, operands: atomics.atomic_load(e.frame.b, op, pointer),
    "tt.atomic_store": _atomic_store,
}


def _histogram(e: Evaluator, member: Effect, place: Place) -> None:
    """Count one element, if it is within the histogram and not masked out."""
    (view,) = member.views
    if view is None:
        return
    source = member.op.operands[0]
    index = e.lanes(source, place).value
    mask = e.mask(member.op.optional("mask"), place)
    dtype = view.buffer.dtype
    with e.frame.at(len(e.frame.points) - 1) as b:
        fits = view.buffer.numel < 1 << source.dtype.bits  # else every number has a bin
        limit = b.constant(view.buffer.numel, source.dtype) if fits else None
        inside = b.cmp("ult", index, limit) if limit is not None else b.constant(1, I1)
        if mask is not None:
            inside = b.same("arith.andi", inside, mask.value)
        _, yes, no = b.branch(inside)
        with b.inside(yes):
            where = b.offset(e.context.base(view.buffer), b.convert_int(index, I64, signed=False), dtype)
            b.store(where, b.same("arith.addi", b.load(where, dtype), b.constant(1, dtype)), dtype)
            b.yield_()
        with b.inside(no):
            b.yield_()


def _assert(e: Evaluator, member: Effect, place: Place) -> None:
    condition = e.lanes(member.op.operands[0], place)
    with e.frame.at(condition.level) as b:
        holds = condition.value
        if condition.wide:
            holds = b.op("llvm.intr.vector.reduce.and", b.type(I1), holds)
        failed = b.same("arith.xori", holds, b.constant(1, I1))
        _, yes, no = b.branch(failed)
        with b.inside(yes):
            report_failure(e.context, member.op)
            b.yield_()
        with b.inside(no):
            b.yield_()


def _print(e: Evaluator, member: Effect, place: Place) -> None:
    values = [e.lanes(v, place).value for v in member.op.operands]
    indices = [e.frame.index(c).value for c in place.coordinates]
    with e.frame.at(len(e.frame.points) - 1):
        report_print(e.context, member.op, indices, values)


def _extern(b: Builder, op: Op, operands: list[ir.Value]) -> list[ir.Value]:
    """A call of a function of the program's own library, for one element."""
    return [b.call(op.attributes["symbol"], b.type(op.result.dtype), *operands)]


_FOREIGN: dict[str, Callable[[Builder, Op, list[ir.Value]], list[ir.Value]]] = {
    "tt.elementwise_inline_asm": assembly.assemble,
    "tt.extern_elementwise": _extern,
}


def _foreign(e: Evaluator, member: Effect, place: Place) -> None:
    op = member.op
    operands = [e.lanes(v, place).value for v in op.operands]
    level = len(e.frame.points) - 1
    with e.frame.at(level) as b:
        made = _FOREIGN[op.name](b, op, operands)
    for result, view, value in zip(op.results, member.views, made, strict=False):
        if not result.is_tensor:
            e.context.scalars[result] = value
        elif view is not None:
            memory.write_view(e, view, place, Lanes(value, level, wide=False))


def _poll(e: Evaluator, member: Effect, place: Place) -> None:
    op = member.op
    where = e.address(op.operand("ptr"), place)
    pointer = where.pointer.value
    expected, limit = e.lanes(op.operand("expected"), place).value, op.optional("timeout_ns")
    timeout = None if limit is None else e.lanes(limit, place).value
    level = len(e.frame.points) - 1
    checks = e.context.checks
    mask = _checked(e, op, where, None)
    with e.frame.at(level) as b:
        more = checks.unless_stopped if checks is not None else None
        seen = _under(e, mask, op, lambda: assembly.poll(b, op, pointer, expected, timeout, more))
    if not op.result.is_tensor:
        e.context.scalars[op.result] = seen
    elif member.views[0] is not None:
        memory.write_view(e, member.views[0], place, Lanes(seen, level, wide=False))


_ACTIONS: dict[str, Callable[[Evaluator, Effect, Place], None]] = {
    "tt.store": _store,
    **dict.fromkeys(_ATOMICS, _atomic),
    **dict.fromkeys(_FOREIGN, _foreign),
    "tt.atomic_poll": _poll,
    "tt.histogram": _histogram,
    "tt.assert": _assert,
    "tt.print": _print,
}
