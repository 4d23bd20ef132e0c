"""Blocks of steps: scalars, nests and control flow, in order."""

from __future__ import annotations

from tri_backend_cpu.analysis.induction import Induction
from tri_backend_cpu.analysis.induction import Step as Move
from tri_backend_cpu.analysis.plan import BlockPlan, Control, Dot, Effect, Nest, Scalar, Scan
from tri_backend_cpu.builder import I64
from tri_backend_cpu.lower import effects, memory
from tri_backend_cpu.lower.context import Context
from tri_backend_cpu.lower.dot import emit_dot
from tri_backend_cpu.lower.elementwise import ELEMENTWISE, lower_constant, lower_elementwise
from tri_backend_cpu.lower.evaluator import Evaluator
from tri_backend_cpu.lower.frame import Frame
from tri_backend_cpu.lower.nest import emit_nest
from tri_backend_cpu.lower.place import ZERO, Place
from tri_backend_cpu.lower.polling import emit_poll
from tri_backend_cpu.lower.scan import emit_scan
from tri_core.api import Unsupported, located
from tri_core.mlir import ir
from tri_core.ttir import Block, DType, ForLoop, Op, Value
from tri_core.ttir.loops import FOR, IF, WHILE

__all__ = ["emit_block"]


def emit_block(context: Context, block: BlockPlan) -> None:
    """Emit the steps of ``block`` at the builder's insertion point, without a terminator."""
    for step in block.steps:
        match step:
            case Scalar():
                _scalar(context, step.op)
            case Nest():
                emit_nest(context, step)
            case Dot():
                emit_dot(context, step)
            case Scan():
                emit_scan(context, step)
            case Control():
                _CONTROL[step.op.name](context, step)


# --- scalars ----------------------------------------------------------------------------------------------


def _scalar(context: Context, op: Op) -> None:
    b = context.b
    b.location = op.location
    if op.name == "tt.barrier":
        return  # steps are done one after the other anyway
    if op.name == "arith.constant":
        context.scalars[op.result] = lower_constant(b, op.attributes["value"], op.result.dtype)
    elif op.name == "tt.get_program_id":
        context.scalars[op.result] = context.program[op.attributes["axis"]]
    elif op.name == "tt.get_num_programs":
        context.scalars[op.result] = context.grid[op.attributes["axis"]]
    elif op.name in ELEMENTWISE:
        context.scalars[op.result] = lower_elementwise(b, op, [context.scalars[v] for v in op.operands])
    else:
        _at_one_point(context, op)


def _at_one_point(context: Context, op: Op) -> None:
    """Ops that a nest does at every point, done at one."""
    e = Evaluator(context, Frame(context.b, 0, [context.b.ip]))
    match op.name:
        case "tt.load":
            context.scalars[op.result] = memory.load(e, op, Place(())).value
        case "tt.unsplat":
            source = op.operands[0]
            context.scalars[op.result] = e.lanes(source, Place((ZERO,) * len(source.shape))).value
        case name if effects.has_rule(name):
            effects.act(e, Effect(op.order, list(op.operands), [None], op), Place(()))
        case _:
            raise located(Unsupported, op.location, f"the CPU backend has no rule for {op.name}")


# --- control flow -----------------------------------------------------------------------------------------


def _for(context: Context, step: Control) -> None:
    """A counted loop: scalars are carried as they are, moving tensors as how far they have moved."""
    b, source = context.b, ForLoop(step.op)
    carried = [i for i, v in enumerate(source.results) if not v.is_tensor]
    lower, upper, by = (context.scalars[v] for v in source.bounds)
    initial = [context.scalars[source.inits[i]] for i in carried]
    initial += [b.constant(0, _amount(m)) for m in step.inductions]
    loop, block = b.loop(lower, upper, by, initial)
    index, *values = block.arguments
    context.scalars[source.induction_variable] = index
    for i, value in zip(carried, values, strict=False):
        context.scalars[source.iter_args[i]] = value
    for induction, value in zip(step.inductions, values[len(carried) :], strict=True):
        context.moved[induction.argument] = value
    before = b.ip
    b.ip = ir.InsertionPoint(block)
    outermost, context.counted = not context.counted, True
    if outermost:
        emit_poll(context)
    emit_block(context, step.blocks[0])
    context.counted = not outermost
    following = [context.scalars[source.yielded[i]] for i in carried]
    b.yield_(*following, *(_moved(context, m) for m in step.inductions))
    b.ip = before
    for i, value in zip(carried, loop.results, strict=False):
        context.scalars[source.results[i]] = value
    for induction, value in zip(step.inductions, list(loop.results)[len(carried) :], strict=True):
        context.moved[induction.result] = value


