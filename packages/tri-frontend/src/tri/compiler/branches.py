"""Rules of ``if``: folded when the condition is constexpr, ``scf.if`` when it is a run-time value.

A ``return`` under a run-time condition is lowered without jumps.  Where one side always returns, what
follows the ``if`` moves into the other side; else both sides give a flag, and what follows runs where it is
false.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tri.compiler.binding import bind
from tri.compiler.failures import Follows, paths_differ
from tri.compiler.generator import Exit
from tri.compiler.iterables import unrolled
from tri.compiler.rules import rule
from tri.compiler.values import NONE, describe, flatten, placeholder, rebuild, runtime, same_type
from tri.language import loops
from tri.language import types as t
from tri.language.casts import convert, is_plain
from tri.language.constexpr import constexpr, unwrap
from tri.language.shapes import reshape_to
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError, TriError
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir

if TYPE_CHECKING:
    from tri.compiler.generator import Generator

_MISSING = object()
#: of a name; the types follow (the words are Triton's: programs look for them)
_MISMATCH = "Mismatched type for {} between then block ({{}}) and else block ({{}}) of a run-time condition"


def truth(g: Generator, value: Any, what: str) -> bool | tensor:
    """A condition: a bool when it is known now, else a scalar int1."""
    if not isinstance(value, tensor):
        return bool(unwrap(value))
    if dimensions(value):
        if set(dimensions(value)) != {1}:
            raise CompilationError(
                f"{what} is a block ({value.type}), not a scalar",
                remedy="choose element by element with tl.where, or reduce it, e.g. with tl.max",
            )
        value = reshape_to(g.b, value, ())
    if value.dtype.is_ptr():  # as in C and Triton: whether it is not null
        value = convert(g.b, value, t.int64)
    return convert(g.b, value, t.int1)


def statements(g: Generator, body: Sequence[ast.stmt], *, tail: bool = False) -> Exit | None:
    """Generate ``body``; how it left the function, if it did.

    ``tail``: nothing follows in the function, so that running off the end returns None.  After an error the
    next statements are generated for the errors in them; then :class:`Follows` is raised.
    """
    failed = False
    for i, node in enumerate(body):
        if isinstance(node, ast.If) and g.source.returns(node):
            return branch_with_return(g, node, body[i + 1 :], tail)
        if isinstance(node, ast.For) and g.source.returns(node):
            iterations = located(g, node, functools.partial(_iterations, g, node))
            if iterations is not None:
                return statements(g, [*iterations, *body[i + 1 :]], tail=tail)
        before = g.names
        try:
            exit_: Exit | None = g.visit(node)
        except TriError as error:
            g.names = before
            if not g.errors.goes_on(g, error, node):
                raise
            failed = True
            continue
        if exit_ is not None:
            break
    else:
        exit_ = Exit(NONE) if tail else None
    if failed:
        raise Follows()
    return exit_


class Iteration(ast.stmt):
    """One iteration of an unrolled loop: ``value`` is bound to ``target``.  What a loop with a return becomes."""

    def __init__(self, target: ast.expr, value: Any) -> None:
        super().__init__()
        self.target, self.value = target, value
        ast.copy_location(self, target)


def _iterations(g: Generator, node: ast.For) -> list[ast.stmt] | None:
    """The statements of an unrolled loop, iteration after iteration; None for a loop at run time."""
    values = unrolled(g, node)
    if isinstance(values, loops.range):
        return None
    return [s for value in values for s in (Iteration(node.target, value), *node.body)]


@rule(Iteration)
def iteration(g: Generator, node: Iteration) -> None:
    """The loop's variable in one iteration."""
    bind(g, node.target, node.value)


def located(g: Generator, node: ast.AST, make: Callable[[], Any]) -> Any:
    """Result of ``make``, with its operations and errors located at ``node``."""
    b = g.b
    saved, b.location = b.location, g.ir_location(node)
    try:
        return make()
    except CompilationError as error:
        error.location = error.location or g.source.locate(node)
        raise
    finally:
        b.location = saved


