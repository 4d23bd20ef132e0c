"""The statements that a random program is made of: a table of small functions that each add one.

What must be exact on every target: integer arithmetic (it wraps around), bits, comparisons, choices, casts,
single float operations, moves of data.  What is within a tolerance goes to a store and nowhere else: a
later comparison would make a difference of rounding one of values.
"""

from __future__ import annotations

from collections.abc import Callable

from integration.random_kernels import structures, windows
from integration.random_kernels.program import Program
from integration.random_kernels.values import DTYPES, FLOATS, INTEGERS, VECTORS, bits, is_float

__all__ = ["BLOCKS", "EPSILON", "FUNCTIONS", "STATEMENTS", "Production", "call_of"]

Production = Callable[[Program], None]

EPSILON = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-21, "float64": 2**-48}

#: functions of ``tl``, and those of ``libdevice``, on fp32 and fp64
LANGUAGE_FUNCTIONS = ("exp", "exp2", "sin", "cos", "sigmoid", "erf", "log", "log2", "sqrt", "rsqrt")
LIBDEVICE_FUNCTIONS = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cosh", "erfc", "expm1", "hypot", "log10",
    "log1p", "pow", "sinh", "tan", "tanh",
)  # fmt: skip
FUNCTIONS = (*LANGUAGE_FUNCTIONS, *LIBDEVICE_FUNCTIONS)
#: a number as one of at most 4 in size
SMALL = "tl.minimum(tl.maximum({}, -4.0), 4.0)"
#: arguments that some functions take: positive ones, small ones, those below 1
DOMAINS = {
    "log log2 sqrt rsqrt log10 log1p pow": "(tl.abs({0}) + 0.5)",
    "acosh": "(tl.abs({0}) + 1.5)",
    "acos asin atanh": f"({SMALL} * 0.2)",
    "cosh sinh expm1": f"({SMALL})",
    # near its poles a difference in the last place of the argument's reduction is one of everything
    "tan": f"({SMALL} * 0.25)",
}


def negate(p: Program) -> None:
    """The opposite, the magnitude, the complement."""
    x = p.pick()
    if is_float(x.dtype):
        p.let(p.text(f"-{x.name}", f"tl.abs({x.name})"), x.dtype, x.shape, x.bound)
    else:
        signed = () if x.dtype.startswith("u") else (f"-{x.name}", f"tl.abs({x.name})")
        p.let(p.text(f"~{x.name}", *signed), x.dtype, x.shape)


def arithmetic(p: Program) -> None:
    """A sum, a difference, a product, an extreme of two values of a type."""
    x = p.pick()
    y = p.like(x)
    sign = p.text("+", "-", "*", "max", "min")
    if sign in {"max", "min"}:
        p.let(f"tl.{sign}imum({x.name}, {y.name})", x.dtype, x.shape, max(x.bound, y.bound))
        return
    bound = x.bound * y.bound if sign == "*" else x.bound + y.bound
    p.let(f"{x.name} {sign} {y.name}", x.dtype, x.shape, bound)


def promote(p: Program) -> None:
    """An operation on two types, its result in a third."""
    x = p.pick()
    y = p.cast(p.like(x), str(p.choose(DTYPES)))
    made = f"({x.name} {p.text('+', '-')} {y.name})"
    if is_float(x.dtype) or is_float(y.dtype):
        p.let(f"{made}.to(tl.float64)", "float64", x.shape)
    else:
        target = str(p.choose(INTEGERS))
        p.let(f"{made}.to(tl.{target})", target, x.shape)


def bitwise(p: Program) -> None:
    """Bits of two integers."""
    x = p.pick(floats=False)
    y = p.like(x)
    p.let(f"{x.name} {p.text('&', '|', '^')} {y.name}", x.dtype, x.shape)


def shift(p: Program) -> None:
    """A shift by less than the width."""
    x = p.pick(floats=False)
    y = p.like(x)
    p.let(f"{x.name} {p.text('<<', '>>')} ({y.name} & {bits(x.dtype) - 1})", x.dtype, x.shape)


def divide(p: Program) -> None:
    """The quotient or remainder of integers, by 1 to 16."""
    x = p.pick(floats=False)
    y = p.like(x)
    p.let(f"{x.name} {p.text('//', '%')} (({y.name} & 15) + 1)", x.dtype, x.shape)


def constant(p: Program) -> None:
    """An operation with a number of Python."""
    x = p.pick()
    number = p.integer(0, 7)
    p.let(f"{x.name} {p.text('+', '-', '*')} {number}", x.dtype, x.shape, x.bound * 8 + 8)


def choice(p: Program) -> None:
    """tl.where."""
    x = p.pick()
    y = p.like(x)
    taken = p.condition(x.shape)
    p.let(f"tl.where({taken}, {x.name}, {y.name})", x.dtype, x.shape, max(x.bound, y.bound))


def compare(p: Program) -> None:
    """A comparison, as a number."""
    x = p.pick()
    target = str(p.choose(DTYPES))
    if x.shape:
        p.let(f"{p.condition(x.shape)}.to(tl.{target})", target, x.shape, 1.0)