def _amount(induction: Induction) -> DType:
    """The type that an induction's distance is counted in."""
    return I64 if induction.argument.dtype.is_pointer else induction.argument.dtype


def _moved(context: Context, induction: Induction) -> ir.Value:
    """Offset of ``induction`` after one more iteration."""
    b, total, dtype = context.b, context.moved[induction.argument], _amount(induction)
    for move in induction.steps:
        name = "arith.subi" if move.negative else "arith.addi"
        total = b.same(name, total, _step(context, move, dtype))
    return total


def _step(context: Context, move: Move, dtype: DType) -> ir.Value:
    if isinstance(move.amount, int):
        return context.b.constant(move.amount, dtype)
    return context.b.convert_int(context.scalars[move.amount], dtype)


def _if(context: Context, step: Control) -> None:
    b, op = context.b, step.op
    wanted = [i for i, v in enumerate(op.results) if not v.is_tensor]
    types = [b.type(op.results[i].dtype) for i in wanted]
    branch, *blocks = b.branch(context.scalars[op.operands[0]], types)
    for plan, block, source in zip(step.blocks, blocks, op.blocks, strict=False):
        _fill(context, plan, block, source, wanted)
    if len(step.blocks) < 2 or not op.blocks[1].ops:
        with b.inside(blocks[1]):
            b.yield_()
    for i, value in zip(wanted, branch.results, strict=True):
        context.scalars[op.results[i]] = value


def _fill(context: Context, plan: BlockPlan, block: ir.Block, source: Block, wanted: list[int]) -> None:
    """Emit a branch's steps and yield the scalars among its results."""
    if not source.ops:
        return
    b = context.b
    before = b.ip
    b.ip = ir.InsertionPoint(block)
    emit_block(context, plan)
    b.yield_(*(context.scalars[source.terminator.operands[i]] for i in wanted))
    b.ip = before


def _while(context: Context, step: Control) -> None:
    b, op = context.b, step.op
    test, body = op.blocks
    inputs = [i for i, v in enumerate(op.operands) if not v.is_tensor]
    outputs = [i for i, v in enumerate(op.results) if not v.is_tensor]
    results = [b.type(op.results[i].dtype) for i in outputs]
    initial = [context.scalars[op.operands[i]] for i in inputs]
    loop = ir.Operation.create(WHILE, results=results, operands=initial, regions=2, loc=b.location, ip=b.ip)
    before = b.ip
    _enter(context, loop, 0, [test.arguments[i] for i in inputs], [v.type for v in initial])
    emit_block(context, step.blocks[0])
    condition, *carried = test.terminator.operands
    again = context.scalars[condition]
    if context.checks is not None:
        again = context.checks.unless_stopped(again)
    b.effect("scf.condition", again, *(context.scalars[carried[i]] for i in outputs))
    _enter(context, loop, 1, [body.arguments[i] for i in outputs], results)
    emit_poll(context)
    emit_block(context, step.blocks[1])
    b.yield_(*(context.scalars[body.terminator.operands[i]] for i in inputs))
    b.ip = before
    for i, value in zip(outputs, loop.results, strict=True):
        context.scalars[op.results[i]] = value


def _enter(
    context: Context, loop: ir.Operation, region: int, arguments: list[Value], types: list[ir.Type]
) -> None:
    """Open a region of ``loop`` whose block arguments stand for ``arguments``."""
    places = [context.b.location] * len(types)
    block = loop.regions[region].blocks.append(*types, arg_locs=places)
    context.scalars.update(zip(arguments, block.arguments, strict=True))
    context.b.ip = ir.InsertionPoint(block)


_CONTROL = {FOR: _for, IF: _if, WHILE: _while}