@rule(ast.If)
def branch(g: Generator, node: ast.If) -> Exit | None:
    """An ``if`` without any return in it."""
    decision = truth(g, g.visit(node.test), "the condition of an if")
    if isinstance(decision, bool):
        return statements(g, node.body if decision else node.orelse)
    return either(
        g, decision, lambda: statements(g, node.body), lambda: statements(g, node.orelse), statement=node
    )


def branch_with_return(g: Generator, node: ast.If, rest: Sequence[ast.stmt], tail: bool) -> Exit | None:
    """An ``if`` that may return, and the statements after it."""
    decision = located(g, node, lambda: truth(g, g.visit(node.test), "the condition of an if"))
    if isinstance(decision, bool):
        chosen = node.body if decision else node.orelse
        return statements(g, [*chosen, *rest], tail=tail)
    exit_: Exit | None = located(g, node, lambda: _two_sides(g, node, decision, rest, tail))
    return exit_


def _two_sides(
    g: Generator, node: ast.If, decision: tensor, rest: Sequence[ast.stmt], tail: bool
) -> Exit | None:
    then_returns, else_returns = _always_returns(node.body), _always_returns(node.orelse)
    if then_returns or else_returns:
        then_side = node.body if then_returns else [*node.body, *rest]
        else_side = node.orelse if else_returns else [*node.orelse, *rest]
        return either(
            g,
            decision,
            lambda: statements(g, then_side, tail=tail),
            lambda: statements(g, else_side, tail=tail),
            statement=node,
        )
    exit_ = either(
        g, decision, lambda: statements(g, node.body), lambda: statements(g, node.orelse), statement=node
    )
    if exit_ is None:
        return statements(g, rest, tail=tail)
    if exit_.flag is None or (not rest and not tail):
        return exit_
    value = exit_.value
    return either(g, exit_.flag, lambda: Exit(value), lambda: statements(g, rest, tail=tail), statement=node)


def _always_returns(body: Sequence[ast.stmt]) -> bool:
    for node in body:
        if isinstance(node, ast.Return):
            return True
        if isinstance(node, ast.If) and _always_returns(node.body) and _always_returns(node.orelse):
            return True
    return False


@dataclass
class _Side:
    """One side of an ``scf.if`` while it is built: its block, how it ended, the names it bound."""

    block: ir.Block
    exit: Exit | None
    names: dict[str, Any]

    @property
    def falls(self) -> bool:
        """True if control may reach the following statement."""
        return self.exit is None or self.exit.flag is not None


def _side(g: Generator, scratch: ir.Operation, fill: Callable[[], Exit | None]) -> _Side:
    b = g.b
    block, _ = b.block(scratch.regions[0])
    before = g.names
    g.names = dict(before)
    try:
        with b.at(block):
            exit_ = fill()
        return _Side(block, exit_, g.names)
    finally:
        g.names = before


def either(
    g: Generator,
    decision: tensor,
    then_fill: Callable[[], Exit | None],
    else_fill: Callable[[], Exit | None],
    *,
    statement: ast.AST | None = None,
    mismatch: str = "Return type mismatch: {} and {}, by a run-time condition",
) -> Exit | None:
    """An ``scf.if`` whose sides are generated by the two functions; merges names and returned values.

    ``mismatch`` says that the types of the returned values, which it is given, differ.
    """
    scratches = (g.b.scratch(), g.b.scratch())
    sides = (_side(g, scratches[0], then_fill), _side(g, scratches[1], else_fill))
    names = _changed_names(g, sides, statement) if sides[0].falls or sides[1].falls else {}
    exits = [s.exit for s in sides if s.exit is not None]
    yields: tuple[list[Any], list[Any]] = ([], [])
    for side, out in zip(sides, yields, strict=True):
        with g.b.at(side.block):
            out.append(_returned(g, side, exits))
            out.append(_returned_flag(g, side) if exits and any(s.falls for s in sides) else constexpr(None))
            out.extend(runtime(g.b, side.names[n]) if side.falls else _MISSING for n in names)
    _fill_placeholders(g, sides, yields)
    _check_same(yields, [mismatch, "", *(_MISMATCH.format(name) for name in names)])
    results = _emit(g, decision, sides, yields)
    for name, value in zip(names, results[2:], strict=True):
        g.names[name] = value
    if not exits:
        return None
    flag = results[1]
    return Exit(results[0], flag if isinstance(flag, tensor) else None)


