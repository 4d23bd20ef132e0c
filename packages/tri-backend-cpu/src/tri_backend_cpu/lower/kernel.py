"""The function around a kernel's body: it takes programs off the task until none is left."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tri_backend_cpu import launch_abi as abi
from tri_backend_cpu.analysis.aliasing import Aliasing
from tri_backend_cpu.analysis.axis import AxisAnalysis
from tri_backend_cpu.analysis.depth import prime
from tri_backend_cpu.analysis.plan import Effect, Nest, Plan
from tri_backend_cpu.analysis.planner import make_plan
from tri_backend_cpu.builder import I1, I8, I32, I64, POINTER, Builder
from tri_backend_cpu.lower.checks import Checks
from tri_backend_cpu.lower.context import Context, VectorFeatures
from tri_backend_cpu.lower.control import emit_block
from tri_backend_cpu.lower.extents import certain_accesses
from tri_backend_cpu.lower.polling import emit_poll
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.ttir import DType, read_kernel
from tri_core.ttir.loops import WHILE
from tri_core.ttir.reader import Kernel

__all__ = ["Lowered", "lower_kernel"]


@dataclass(frozen=True)
class Lowered:
    """A kernel at the vector level."""

    module: ir.Module
    name: str
    facts: abi.Facts


def lower_kernel(
    module: ir.Module, features: VectorFeatures, *, contract: bool = True, checked: bool = False
) -> Lowered:
    """The TTIR kernel in ``module`` as loops of vector instructions, in a new module.

    ``contract``: float products and sums may be fused; ``checked``: with a check of every access.  A kernel that is
    right only for arguments that don't overlap has a second function beside it, for those that do; a checked one is
    right for both.
    """
    made = ir.Module.create()
    declared: set[str] = set()
    emit = partial(_emit, module, made, features, declared, contract=contract, checked=checked)
    name, facts, aliasing = emit(ordered=checked)
    facts = replace(facts, apart=[list(a) for a in aliasing.assumptions()])
    if facts.apart and not checked:
        _, ordered, _ = emit(ordered=True)
        facts = replace(facts, ordered=ordered)
    Builder(made, made.body).text(abi.facts_symbol(name), facts.to_text())
    return Lowered(made, name, facts)


def _emit(
    module: ir.Module,
    made: ir.Module,
    features: VectorFeatures,
    declared: set[str],
    *,
    contract: bool,
    checked: bool,
    ordered: bool,
) -> tuple[str, abi.Facts, Aliasing]:
    """One version of the kernel in ``module`` as a function of ``made``: the kernel's name, and what is to be known."""
    kernel = read_kernel(module)  # anew: a plan rewrites it
    certain = [] if checked else certain_accesses(kernel)
    plan = make_plan(kernel.body, ordered=ordered)
    name = abi.ordered_symbol(kernel.name) if ordered and not checked else kernel.name
    entry = _function(made, name, features.bits)
    b = Builder(made, entry, contract=contract, native_half=features.half, declared=declared)
    context = _context(b, kernel, plan, features)
    if checked:
        context.checks = Checks(b, context.task, kernel.body.arguments, context.start)
    _program_loop(context, plan)
    b.ip = ir.InsertionPoint(entry)
    _order_streams(context)
    b.effect("llvm.return")
    reports = context.reports
    sizes = [p.dtype.nbytes for p in kernel.body.arguments]
    accesses = context.checks.accesses if context.checks is not None else []
    facts = abi.Facts(
        plan.arena, _stored(plan), reports.assertions, reports.prints, sizes, accesses, certain=certain
    )
    return kernel.name, facts, plan.aliasing


def _stored(plan: Plan) -> int:
    stores = (m.op.operand("value") for s in plan.body.walk() if isinstance(s, Nest) for m in _stores(s))
    return sum(v.type.numel * v.dtype.nbytes for v in stores)


def _stores(nest: Nest) -> list[Effect]:
    return [m for m in nest.members if isinstance(m, Effect) and m.op.name == "tt.store"]


def _order_streams(context: Context) -> None:
    """Make stores that went past the caches visible before the kernel is done."""
    b = context.b
    if context.streaming is None or not context.streams:
        return
    _, yes, no = b.branch(context.streaming)
    with b.inside(yes):
        if context.features.x86:
            b.intrinsic("llvm.x86.sse.sfence", None)
        else:
            b.effect("llvm.fence", ordering=ir.IntegerAttr.get(b.i64_type, 5))
        b.yield_()
    with b.inside(no):
        b.yield_()


