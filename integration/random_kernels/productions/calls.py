"""Functions of the program's own, tuples, named tuples and aggregates."""

from __future__ import annotations

import numpy as np

from integration.random_kernels.draft import Draft
from integration.random_kernels.production import Production
from integration.random_kernels.program import Parameters, Step
from integration.random_kernels.values import Array, Value

__all__ = ["PRODUCTIONS"]


def _pair(d: Draft) -> tuple[Value, Value]:
    x = d.pick(floats=False)
    return x, d.like(x)


def _either(d: Draft) -> None:
    x, y = _pair(d)
    d.step("either", (x, y), x.dtype, x.shape, which=d.integer(0, 3))


def _twice(d: Draft) -> None:
    x, y = _pair(d)
    d.steps("twice", (x, y), (Value(d.fresh(), x.dtype, x.shape), Value(d.fresh(), x.dtype, x.shape)))


def _twice_of(x: Array, y: Array) -> tuple[Array, Array]:
    both = x ^ y
    return both + x, both - y


def _swap(d: Draft) -> None:
    x, y = d.pick(), d.pick()
    d.steps(
        "swap",
        (x, y),
        (Value(d.fresh(), y.dtype, y.shape), Value(d.fresh(), x.dtype, x.shape)),
        nested=d.one_in(2),
    )


def _swap_text(step: Step, parameters: Parameters) -> str:
    del parameters
    nested = dict(step.attributes)["nested"]
    return "({r0}, _), {r1} = swap(({0}, ({1}, 3)))" if nested else "{r0}, {r1} = swap(({0}, {1}))"


def _mix(d: Draft) -> None:
    x, y = _pair(d)
    d.step(
        "mix",
        (x, y),
        x.dtype,
        x.shape,
        which=d.integer(0, 1),
        part=d.text("first", "second"),
        temporary=d.fresh(),
    )


def _mix_of(x: Array, y: Array, which: int, part: str, temporary: str) -> Array:
    del temporary
    first, second = (y, x + y) if which > 0 else (x, y)
    return np.subtract(first if part == "first" else second, second)


def _span(d: Draft) -> None:
    x, y = _pair(d)
    d.step(
        "span", (x, y, d.like(x)), x.dtype, x.shape,
        count=d.integer(1, 5), added=d.one_in(2), part=d.text("low", "high"), temporary=d.fresh(),
    )  # fmt: skip


def _span_text(step: Step, parameters: Parameters) -> str:
    del parameters
    added = (
        "\n{temporary} = {temporary} + Span({1}, {0}, {temporary}.step)"
        if dict(step.attributes)["added"]
        else ""
    )
    return (
        "{temporary} = Span({0}, {1}, {count}).grow({2})"
        + added
        + "\n{r0} = {temporary}.{part} * {temporary}.twice()"
    )


def _span_of(x: Array, y: Array, z: Array, count: int, added: bool, part: str, temporary: str) -> Array:
    del temporary
    low, high = np.minimum(x, z), np.maximum(y, z)
    if added:
        low, high = low + x, high ^ y
    return np.asarray((low if part == "low" else high) * x.dtype.type(2 * count))


def _fold(d: Draft) -> None:
    x, y = _pair(d)
    results = (Value(d.fresh(), x.dtype, x.shape), Value(d.fresh(), x.dtype, x.shape))
    d.steps("fold", (x, y), results, count=d.integer(0, 2))


def _nest(a: Array, b: Array) -> tuple[tuple[Array, tuple[Array, Array]], Array]:
    first, second = _twice_of(b, a)
    return (first, (second, a)), b


def _fold_of(x: Array, y: Array, count: int) -> tuple[Array, Array]:
    (a, (b, c)), last = _nest(x, y)
    for _ in range(count):
        a, pair = _nest(a, b)[0]
        b = pair[0] + c
    return a + last, b


PRODUCTIONS = (
    Production(
        "either",
        "either({0}, {1}, {which})",
        lambda x, y, which: x if which > 1 else y,
        _either,
        helpers=("either",),
    ),
    Production("twice", "{r0}, {r1} = twice({0}, {1})", _twice_of, _twice, helpers=("twice",)),
    Production("swap", _swap_text, lambda x, y, nested: (y, x), _swap, helpers=("swap",)),
    Production(
        "mix",
        "{temporary} = mix(Two({0}, second={1}), {which})\n{r0} = {temporary}.{part} - {temporary}[1]",
        _mix_of,
        _mix,
        helpers=("Two", "mix"),
    ),
    Production("span", _span_text, _span_of, _span, helpers=("Span",)),
    Production(
        "fold",
        "{r0}, {r1} = fold(nest({0}, {1}), {count})",
        _fold_of,
        _fold,
        helpers=("twice", "nest", "fold"),
    ),
)