def _changed_names(g: Generator, sides: tuple[_Side, _Side], statement: ast.AST | None) -> dict[str, None]:
    """The names whose value after the ``if`` depends on the side; forgets those bound on one side only."""
    changed: dict[str, None] = {}
    live = [s for s in sides if s.falls]
    for name in dict.fromkeys([*sides[0].names, *sides[1].names]):
        values = [s.names.get(name, _MISSING) for s in live]
        if any(v is _MISSING for v in values) or _are_of_two_kinds(values):
            g.names.pop(name, None)
            line = getattr(statement, "lineno", "?")
            g.lost[name] = f"the statement of line {line} binds it to a value on some paths only"
        elif any(v is not g.names.get(name, _MISSING) for v in values):
            changed[name] = None
    return changed


def _are_of_two_kinds(values: Sequence[Any]) -> bool:
    """True if some values exist at run time while others, such as None, never do."""
    return len({isinstance(v, constexpr) and not is_plain(v.value) for v in values}) > 1


def _returned(g: Generator, side: _Side, exits: list[Exit]) -> Any:
    if side.exit is not None:
        # two equal constexprs stay one; anything else becomes a run-time value
        value = side.exit.value
        alike = len(exits) == 2 and all(same_type(e.value, value) for e in exits)
        return value if alike else runtime(g.b, value)
    return _MISSING if exits else constexpr(None)


def _returned_flag(g: Generator, side: _Side) -> tensor:
    if side.exit is None:
        return g.b.constant(False, t.int1)
    return side.exit.flag if side.exit.flag is not None else g.b.constant(True, t.int1)


def _fill_placeholders(g: Generator, sides: tuple[_Side, _Side], yields: tuple[list[Any], list[Any]]) -> None:
    """Zeros for what a side does not give: the value of a path that does not return, and vice versa."""
    for side, mine, other in ((sides[0], *yields), (sides[1], yields[1], yields[0])):
        with g.b.at(side.block):
            for i, value in enumerate(mine):
                if value is _MISSING:
                    mine[i] = placeholder(g.b, runtime(g.b, other[i]))


def _check_same(yields: tuple[list[Any], list[Any]], mismatches: Sequence[str]) -> None:
    for then_value, else_value, mismatch in zip(*yields, mismatches, strict=True):
        if not same_type(then_value, else_value):
            raise paths_differ(
                mismatch.format(describe(then_value), describe(else_value)),
                remedy="give both sides one type, e.g. with .to(...) or tl.full",
            )


def _emit(
    g: Generator, decision: tensor, sides: tuple[_Side, _Side], yields: tuple[list[Any], list[Any]]
) -> list[Any]:
    """The ``scf.if`` with both blocks; the structures of ``yields`` filled with its results."""
    b = g.b
    leaves = [flatten(tuple(y)) for y in yields]
    for side, values in zip(sides, leaves, strict=True):
        with b.at(side.block):
            b.create("scf.yield", operands=values)
    operation = b.create("scf.if", [v.type for v in leaves[0]], [decision], regions=2)
    for region, side in zip(operation.regions, sides, strict=True):
        side.block.append_to(region)
    results = (tensor(r, v.type) for r, v in zip(operation.results, leaves[0], strict=True))
    return [rebuild(value, results) for value in yields[0]]
