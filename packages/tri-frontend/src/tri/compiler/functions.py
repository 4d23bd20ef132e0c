"""The kernel as a function of the module, and the jit functions that it calls, expanded where they are called.

Expanding is cheaper than emitting functions for an inliner to take apart again: a callee's body is generated
in place, with arguments bound to its parameters and call-site locations.  ``noinline`` is therefore a hint
that nothing depends on.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from tri.compiler.arguments import fill
from tri.compiler.branches import statements
from tri.compiler.builder import ir_type
from tri.compiler.generator import Generator
from tri.compiler.parameters import parameter_facts, parameter_values, runtime_parameters
from tri.compiler.values import NONE, describe, flatten, key
from tri.kernel import Kernel, KernelParameter
from tri.language import types as t
from tri.language.constexpr import unwrap
from tri.language.python_values import wrap
from tri_core.errors import (
    CompilationError,
    SourceLocation,
    TriError,
    Unsupported,
    UnsupportedConstruct,
)
from tri_core.mlir import ir
from tri_core.symbols import symbol_of

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri.compiler.source import ASTSource
    from tri.language.tensor import tensor

__all__ = ["bind_arguments", "call_jit", "expander", "make_kernel"]

_LIBRARY = "tri.language."
_LIBDEVICE = "tri.language.libdevice"
_DEEPEST = 100


def call_jit(
    g: Generator, function: Kernel, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.AST
) -> Any:
    """A call of another jit function: its body here, on these arguments; what it returns."""
    bound = bind_arguments(function, args, kwargs)
    try:
        return _expand(g, function, bound)
    except TriError as error:
        _found_in_callee(g, function, error, node)
        raise


def _expand(g: Generator, function: Kernel, bound: dict[str, Any]) -> Any:
    frame = (function, *((name, key(value)) for name, value in bound.items()))
    if frame in g.stack:
        raise CompilationError(
            f"{function.__name__} calls itself", remedy="kernels cannot recurse; use a loop"
        )
    if len(g.stack) >= _DEEPEST:
        raise CompilationError(
            f"{function.__name__} is called at a depth of {_DEEPEST}",
            remedy="use a loop, or let the recursion end earlier by a constexpr",
        )
    b = g.b
    saved = b.location
    callee = Generator(b, function, bound, caller=saved, stack=(*g.stack, frame))
    is_libdevice = function.__module__.startswith(_LIBDEVICE)
    try:
        with b.unsanitized() if is_libdevice else nullcontext():
            return _body(callee)
    finally:
        b.location = saved


def _found_in_callee(g: Generator, function: Kernel, error: TriError, node: ast.AST) -> None:
    """Give ``error`` the place of the call; where texts are Triton's, the error as the callee had it is the cause."""
    place = _called_from(g, function, error, node)
    if SourceLocation.tells_function and place.call_sites:
        inner = copy.copy(error)
        inner.__cause__ = error.__cause__
        error.__cause__ = inner
    error.location = place


def _called_from(g: Generator, function: Kernel, error: TriError, node: ast.AST) -> SourceLocation:
    """Location of an error in a callee: in the library's own functions the call, else with the call."""
    here = g.source.locate(node)
    if error.location is None or function.__module__.startswith(_LIBRARY):
        return here
    if error.location.call_sites[-1:] == (here,):  # a recursion: once is enough
        return error.location
    return dataclasses.replace(error.location, call_sites=(*error.location.call_sites, here))


