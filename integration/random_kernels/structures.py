"""Statements with tuples, named tuples and aggregates; the program's header has their types and helpers."""

from __future__ import annotations

from collections.abc import Callable

from integration.random_kernels.program import Program
from integration.random_kernels.values import Value

__all__ = ["STATEMENTS", "carried_pair"]


def _two_integers(p: Program) -> tuple[Value, Value]:
    x = p.pick(floats=False)
    return x, p.like(x)


def swapped(p: Program) -> None:
    """A tuple through a helper, taken apart; nested in another."""
    x, y = p.pick(), p.pick()
    first, second = p.fresh(), p.fresh()
    if p.integer(0, 1):
        p.emit(f"{first}, {second} = swap(({x.name}, {y.name}))")
    else:
        p.emit(f"({first}, _), {second} = swap(({x.name}, ({y.name}, {p.integer(0, 9)})))")
    p.values += [
        Value(first, y.dtype, y.shape, y.bound),
        Value(second, x.dtype, x.shape, x.bound),
    ]


def named_pair(p: Program) -> None:
    """A named tuple that a branch of a helper may change."""
    x, y = _two_integers(p)
    two = p.fresh()
    p.emit(f"{two} = mix(Two({x.name}, second={y.name}), flag)")
    p.let(f"{two}.{p.text('first', 'second')} - {two}[{p.integer(0, 1)}]", x.dtype, x.shape)


def span(p: Program) -> None:
    """An aggregate: a method, an operator, a constant of its own."""
    x, y = _two_integers(p)
    made = p.fresh()
    p.emit(f"{made} = Span({x.name}, {y.name}, {p.integer(1, 5)}).grow({p.like(x).name})")
    if p.integer(0, 1):
        p.emit(f"{made} = {made} + Span({y.name}, {x.name}, {made}.step)")
    p.let(f"{made}.{p.text('low', 'high')} * {made}.twice()", x.dtype, x.shape)


def carried_pair(p: Program) -> None:
    """A tuple or an aggregate that a loop or a branch carries."""
    x, y = _two_integers(p)
    z = p.like(x)
    made = p.fresh()
    head = p.text(f"for i{p.names} in range(n):", f"if flag > {p.integer(0, 2)}:")
    if p.integer(0, 1):
        p.emit(f"{made} = ({x.name}, {y.name})")
        p.emit(head)
        p.emit(f"    {made} = ({made}[1] ^ {z.name}, {made}[0] + {made}[1])")
        p.let(f"{made}[0] - {made}[1]", x.dtype, x.shape)
        return
    p.emit(f"{made} = Span({x.name}, {y.name}, 3)")
    p.emit(head)
    p.emit(f"    {made} = {made}.grow({z.name}) + {made}")
    p.let(f"{made}.low ^ {made}.high", x.dtype, x.shape)


#: what may stand anywhere
STATEMENTS: tuple[Callable[[Program], None], ...] = (swapped, named_pair, span)