def _function(module: ir.Module, name: str, vector_bits: int) -> ir.Block:
    """``void name(task, arena)`` and its entry block."""
    function = ir.Operation.parse(
        f"""llvm.func @{name}(%task: !llvm.ptr {{llvm.noalias}}, %arena: !llvm.ptr {{llvm.noalias}}) attributes {{
            passthrough = ["nounwind", ["prefer-vector-width", "{vector_bits}"]]
        }} {{ llvm.return }}"""
    )
    module.body.append(function)
    entry = function.regions[0].blocks[0]
    entry.operations[0].operation.erase()
    return entry


def _context(b: Builder, kernel: Kernel, plan: Plan, features: VectorFeatures) -> Context:
    """Read the task's fields and the kernel's arguments in the entry block."""
    task, arena = b.entry.arguments
    start = b.op("llvm.mlir.zero", b.type(POINTER)).owner  # a mark to put addresses before; nobody uses it
    parameters = kernel.body.arguments
    divisibility = dict(zip(parameters, kernel.divisibility, strict=True))
    axis = AxisAnalysis(divisibility, plan.inductions)
    address_axis = AxisAnalysis(divisibility, plan.inductions, addresses=True)
    prime(kernel.body, axis, address_axis)
    attention = b.load(b.offset(task, abi.ATTENTION, I8), POINTER)
    context = Context(b, plan, axis, address_axis, task, arena, attention, start, features)
    context.grid = [_field(context, abi.GRID + 4 * axis, I32) for axis in range(3)]
    context.streaming = b.cmp("ne", _field(context, abi.STREAM, I32), b.i32(0))
    offsets = abi.argument_offsets([p.dtype.nbytes for p in parameters])
    for parameter, offset in zip(parameters, offsets, strict=True):
        context.scalars[parameter] = _field(context, offset, parameter.dtype)
    return context


def _field(context: Context, offset: int, dtype: DType) -> ir.Value:
    b = context.b
    return b.load(b.offset(context.task, offset, I8), dtype)


def _program_loop(context: Context, plan: Plan) -> None:
    """``while ((first = next += chunk) < total) for program in first .. first + chunk``."""
    b = context.b
    total, chunk = _field(context, abi.TOTAL, I64), _field(context, abi.CHUNK, I64)
    counter = b.offset(context.task, abi.NEXT, I8)
    loop = ir.Operation.create(WHILE, results=[b.type(I64)], regions=2, ip=b.ip)
    with b.inside(loop.regions[0].blocks.append()):
        add, relaxed = (ir.IntegerAttr.get(b.i64_type, code) for code in (1, 2))
        first = b.op("llvm.atomicrmw", b.type(I64), counter, chunk, bin_op=add, ordering=relaxed)
        more = b.cmp("slt", first, total)
        if context.checks is not None:
            more = context.checks.unless_stopped(more)
        b.effect("scf.condition", more, first)
    body = loop.regions[1].blocks.append(b.type(I64), arg_locs=[b.location])
    with b.inside(body):
        first = body.arguments[0]
        last = b.same("arith.minsi", b.same("arith.addi", first, chunk), total)
        _, inner = b.loop(first, last, b.i64(1))
        b.yield_()
    b.ip = ir.InsertionPoint(inner)
    emit_poll(context)
    context.program = _coordinates(context, inner.arguments[0])
    if context.checks is not None:
        context.checks.program = context.program
        b.ip = _unless_stopped(context.checks)
    emit_block(context, plan.body)
    b.yield_()


def _unless_stopped(checks: Checks) -> ir.InsertionPoint:
    """Inside of a condition, in the loop over programs: nothing has failed yet."""
    b = checks.b
    _, yes, no = b.branch(checks.unless_stopped(b.constant(1, I1)))
    with b.inside(no):
        b.yield_()
    b.yield_()
    return ir.InsertionPoint(yes)


def _coordinates(context: Context, program: ir.Value) -> list[ir.Value]:
    """The index of ``program`` along x, y and z; x runs fastest."""
    b = context.b
    x_extent, y_extent = (b.convert_int(g, I64, signed=False) for g in context.grid[:2])
    rest = b.same("arith.divui", program, x_extent)
    x = b.same("arith.subi", program, b.same("arith.muli", rest, x_extent))
    z = b.same("arith.divui", rest, y_extent)
    y = b.same("arith.subi", rest, b.same("arith.muli", z, y_extent))
    return [b.convert_int(v, I32) for v in (x, y, z)]
