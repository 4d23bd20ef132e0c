"""Functions of the module: the kernel, and the specialised copies of the jit functions that it calls."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tri.compiler.branches import statements
from tri.compiler.builder import ir_type
from tri.compiler.generator import Generator, Unit
from tri.compiler.values import NONE, describe, flatten, key, mangle, rebuild, wrap
from tri.jit import JITFunction, KernelParameter
from tri.language import types as t
from tri.language.constexpr import constexpr, unwrap
from tri.language.tensor import tensor
from tri_core.errors import CompilationError, TriError
from tri_core.mlir import ir

if TYPE_CHECKING:
    from collections.abc import Callable

    from tri.compiler.builder import Builder

__all__ = ["Specialized", "call_jit", "expander", "make_kernel"]

_LIBRARY = "tri.language."


@dataclass(frozen=True)
class Specialized:
    """A function made for some argument types: its symbol, what it returns, whether its body is empty."""

    symbol: str
    result: Any
    empty: bool


def call_jit(
    g: Generator, function: JITFunction, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Any:
    """A call of another jit function, specialised for the types and constexprs of its arguments."""
    bound = bind_arguments(function, args, kwargs)
    leaves = flatten(tuple(bound.values()))
    lookup = (function, *((name, key(value)) for name, value in bound.items()))
    if lookup in g.unit.functions:
        made = g.unit.functions[lookup]
        if made is None:
            raise CompilationError(
                f"{function.__name__} calls itself", remedy="kernels cannot recurse; use a loop"
            )
    else:
        g.unit.functions[lookup] = None
        try:
            made = g.unit.functions[lookup] = _specialize(g.unit, function, bound)
        except TriError as error:
            error.location = _called_from(g, function, error, node)
            raise
        finally:
            if g.unit.functions[lookup] is None:
                del g.unit.functions[lookup]
    if made.empty:
        return rebuild(made.result, iter(leaves)) if not flatten(made.result) else _call(g.b, made, leaves)
    return _call(g.b, made, leaves)


def _call(b: Builder, made: Specialized, leaves: list[tensor]) -> Any:
    results = flatten(made.result)
    attributes = {"callee": ir.FlatSymbolRefAttr.get(made.symbol)}
    operation = b.create("tt.call", [r.type for r in results], leaves, attributes)
    values = (tensor(r, old.type) for r, old in zip(operation.results, results, strict=True))
    return rebuild(made.result, values)


def _called_from(g: Generator, function: JITFunction, error: TriError, node: ast.AST) -> Any:
    """Where to report an error in a callee: in the library's own functions at the call, else with the call."""
    here = g.source.locate(node)
    if error.location is None or function.__module__.startswith(_LIBRARY):
        return here
    return dataclasses.replace(error.location, call_sites=(*error.location.call_sites, here))


def bind_arguments(function: JITFunction, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by parameter name, defaults filled in; constexpr parameters must get static values."""
    try:
        bound = function.signature.bind(*args, **kwargs)
    except TypeError as error:
        raise CompilationError(
            f"{function.__name__}: {error}", remedy=f"its parameters are {function.signature_text}"
        ) from None
    bound.apply_defaults()
    values = {name: wrap(value) for name, value in bound.arguments.items()}
    for parameter in function.params:
        value = values[parameter.name]
        if parameter.is_constexpr and flatten(value):
            raise CompilationError(
                f"parameter {parameter.name!r} of {function.__name__} is a constexpr, got {describe(value)}",
                remedy="pass a compile-time value, or drop the annotation of the parameter",
            )
    return values


def _specialize(unit: Unit, function: JITFunction, bound: dict[str, Any]) -> Specialized:
    """Generate a private function for arguments of these types."""
    b = unit.builder
    name = f"{function.__module__}.{function.__qualname__}__{mangle(list(bound.values()))}"
    symbol = unit.symbol(name.replace("<locals>", "_"))
    saved_point, saved_location = b.point, b.location
    try:
        leaves = flatten(tuple(bound.values()))
        g = Generator(unit, function, {})
        b.location = g.ir_location(function.source.tree)
        operation, block, inside = _function(
            b, symbol, "private", [v.type for v in leaves], _leaf_names(bound)
        )
        if function.noinline:
            operation.attributes["noinline"] = b.boolean(True)
        remaining = iter(inside)
        g.names = {n: rebuild(v, remaining) for n, v in bound.items()}
        with b.at(block):
            result = _generate(g)
        empty = len(block.operations) == 1
        return Specialized(symbol, result, empty and not flatten(result))
    finally:
        b.point, b.location = saved_point, saved_location


def _leaf_names(bound: Mapping[str, Any]) -> list[str]:
    return [name for name, value in bound.items() for _ in flatten(value)]


def _function(
    b: Builder, symbol: str, visibility: str, types: Sequence[t.dtype], names: Sequence[str]
) -> tuple[ir.Operation, ir.Block, list[tensor]]:
    """An empty ``tt.func`` at the end of the module; its results are set when its body is there."""
    b.point = ir.InsertionPoint(b.module.body)
    attributes = {
        "sym_name": b.string(symbol),
        "function_type": _function_type(types, ()),
        "sym_visibility": b.string(visibility),
    }
    operation = b.create("tt.func", attributes=attributes, regions=1)
    block, arguments = b.block(operation.regions[0], types, names)
    return operation, block, arguments


def _function_type(arguments: Sequence[t.dtype], results: Sequence[t.dtype]) -> ir.Attribute:
    return ir.TypeAttr.get(
        ir.FunctionType.get([ir_type(a) for a in arguments], [ir_type(r) for r in results])
    )


def _generate(g: Generator) -> Any:
    """The body of the generator's function at the insertion point, ending in a return; what it returns."""
    result = _body(g)
    b = g.b
    leaves = flatten(result)
    b.location = g.ir_location(g.source.tree)
    b.create("tt.return", operands=leaves)
    block = b.point.block
    function = block.owner
    if leaves:
        types = [ir.Value(a).type for a in block.arguments]
        function.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get(types, [ir_type(v.type) for v in leaves])
        )
    return result


