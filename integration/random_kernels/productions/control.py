"""Loops that carry values, branches that change them."""

from __future__ import annotations

from collections.abc import Sequence

from integration.random_kernels.draft import Draft
from integration.random_kernels.production import Production
from integration.random_kernels.productions.reductions import sum_of
from integration.random_kernels.program import Branch, Loop, Statement
from integration.random_kernels.values import BOOL, Array, Value, is_float

__all__ = ["DRAWS", "PRODUCTIONS"]


def _copied(d: Draft) -> Value:
    """A value of its own name, to be assigned again."""
    x = d.pick(most=512)
    return d.step("copy", (x,), x.dtype, x.shape)


def _advanced(d: Draft, carried: Value) -> Value:
    """``carried`` changed by another value, by a sum of a block, or by itself; gives the other value."""
    kind = d.integer(0, 3)
    if kind == 0 and not is_float(carried.dtype) and len(carried.shape) == 1 and carried.numel <= 64:
        block = d.cast(d.load((carried.shape[0], 8)), "int32")
        other = d.cast(sum_of(d, block, 1), carried.dtype)
    else:
        other = d.like(carried)
    d.step(
        "arithmetic",
        (carried, other),
        carried.dtype,
        carried.shape,
        name=carried.name,
        sign=d.text("+", "-", "*"),
    )
    return other


def _body(d: Draft, carried: Sequence[Value], index: str = "") -> tuple[Statement, ...]:
    """Statements that assign to ``carried``, each of which may be used again."""
    outer, values = d.body, list(d.values)
    d.body, d.depth = [], d.depth + 1
    for _ in range(d.integer(0, 2)):
        d.choose(d.table)(d)
    if index and d.one_in(3):
        _counted(d, index)
    if d.depth < 2 and d.one_in(6):
        d.choose(DRAWS)(d)
    for i, value in enumerate(carried):
        other = _advanced(d, value)
        if i and d.one_in(2):
            second = d.cast(d.choose((other, carried[0])), value.dtype)
            if second.shape == value.shape:
                d.step(
                    "arithmetic",
                    (value, second),
                    value.dtype,
                    value.shape,
                    name=value.name,
                    sign=d.text("+", "-"),
                )
    made = tuple(d.body)
    d.body, d.depth = outer, d.depth - 1
    d.values[:] = values
    return made


def _counted(d: Draft, index: str) -> None:
    """The loop's counter, as a value: only with int32 has it one meaning wherever it runs."""
    x = d.pick(dtypes=("int32",))
    d.step("arithmetic", (x, index), "int32", x.shape, sign=d.text("+", "*"))


def _carried(d: Draft) -> list[Value]:
    """One value, or two of a shape, or the same twice."""
    first = _copied(d)
    if d.one_in(2):
        second = d.cast(d.like(first), d.dtype(floats=is_float(first.dtype)))
        return [first, d.step("copy", (second,), second.dtype, second.shape)]
    return [first]


def _loop(d: Draft) -> None:
    carried = _carried(d)
    kind = d.text("range", "tl.range", "while", "tl.range")
    index = d.fresh("i")
    options = f", num_stages={d.integer(1, 3)}" if kind == "tl.range" and d.one_in(2) else ""
    body = _body(d, carried, index)
    d.body.append(Loop(kind, index, options, body))


def _branch(d: Draft) -> None:
    carried = _carried(d)
    above = d.integer(0, 2)
    body = _body(d, carried)
    orelse = _body(d, carried) if d.one_in(2) else ()
    d.body.append(Branch(above, body, orelse))


def _masked(d: Draft) -> None:
    """A mask that a loop carries."""
    mask = d.condition(d.pick().shape)
    mask = d.step("copy", (mask,), BOOL, mask.shape)
    outer, values = d.body, list(d.values)
    d.body = []
    d.step(
        "bitwise",
        (mask, d.condition(mask.shape)),
        BOOL,
        mask.shape,
        name=mask.name,
        sign=d.text("&", "|", "^"),
    )
    body = tuple(d.body)
    d.body, d.values[:] = outer, values
    d.body.append(Loop("range", d.fresh("i"), "", body))


def _pair(d: Draft) -> None:
    """A tuple that a loop carries."""
    x = d.pick(floats=False)
    results = (Value(d.fresh(), x.dtype, x.shape), Value(d.fresh(), x.dtype, x.shape))
    d.steps("carried_pair", (x, d.like(x), d.like(x)), results, count=d.integer(0, 3), temporary=d.fresh())


def _pair_of(x: Array, y: Array, z: Array, count: int, temporary: str) -> tuple[Array, Array]:
    del temporary
    for _ in range(count):
        x, y = y ^ z, x + y
    return x, y


DRAWS = (_loop, _loop, _loop, _branch, _branch, _masked, _pair)

PRODUCTIONS = (
    Production("copy", "{0}", lambda x: x),
    Production(
        "carried_pair",
        "{temporary} = ({0}, {1})\nfor _ in range({count}):\n    {temporary} = ({temporary}[1] ^ {2}, {temporary}[0] + {temporary}[1])\n"
        "{r0}, {r1} = {temporary}",
        _pair_of,
    ),
)
