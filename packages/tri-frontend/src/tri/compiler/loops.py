"""Rules of ``for`` and ``while``: unrolled, or ``scf`` loops with carried values."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tri.compiler.binding import bind
from tri.compiler.branches import statements, truth
from tri.compiler.failures import paths_differ
from tri.compiler.iterables import unrolled
from tri.compiler.rules import rule
from tri.compiler.values import describe, flatten, has_tensors, rebuild, runtime, same_type
from tri.language import loops
from tri.language import types as t
from tri.language.arithmetic import BINARY
from tri.language.casts import convert, value_of
from tri.language.constexpr import constexpr, unwrap
from tri.language.promotion import integer_type
from tri.language.python_values import wrap
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError
from tri_core.mlir import ir

if TYPE_CHECKING:
    from tri.compiler.generator import Generator


@rule(ast.For)
def for_loop(g: Generator, node: ast.For) -> None:
    """``for``: unrolled over tuples and static_range, else an ``scf.for``."""
    iterations = unrolled(g, node)
    if not isinstance(iterations, loops.range):
        for value in iterations:
            bind(g, node.target, value)
            statements(g, node.body)
        return
    _loop(g, node, iterations)


# --- run-time for ---------------------------------------------------------------------------------------


def _bounds(g: Generator, loop: loops.range) -> tuple[list[tensor], t.dtype, bool]:
    """Start, end and step as values of one integer type, and whether the loop counts down."""
    b = g.b
    step = unwrap(loop.step)
    down = isinstance(step, int) and step < 0
    if isinstance(step, int) and step == 0:
        raise CompilationError("range has step 0", remedy="use a positive or a negative step")
    values = []
    for name, bound in (("start", loop.start), ("end", loop.end), ("step", -step if down else step)):
        value = value_of(b, unwrap(bound))
        if not value.type.is_int():
            raise CompilationError(
                f"range's {name} is {value.type}; a scalar integer is needed",
                remedy="cast it, e.g. with .to(tl.int32)",
            )
        values.append(value)
    common = integer_type(integer_type(values[0].dtype, values[1].dtype), values[2].dtype)
    if common.int_bitwidth < 32:
        common = t.int32
    start, end, step_value = (convert(b, v, common) for v in values)
    return ([end, start, step_value] if down else [start, end, step_value]), common, down


def _loop(g: Generator, node: ast.For, loop: loops.range) -> None:
    b = g.b
    bounds, index_type, down = _bounds(g, loop)
    if not isinstance(node.target, ast.Name):
        raise CompilationError(
            "a loop over a range has one name as its variable", remedy="write for i in range(...)"
        )
    carried = _carried(g, node.body, without=node.target.id)
    initial = flatten(tuple(carried.values()))
    types = [v.type for v in initial]
    attributes = _hints(g, loop)
    if index_type.is_int_unsigned():
        attributes["unsignedCmp"] = b.unit()
    operation = b.create("scf.for", types, [*bounds, *initial], attributes, regions=1)
    names = [node.target.id, *_leaf_names(carried)]
    block, (index, *inside) = b.block(operation.regions[0], [index_type, *types], names)
    before = g.names
    g.names = {**before, **_rebind(carried, inside)}
    with b.at(block):
        if down:  # the loop runs from end to start; the variable mirrors it
            index = BINARY["-"](b, bounds[1], BINARY["-"](b, index, bounds[0]))
        g.names[node.target.id] = index
        _body(g, node)
        lost = _finish(g, node, before, _rebind(carried, inside), skip=node.target.id)
    # Python's loop variable outlives the loop; ours does not, so that nobody reads something else by its name
    _leave(g, node, before, carried, operation, {*lost, node.target.id})
    g.lost[node.target.id] = f"it is the variable of the loop of line {node.lineno}, and ends with it"


def _hints(g: Generator, loop: loops.range) -> dict[str, ir.Attribute]:
    b = g.b
    attributes: dict[str, ir.Attribute] = {}
    for name in ("num_stages", "loop_unroll_factor"):
        value = getattr(loop, name)
        if value is not None:
            if not isinstance(value, int):
                raise CompilationError(
                    f"range's {name} is {describe(wrap(value))}; a constexpr int is needed",
                    remedy="give a number, or annotate the parameter that it comes from with tl.constexpr",
                )
            attributes[f"tt.{name}"] = b.i32(value)
    for name in ("disallow_acc_multi_buffer", "flatten", "warp_specialize"):
        if getattr(loop, name):
            attributes[f"tt.{name}"] = b.unit()
    if loop.warp_specialize is not None and not loop.warp_specialize:  # against an option that says otherwise
        attributes["tt.warp_specialize"] = ir.BoolAttr.get(False)
    if loop.disable_licm:
        attributes["llvm.loop_annotation"] = _without_licm()
    return attributes


def _without_licm() -> ir.Attribute:
    """The annotation that keeps invariant code inside of a loop."""
    return ir.Attribute.parse("#llvm.loop_annotation<licm = <disable = true>>")


# --- while ----------------------------------------------------------------------------------------------


@rule(ast.While)
def while_loop(g: Generator, node: ast.While) -> None:
    """``while``: an ``scf.while``."""
    if node.orelse:
        raise CompilationError("a loop in a kernel has no else", remedy="put it after the loop")
    b = g.b
    carried = _carried(g, [node.test, *node.body])
    initial = flatten(tuple(carried.values()))
    types = [v.type for v in initial]
    names = _leaf_names(carried)
    operation = b.create("scf.while", types, initial, regions=2)
    before = g.names
    block, inside = b.block(operation.regions[0], types, names)
    g.names = {**before, **_rebind(carried, inside)}
    with b.at(block):
        decision, hints = _while_condition(g, node)
        for name, hint in hints.items():
            operation.attributes[name] = hint
        passed = [g.names[n] for n in carried]
        b.create("scf.condition", operands=[decision, *flatten(tuple(passed))])
    block, inside = b.block(operation.regions[1], types, names)
    g.names = {**before, **_rebind(carried, inside)}
    with b.at(block):
        _body(g, node)
        lost = _finish(g, node, before, _rebind(carried, inside))
    _leave(g, node, before, carried, operation, lost)


def _while_condition(g: Generator, node: ast.While) -> tuple[tensor, dict[str, ir.Attribute]]:
    """The condition as an int1, and the loop's attributes from ``tl.condition``."""
    value = g.visit(node.test)
    hints: dict[str, ir.Attribute] = {}
    if isinstance(value, constexpr) and isinstance(value.value, loops.condition):
        given = value.value
        if unwrap(given.disable_licm):
            hints["llvm.loop_annotation"] = _without_licm()
        value = wrap(given.condition)
    decision = truth(g, value, "the condition of a while")
    return (g.b.constant(decision, t.int1) if isinstance(decision, bool) else decision), hints


