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


def _accumulation(d: Draft) -> None:
    """A loop that combines the reductions of blocks, exact in floats too, with other uses of either."""
    dtype = d.text("float32", "int32", "float32", "int64")
    kind = "sum" if d.one_in(2) else d.text("sum", "max", "min", "xor_sum")
    if kind == "xor_sum" and is_float(dtype):
        kind = "sum"
    rows, columns = d.choose(((16, 32), (32, 16), (16, 64), (4, 128)))
    axis = d.integer(0, 1)
    shape = ((rows, columns)[1 - axis],)
    total = d.step("zeros", (), dtype, shape, shape=shape, value=d.choose((0, 1)), to=dtype)
    other = d.step("zeros", (), dtype, shape, shape=shape, value=2, to=dtype)
    index = d.fresh("i")
    outer, values, d.body = d.body, list(d.values), []
    block = d.load((rows, columns), index=index)
    block = (
        d.step("small_float", (block,), dtype, block.shape, to=dtype)
        if is_float(dtype)
        else d.cast(block, dtype)
    )
    second = d.text("none", "before", "reduced", "after")
    if second == "before":
        d.step("arithmetic", (other, total), dtype, shape, name=other.name, sign="+")
    if kind == "sum" and is_float(dtype) and d.one_in(4):
        d.step("scaled_float", (total,), dtype, shape, name=total.name)
    reduced = _combined(d, total, block, axis, kind)
    if second in ("reduced", "after"):
        used = total if second == "after" else reduced
        d.step("arithmetic", (other, used), dtype, shape, name=other.name, sign=d.text("+", "-"))
    body, d.body = tuple(d.body), outer
    d.body.append(Loop(d.text("range", "tl.range", "while"), index, "", body))
    d.values[:] = [*(v for v in values if v.name not in (total.name, other.name)), total, other]


def _combined(d: Draft, total: Value, block: Value, axis: int, kind: str) -> Value:
    """The reduction of ``block``, which is combined with ``total``."""
    dtype, shape = total.dtype, total.shape
    if kind == "sum":
        reduced = sum_of(d, block, axis)
        d.step("arithmetic", (total, reduced), dtype, shape, name=total.name, sign="+")
    elif kind == "xor_sum":
        reduced = d.step("bit_sum", (block,), dtype, shape, kind=kind, axis=axis)
        d.step("bitwise", (total, reduced), dtype, shape, name=total.name, sign="^")
    else:
        name = "float_extremes" if is_float(dtype) else "extremes"
        reduced = d.step(name, (block,), dtype, shape, kind=kind, axis=axis)
        d.step("extreme", (total, reduced), dtype, shape, name=total.name, kind=kind, propagate=False)
    return reduced


DRAWS = (
    _loop,
    _loop,
    _loop,
    _loop,
    _branch,
    _branch,
    _masked,
    _pair,
    _accumulation,
    _accumulation,
    _accumulation,
)

PRODUCTIONS = (
    Production("copy", "{0}", lambda x: x),
    Production(
        "carried_pair",
        "{temporary} = ({0}, {1})\nfor _ in range({count}):\n    {temporary} = ({temporary}[1] ^ {2}, {temporary}[0] + {temporary}[1])\n"
        "{r0}, {r1} = {temporary}",
        _pair_of,
    ),
)