def cast(p: Program) -> None:
    """Another type."""
    p.cast(p.pick(), str(p.choose(DTYPES)))


def bitcast(p: Program) -> None:
    """The same bits in the integer type of the width; of inputs only, whose zeros and NaNs have one form."""
    x = p.load(VECTORS[0])
    target = f"int{bits(x.dtype)}"
    p.let(f"{x.name}.to(tl.{target}, bitcast=True)", target, x.shape)


def rounding(p: Program) -> None:
    """The next whole number."""
    x = p.pick(dtypes=("float32", "float64"))
    p.let(f"tl.{p.text('floor', 'ceil')}({x.name})", x.dtype, x.shape, x.bound + 1)


def reduce(p: Program) -> None:
    """A reduction that is exact: of integers any, of floats the extremes."""
    x = p.pick(ranks=(1, 2))
    axis = p.integer(0, len(x.shape) - 1)
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    if is_float(x.dtype):
        clean = f"tl.where({x.name} == {x.name}, {x.name}, 0.0)"
        p.let(f"tl.{p.text('max', 'min')}({clean}, axis={axis}).to(tl.{x.dtype})", x.dtype, shape, x.bound)
        return
    kind = p.text("max", "min", "sum", "xor_sum")
    p.let(f"tl.{kind}({x.name}, axis={axis}).to(tl.{x.dtype})", x.dtype, shape)


def own_reduction(p: Program) -> None:
    """A reduction with a combine function of the program's."""
    x = p.pick(floats=False, ranks=(1, 2))
    axis = p.integer(0, len(x.shape) - 1)
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    p.let(f"tl.reduce({x.name}, {axis}, larger)", x.dtype, shape)


def index_of(p: Program) -> None:
    """Where the largest or smallest is: the first of equals."""
    x = p.pick(floats=False, ranks=(1, 2))
    axis = p.integer(0, len(x.shape) - 1)
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    p.let(f"tl.{p.text('argmax', 'argmin')}({x.name}, axis={axis})", "int32", shape)


def scan(p: Program) -> None:
    """Running sums of integers, running extremes of them."""
    x = p.pick(dtypes=("int32", "int64"), ranks=(1, 2))
    axis, reverse = p.integer(0, len(x.shape) - 1), p.text("True", "False")
    if p.integer(0, 1):
        p.let(f"tl.cumsum({x.name}, axis={axis}, reverse={reverse})", x.dtype, x.shape)
    else:
        p.let(f"tl.associative_scan({x.name}, {axis}, larger, reverse={reverse})", x.dtype, x.shape)