# --- carried values -------------------------------------------------------------------------------------


def _carried(g: Generator, body: Sequence[ast.AST], without: str = "") -> dict[str, Any]:
    """The run-time values that ``body`` may bind anew, by name, as they are before the loop."""
    names = dict.fromkeys(name for node in body for name in g.source.assigned(node))
    return {n: g.names[n] for n in names if n != without and has_tensors(g.names.get(n))}


def _leaf_names(carried: dict[str, Any]) -> list[str]:
    return [name for name, value in carried.items() for _ in flatten(value)]


def _rebind(carried: dict[str, Any], leaves: list[tensor]) -> dict[str, Any]:
    remaining = iter(leaves)
    return {name: rebuild(value, remaining) for name, value in carried.items()}


def _body(g: Generator, node: ast.For | ast.While) -> None:
    saved, g.loop = g.loop, node
    try:
        statements(g, node.body)
    finally:
        g.loop = saved


def _finish(
    g: Generator, node: ast.For | ast.While, before: dict[str, Any], carried: dict[str, Any], skip: str = ""
) -> set[str]:
    """End the body: yield the values of ``carried`` (as they came in), whose types must be what they were.

    Gives the names that the body took away and that nothing in it reads: they are gone after the loop.
    """
    lost = {name for name in before if name not in g.names and name != skip}
    for name in sorted(lost):
        if _is_read(node.body, name):
            raise paths_differ(
                f"{name!r} has no value in the next iteration of the loop: {g.lost.get(name, 'it is not bound')}",
                remedy=f"give {name} a value on every path through the loop",
                location=g.source.locate(node),
            )
    values = [initial if name in lost else runtime(g.b, g.names[name]) for name, initial in carried.items()]
    for (name, initial), value in zip(carried.items(), values, strict=True):
        if not same_type(initial, value):
            raise _changes_type(g, node, name, initial, value)
    for name, initial in before.items():
        if name in carried or name in lost or name == skip or g.names[name] is initial:
            continue
        if _is_read(node.body, name):
            raise _changes_type(g, node, name, initial, g.names[name])
        lost.add(name)
        g.lost[name] = f"the loop of line {node.lineno} binds it to a value that is not known before it runs"
    g.b.create("scf.yield", operands=flatten(tuple(values)))
    return lost


def _is_read(body: Sequence[ast.AST], name: str) -> bool:
    """True if ``body`` reads ``name`` other than as the variable of a loop in it."""
    for node in body:
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and node.target.id == name:
            continue
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            return True
        if _is_read(list(ast.iter_child_nodes(node)), name):
            return True
    return False


def _leave(
    g: Generator,
    node: ast.For | ast.While,
    before: dict[str, Any],
    carried: dict[str, Any],
    operation: ir.Operation,
    lost: set[str],
) -> None:
    """The names after the loop: carried ones are its results, lost ones and those that only the loop binds are gone."""
    initial = flatten(tuple(carried.values()))
    results = [tensor(r, v.type) for r, v in zip(operation.results, initial, strict=True)]
    after = before | _rebind(carried, results)
    for name in g.names:
        if name not in after:
            g.lost[name] = f"only the loop of line {node.lineno} binds it, and it may run zero times"
    g.names = {name: value for name, value in after.items() if name not in lost}


def _is_scalar(value: Any) -> bool:
    return isinstance(value, tensor) and not dimensions(value)


def _changes_type(
    g: Generator, node: ast.For | ast.While, name: str, initial: Any, value: Any
) -> CompilationError:
    stores = [
        n
        for statement in node.body
        for n in ast.walk(statement)
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
    ]
    first = f"has initial type {describe(initial)}"
    remedy = "keep its type through the loop: cast with .to(...), or start with a value of the type it gets"
    if not has_tensors(initial):
        first = f"is {describe(initial)} before the loop"
        remedy = f"use another name inside of the loop, or make {name} a run-time value before it"
    elif _is_scalar(initial) and isinstance(value, tensor) and dimensions(value):
        remedy = f"start with a block, e.g. {name} = tl.zeros({list(dimensions(value))}, dtype=...)"
    return paths_differ(
        f"Loop-carried variable {name} {first} but is re-assigned to {describe(value)} in loop",
        remedy=remedy,
        location=g.source.locate(stores[-1]) if stores else g.source.locate(node),
    )