def _body(g: Generator) -> Any:
    exit_ = statements(g, g.source.tree.body, tail=True)
    return exit_.value if exit_ is not None else NONE


def expander(unit: Unit) -> Callable[[Any, Sequence[Any]], Any]:
    """What :attr:`Builder.expand` does: the body of a jit function generated in place."""

    def expand(function: Any, args: Sequence[Any]) -> Any:
        function = unwrap(function)
        if not isinstance(function, JITFunction):
            raise CompilationError(
                f"the combine function is {describe(wrap(function))}", remedy="decorate it with @tri.jit"
            )
        saved = unit.builder.location
        try:
            return _body(Generator(unit, function, bind_arguments(function, args, {})))
        finally:
            unit.builder.location = saved

    return expand


# --- the kernel -----------------------------------------------------------------------------------------


def make_kernel(
    unit: Unit,
    function: JITFunction,
    types: Mapping[str, t.dtype],
    constants: Mapping[str, Any],
    attributes: Mapping[str, Sequence[tuple[str, int]]],
    name: str,
) -> None:
    """Generate ``function`` as the public kernel ``name``.

    ``types``: the run-time parameters in order; ``constants``: the others' values; ``attributes``: facts
    about run-time parameters, as pairs (``("tt.divisibility", 16)``).
    """
    b = unit.builder
    g = Generator(unit, function, {})
    b.location = g.ir_location(function.source.tree)
    operation, block, arguments = _function(b, unit.symbol(name), "public", list(types.values()), list(types))
    facts = [
        ir.DictAttr.get({key: b.i32(value) for key, value in attributes.get(parameter, ())})
        for parameter in types
    ]
    operation.attributes["arg_attrs"] = ir.ArrayAttr.get(facts)
    values = dict(zip(types, arguments, strict=True))
    g.names = {
        p.name: values[p.name] if p.name in values else _constant(p, constants) for p in function.params
    }
    with b.at(block):
        result = _generate(g)
    if flatten(result) or unwrap(result) is not None:
        raise CompilationError(
            f"kernel {function.__name__} returns {describe(result)}",
            remedy="a kernel gives results through tl.store",
            location=function.source.locate(_first_return(function)),
        )


def _constant(parameter: KernelParameter, constants: Mapping[str, Any]) -> Any:
    if parameter.name not in constants:
        raise CompilationError(
            f"parameter {parameter.name!r} has neither a type in the signature nor a constexpr value",
            remedy="add it to the signature, or to constexprs",
        )
    value = wrap(constants[parameter.name])
    return value if isinstance(value, (constexpr, tuple, JITFunction)) else constexpr(value)


def _first_return(function: JITFunction) -> ast.AST:
    returns: Iterator[ast.AST] = (
        n for n in ast.walk(function.source.tree) if isinstance(n, ast.Return) and n.value
    )
    return next(returns, function.source.tree)