def reshape(p: Program) -> None:
    """The elements in another shape."""
    x = p.pick(ranks=(1, 2))
    if len(x.shape) == 2:
        p.let(f"tl.reshape({x.name}, ({x.numel},))", x.dtype, (x.numel,), x.bound)
        return
    rows = p.choose((2, 4, 8))
    shape = (int(str(rows)), x.numel // int(str(rows)))
    p.let(f"tl.reshape({x.name}, {shape})", x.dtype, shape, x.bound)


def transpose(p: Program) -> None:
    """The axes exchanged."""
    x = p.pick(ranks=(2,))
    p.let(f"tl.trans({x.name})", x.dtype, x.shape[::-1], x.bound)


def spread(p: Program) -> None:
    """A vector along a new axis."""
    x = p.pick(ranks=(1,))
    if x.numel > 64:
        return
    axis = p.integer(0, 1)
    shape = (4, x.shape[0]) if axis == 0 else (x.shape[0], 4)
    p.let(f"tl.broadcast_to(tl.expand_dims({x.name}, {axis}), {shape})", x.dtype, shape, x.bound)


def exchange(p: Program) -> None:
    """Neighbours exchanged, by splitting and joining."""
    x = p.pick(ranks=(1,))
    even, odd = p.fresh(), p.fresh()
    p.emit(f"{even}, {odd} = tl.split(tl.reshape({x.name}, ({x.numel // 2}, 2)))")
    p.let(f"tl.reshape(tl.join({odd}, {even}), ({x.numel},))", x.dtype, x.shape, x.bound)


def reverse(p: Program) -> None:
    """The last first."""
    x = p.pick(ranks=(1,))
    p.let(f"tl.flip({x.name}, 0)", x.dtype, x.shape, x.bound)


def gather(p: Program) -> None:
    """Elements by indices."""
    x = p.pick(ranks=(1,))
    index = p.cast(p.pick(floats=False, ranks=(1,)), "int32")
    p.let(f"tl.gather({x.name}, {index.name} & {x.numel - 1}, 0)", x.dtype, index.shape, x.bound)


def histogram(p: Program) -> None:
    """How often each value of 16 is there."""
    x = p.cast(p.pick(floats=False, ranks=(1,)), "int32")
    p.let(f"tl.histogram({x.name} & 15, 16)", "int32", (16,))


def sort(p: Program) -> None:
    """In order."""
    x = p.pick(dtypes=("int32", "int64", "int16"), ranks=(1,))
    p.let(f"tl.sort({x.name}, descending={p.text('True', 'False')})", x.dtype, x.shape)


def call(p: Program) -> None:
    """A helper that returns early, or two values."""
    x = p.pick(floats=False)
    y = p.like(x)
    if p.integer(0, 1):
        p.let(f"pick({x.name}, {y.name}, flag)", x.dtype, x.shape)
        return
    first, second = p.fresh(), p.fresh()
    p.emit(f"{first}, {second} = twice({x.name}, {y.name})")
    p.let(f"{first} * {second}", x.dtype, x.shape)


def dot_integers(p: Program) -> None:
    """A product of matrices of bytes: exact."""
    a = p.cast(p.load((16, 32)), "int8")
    b = p.cast(p.load((32, 16)), "int8")
    p.let(f"tl.dot({a.name}, {b.name})", "int32", (16, 16))


def store(p: Program) -> None:
    """Any exact value, stored."""
    p.store(p.pick())


def dot_floats(p: Program) -> None:
    """A product of matrices of floats, stored."""
    kind = p.text("float16", "bfloat16", "float32")
    a, b = p.cast(p.load((16, 32)), kind), p.cast(p.load((32, 16)), kind)
    made = p.let(f"tl.dot({a.name}, {b.name}, input_precision='ieee')", "float32", (16, 16), exact=False)
    p.store(made, 1e-5)


def add_floats(p: Program) -> None:
    """Sums of floats of one size, stored."""
    x = p.cast(p.load((16, 32)), p.text("float32", "float64"))
    made = p.let(f"tl.sum(tl.abs({x.name}), axis={p.integer(0, 1)})", x.dtype, (), exact=False)
    shape = (32,) if "axis=0" in p.lines[-1] else (16,)
    p.values[-1] = made = type(made)(made.name, made.dtype, shape, exact=False)
    p.store(made, 64 * EPSILON[x.dtype])


def call_of(name: str, x: str, y: str) -> str:
    """A call of one of :data:`FUNCTIONS` on ``x`` (and ``y``) brought into its domain."""
    form = next((f for names, f in DOMAINS.items() if name in names.split()), "({0})")
    second = f", {SMALL.format(y)}" if name in ("pow", "atan2", "hypot") else ""
    module = "tl" if name in LANGUAGE_FUNCTIONS else "libdevice"
    return f"{module}.{name}({form.format(x)}{second})"


def function(p: Program) -> None:
    """A function that is rounded differently on every target, stored."""
    x = p.cast(p.load(VECTORS[1]), p.text("float32", "float64"))
    y = p.cast(p.load(VECTORS[1]), x.dtype)
    made = p.let(call_of(str(p.choose(FUNCTIONS)), x.name, y.name), x.dtype, x.shape, exact=False)
    p.store(made, 64 * EPSILON[x.dtype])


def quotient(p: Program) -> None:
    """A quotient of floats, stored."""
    x = p.cast(p.load(VECTORS[0]), str(p.choose(FLOATS)))
    y = p.cast(p.load(VECTORS[0]), x.dtype)
    made = p.let(f"{x.name} / (tl.abs({y.name}) + 1.0)", x.dtype, x.shape, exact=False)
    p.store(made, 4 * EPSILON[x.dtype])


def loop(p: Program) -> None:
    """A loop that carries a value."""
    carried = p.pick()
    _carry(p, carried.name, f"for i{p.names} in {p.text('range', 'tl.range')}(n):", carried)


def branch(p: Program) -> None:
    """An if that changes a value."""
    changed = p.pick()
    _carry(p, changed.name, f"if flag > {p.integer(0, 2)}:", changed)


def _carry(p: Program, name: str, head: str, value: object) -> None:
    """``head`` with a body that assigns to ``name`` something of its type and shape."""
    outer = list(p.values)
    was = next(v for v in outer if v is value)
    carried = p.let(f"{name} + 0" if not is_float(was.dtype) else f"{name} * 1.0", was.dtype, was.shape)
    p.emit(head)
    p.depth += 1
    for _ in range(p.integer(1, 3)):
        STATEMENTS[p.integer(0, len(STATEMENTS) - 1)](p)
    other = p.like(carried)
    p.emit(f"{carried.name} = {carried.name} {p.text('+', '-')} {other.name}")
    p.depth -= 1
    p.values[:] = [*outer, carried]


#: what may stand anywhere
STATEMENTS: tuple[Production, ...] = (
    negate, arithmetic, arithmetic, promote, bitwise, shift, divide, constant, choice, compare, cast, bitcast,
    rounding, reduce, own_reduction, index_of, scan, reshape, transpose, spread, exchange, reverse, gather,
    histogram, call, dot_integers, *structures.STATEMENTS, *windows.STATEMENTS,
)  # fmt: skip
#: what stands at the outermost level: stores need outputs of their own, blocks do not nest
BLOCKS: tuple[Production, ...] = (
    loop, branch, store, store, dot_floats, add_floats, function, function, quotient, structures.carried_pair,
    *windows.BLOCKS,
)  # fmt: skip