def bind_arguments(function: Kernel, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by parameter name, defaults filled in.

    As in Triton, a function that a kernel calls takes run-time values for constexpr parameters, too: only
    what it does with them decides.
    """
    refuse_keywords(function)
    try:
        bound = function.signature.bind(*args, **kwargs)
    except TypeError as error:
        raise CompilationError(
            f"{function.__name__}: {error}", remedy=f"its parameters are {function.signature_text}"
        ) from None
    bound.apply_defaults()
    return {name: wrap(value) for name, value in bound.arguments.items()}


def refuse_keywords(function: Kernel) -> None:
    """CompilationError for a function with ``**kwargs``, which have no order to pass them in."""
    for parameter in function.params:
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            raise CompilationError(
                f"{function.__name__} takes **{parameter.name}; jit functions have no variable keywords",
                remedy="name the parameters, or pass a named tuple",
                location=function.source.locate(function.source.tree),
            )


def _refuse_contradictions(function: Kernel) -> None:
    """CompilationError for a constexpr that is not to be specialized on."""
    for parameter in function.params:
        if parameter.is_constexpr and (
            parameter.do_not_specialize or parameter.do_not_specialize_on_alignment
        ):
            raise CompilationError(
                f"parameter {parameter.name!r} of {function.__name__} is a constexpr and in do_not_specialize",
                remedy="drop one of the two: every value of a constexpr makes a kernel of its own",
                location=function.source.locate(function.source.tree),
            )


def _body(g: Generator) -> Any:
    exit_ = statements(g, g.source.tree.body, tail=True)
    return exit_.value if exit_ is not None else NONE


def expander(g: Generator) -> Callable[[Any, Sequence[Any]], Any]:
    """Implementation of :attr:`Builder.expand`: the body of a jit function generated in place."""

    def expand(function: Any, args: Sequence[Any]) -> Any:
        function = unwrap(function)
        if not isinstance(function, Kernel):
            raise CompilationError(
                f"the combine function is {describe(wrap(function))}", remedy="decorate it with @tri.jit"
            )
        return _expand(g, function, bind_arguments(function, args, {}))

    return expand


# --- the kernel -----------------------------------------------------------------------------------------


def make_kernel(b: Builder, source: ASTSource) -> None:
    """Generate ``source`` as the public kernel of its name."""
    function = source.fn
    refuse_keywords(function)
    _refuse_contradictions(function)
    g = Generator(b, function, {})
    b.expand = expander(g)
    b.location = g.ir_location(function.source.tree)
    parameters = runtime_parameters(source.types)
    block, arguments = _function(
        b, symbol_of(source.name), parameters, parameter_facts(source.types, source.attrs)
    )
    with b.at(block):
        given = dict(zip(parameters, arguments, strict=True))
        values = parameter_values(b, source.types, given, source.attrs)
    g.names = {p.name: _argument(p, values, source) for p in function.params}
    with b.at(block):
        result = _whole_body(g)
        b.location = g.ir_location(function.source.tree)
        b.create("tt.return")
    if flatten(result) or unwrap(result) is not None:
        raise CompilationError(
            f"kernel {function.__name__} returns {describe(result)}",
            remedy="a kernel gives results through tl.store",
            location=function.source.locate(_first_return(function)),
        )


def _whole_body(g: Generator) -> Any:
    """The kernel's body; the first error in it with the others as notes."""
    try:
        return _body(g)
    except TriError as error:
        if g.errors.is_only(error):
            _of_source(error)
            raise
    raise _of_source(g.errors.take())


def _of_source(error: TriError) -> TriError:
    """``error``, which stands at a place in the kernel: what is unsupported there is a kind of CompilationError."""
    if type(error) is Unsupported:
        error.__class__ = UnsupportedConstruct
    return error


def _argument(parameter: KernelParameter, values: Mapping[str, tensor], source: ASTSource) -> Any:
    """Argument inside the kernel for a parameter: a run-time value, a tuple of values, or a constant."""
    name = parameter.name
    if name in source.trees:
        return fill(source.trees[name], lambda leaf: values[leaf.name])
    return values[name] if name in values else _constant(parameter, source.constants)


def _function(
    b: Builder, name: str, types: Mapping[str, t.dtype], attributes: Mapping[str, Sequence[tuple[str, int]]]
) -> tuple[ir.Block, list[tensor]]:
    """A public ``tt.func`` without a body."""
    facts = [
        ir.DictAttr.get({key: b.i32(value) for key, value in attributes.get(parameter, ())})
        for parameter in types
    ]
    function_type = ir.FunctionType.get([ir_type(type_) for type_ in types.values()], [])
    operation = b.create(
        "tt.func",
        attributes={
            "sym_name": b.string(name),
            "function_type": ir.TypeAttr.get(function_type),
            "sym_visibility": b.string("public"),
            "arg_attrs": ir.ArrayAttr.get(facts),
        },
        regions=1,
    )
    return b.block(operation.regions[0], list(types.values()), list(types))


def _constant(parameter: KernelParameter, constants: Mapping[str, Any]) -> Any:
    if parameter.name not in constants:
        raise CompilationError(
            f"parameter {parameter.name!r} has neither a type in the signature nor a constexpr value",
            remedy="add it to the signature, or to constexprs",
        )
    return wrap(constants[parameter.name])


def _first_return(function: Kernel) -> ast.AST:
    returns: Iterator[ast.AST] = (
        n for n in ast.walk(function.source.tree) if isinstance(n, ast.Return) and n.value
    )
    return next(returns, function.source.tree)
