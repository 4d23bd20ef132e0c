"""Every elementwise op against NumPy, on vectors and on scalars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cpu_support import NUMPY, Kernel, T

Array = npt.NDArray[Any]
N = 64
INTS = ["i8", "i16", "i32", "i64"]


def integers(rng: np.random.Generator, dtype: str, n: int = N) -> Array:
    """Random bits, with every extreme among them."""
    info = np.iinfo(NUMPY[dtype])
    values = rng.integers(info.min, info.max, n, dtype=NUMPY[dtype], endpoint=True)
    values[:4] = [info.min, info.max, -1, 0]
    return values


def binary(name: str, dtype: str, x: Array, y: Array, result: str = "") -> Array:
    """Op ``name`` on arrays, compiled as vectors."""
    k = Kernel({"x": f"*{dtype}", "y": f"*{dtype}", "o": f"*{result or dtype}"})
    k.write("o", k.op(name, [k.read("x", N), k.read("y", N)], (result or dtype, (N,))))
    out = np.empty(N, NUMPY[result or dtype])
    k.run(x, y, out)
    return out


def wrap(value: Array, dtype: str) -> Array:
    return value.astype(NUMPY[dtype])


UNSIGNED = {"i8": np.uint8, "i16": np.uint16, "i32": np.uint32, "i64": np.uint64}

INTEGER_OPS: dict[str, Callable[[Array, Array], Array]] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
}


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("name", INTEGER_OPS)
def test_integer_ops(name: str, dtype: str, rng: np.random.Generator) -> None:
    x, y = integers(rng, dtype), integers(rng, dtype)
    with np.errstate(over="ignore"):
        expected = INTEGER_OPS[name](x, y)
    np.testing.assert_array_equal(binary(name, dtype, x, y), expected)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("name", ["arith.maxui", "arith.minui", "tt.mulhiui"])
def test_unsigned_ops(name: str, dtype: str, rng: np.random.Generator) -> None:
    x, y = integers(rng, dtype), integers(rng, dtype)
    ux, uy = (v.view(UNSIGNED[dtype]).astype(object) for v in (x, y))
    bits = x.itemsize * 8
    expected = {
        "arith.maxui": lambda: [max(a, b) for a, b in zip(ux, uy, strict=True)],
        "arith.minui": lambda: [min(a, b) for a, b in zip(ux, uy, strict=True)],
        "tt.mulhiui": lambda: [(a * b) >> bits for a, b in zip(ux, uy, strict=True)],
    }[name]()
    np.testing.assert_array_equal(
        binary(name, dtype, x, y).view(UNSIGNED[dtype]), np.array(expected, UNSIGNED[dtype])
    )


def truncated(x: Any, y: Any) -> tuple[list[int], list[int]]:
    """Quotients toward zero and remainders, as Python integers."""
    quotients = [
        abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(x, y, strict=True)
    ]
    return quotients, [int(a) - q * int(b) for a, b, q in zip(x, y, quotients, strict=True)]


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("signed", [True, False])
def test_division_by_anything_but_zero(dtype: str, signed: bool, rng: np.random.Generator) -> None:
    x, y = integers(rng, dtype), integers(rng, dtype)
    y[y == 0] = 3
    y[8:40] = rng.integers(1, 100, 32)
    kind = NUMPY[dtype] if signed else UNSIGNED[dtype]
    quotients, remainders = truncated(x.view(kind), y.view(kind))
    suffix = "si" if signed else "ui"
    mask = (1 << (8 * x.itemsize)) - 1
    expected = np.array([q & mask for q in quotients], UNSIGNED[dtype])  # the one overflow wraps
    np.testing.assert_array_equal(binary(f"arith.div{suffix}", dtype, x, y).view(UNSIGNED[dtype]), expected)
    expected = np.array([r & mask for r in remainders], UNSIGNED[dtype])
    np.testing.assert_array_equal(binary(f"arith.rem{suffix}", dtype, x, y).view(UNSIGNED[dtype]), expected)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("name", ["arith.divsi", "arith.divui", "arith.remsi", "arith.remui"])
def test_division_by_zero_does_not_kill_the_process(name: str, dtype: str, rng: np.random.Generator) -> None:
    x, y = integers(rng, dtype), integers(rng, dtype)
    y[::2] = 0
    x[1::2], y[1::2] = 12, 5
    expected = 12 // 5 if "div" in name else 12 % 5
    assert (binary(name, dtype, x, y)[1::2] == expected).all()


@pytest.mark.parametrize("divisor", [1, 7, 16, -3, -1])
def test_division_by_a_constant(divisor: int, rng: np.random.Generator) -> None:
    x = integers(rng, "i32")
    k = Kernel({"x": "*i32", "q": "*i32", "r": "*i32"})
    value, by = k.read("x", N), k.constant(divisor, "i32", (N,))
    k.write("q", k.same("arith.divsi", value, by))
    k.write("r", k.same("arith.remsi", value, by))
    q, r = np.empty_like(x), np.empty_like(x)
    k.run(x, q, r)
    quotients, remainders = truncated(x, np.full(N, divisor))
    np.testing.assert_array_equal(q, np.array(quotients, np.int64).astype(np.int32))
    np.testing.assert_array_equal(r, np.array(remainders, np.int32))


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("name", ["arith.shli", "arith.shrui", "arith.shrsi"])
def test_shifts_by_any_count(name: str, dtype: str, rng: np.random.Generator) -> None:
    x = integers(rng, dtype)
    bits = 8 * x.itemsize
    count = rng.integers(0, bits + 4, N).astype(x.dtype)
    values = [int(v) for v in (x if name == "arith.shrsi" else x.view(UNSIGNED[dtype]))]
    mask = (1 << bits) - 1
    shifted = [
        (v << c if name == "arith.shli" else v >> c) & mask
        for v, c in zip(values, (int(c) for c in count), strict=True)
    ]
    shifted = [0 if name == "arith.shli" and c >= bits else s for s, c in zip(shifted, count, strict=True)]
    np.testing.assert_array_equal(
        binary(name, dtype, x, count).view(UNSIGNED[dtype]), np.array(shifted, UNSIGNED[dtype])
    )


FLOAT_OPS: dict[str, Callable[..., Array]] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "tt.precise_divf": np.divide,
    "tt.approx_divf": np.divide,
    "arith.remf": np.fmod,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "math.copysign": np.copysign,
}


def floats(rng: np.random.Generator, dtype: str, n: int = N) -> Array:
    kind = NUMPY[dtype]
    values = (rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4, n)).astype(kind)
    values[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, np.finfo(kind).max, np.finfo(kind).tiny, 1.0]
    rng.shuffle(values)
    return values


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
@pytest.mark.parametrize("name", FLOAT_OPS)
def test_float_ops(name: str, dtype: str, rng: np.random.Generator) -> None:
    if name == "tt.approx_divf":
        dtype = "f32"  # the only one that there is
    x, y = floats(rng, dtype), floats(rng, dtype)
    expected = FLOAT_OPS[name](x, y)
    got = binary(name, dtype, x, y)
    np.testing.assert_array_equal(got, expected)
    signs = ~np.isnan(expected) & ~(
        (expected == 0) & (name in {"arith.maxnumf", "arith.minnumf", "arith.maximumf", "arith.minimumf"})
    )
    np.testing.assert_array_equal(np.signbit(got[signs]), np.signbit(expected[signs]))


UNARY_OPS: dict[str, Callable[..., Array]] = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.ceil": np.ceil,
    "math.floor": np.floor,
    "math.trunc": np.trunc,
    "math.roundeven": np.rint,
    "math.sqrt": np.sqrt,
    "tt.precise_sqrt": np.sqrt,
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
@pytest.mark.parametrize("name", UNARY_OPS)
def test_unary_float_ops(name: str, dtype: str, rng: np.random.Generator) -> None:
    x = floats(rng, dtype)
    k = Kernel({"x": f"*{dtype}", "o": f"*{dtype}"})
    k.write("o", k.same(name, k.read("x", N)))
    out = np.empty_like(x)
    k.run(x, out)
    np.testing.assert_array_equal(out, UNARY_OPS[name](x))


@pytest.mark.parametrize("dtype", ["i8", "i32", "f32", "f64"])
@pytest.mark.parametrize("wide", [True, False])
def test_comparisons_and_select(dtype: str, wide: bool, rng: np.random.Generator) -> None:
    """All predicates at once; the scalar form goes another way through the backend."""
    x, y = (
        (floats(rng, dtype), floats(rng, dtype))
        if dtype[0] == "f"
        else (integers(rng, dtype), integers(rng, dtype))
    )
    y[10:20] = x[10:20]
    count = 16 if dtype[0] == "f" else 10
    k = Kernel({"x": f"*{dtype}", "y": f"*{dtype}", "o": "*i8", "s": f"*{dtype}"})
    shape: tuple[int, ...] | None = (N,) if wide else None
    a, b = (k.read("x", N), k.read("y", N)) if wide else (k.load(k["x"]), k.load(k["y"]))
    chosen = a
    for p in range(count):
        mask = k.compare(p, a, b)
        chosen = k.op("arith.select", [mask, b, chosen], (dtype, shape))
        flag = k.convert("arith.extui", mask, "i8")
        index = k.constant(p * N, "i32")
        if wide:
            k.store(k.offsets("o", k.add(k.grid_index((N,)), k.splat(index, (N,)))), flag)
        else:
            k.store(k.offsets("o", index), flag)
    out, selected = np.zeros((count, N), np.int8), np.empty_like(x)
    if wide:
        k.write("s", chosen)
    else:
        k.store(k["s"], chosen)
    k.run(x, y, out, selected)
    n = N if wide else 1
    expected = np.array([predicate(dtype, p, x[:n], y[:n]) for p in range(count)])
    np.testing.assert_array_equal(out[:, :n].astype(bool), expected)
    want = x[:n].copy()
    for row in expected:
        want = np.where(row, y[:n], want)
    np.testing.assert_array_equal(selected[:n], want)


def predicate(dtype: str, code: int, x: Array, y: Array) -> Array:
    if dtype[0] != "f":
        ux, uy = x.view(UNSIGNED[dtype]), y.view(UNSIGNED[dtype])
        return [x == y, x != y, x < y, x <= y, x > y, x >= y, ux < uy, ux <= uy, ux > uy, ux >= uy][code]
    ordered = ~(np.isnan(x) | np.isnan(y))
    table = [x != x, x == y, x > y, x >= y, x < y, x <= y, x != y, x == x]
    if code < 8:
        return [np.zeros_like(ordered), *(t & ordered for t in table[1:7]), ordered][code]
    return [~ordered | (x == y), ~ordered | (x > y), ~ordered | (x >= y), ~ordered | (x < y),
            ~ordered | (x <= y), ~ordered | (x != y), ~ordered, np.ones_like(ordered)][code - 8]  # fmt: skip


@pytest.mark.parametrize("propagate", [0, 0xFFFF])
def test_clamp(propagate: int, rng: np.random.Generator) -> None:
    x = floats(rng, "f32")
    k = Kernel({"x": "*f32", "o": "*f32"})
    low, high = k.constant(-1.5, "f32", (N,)), k.constant(2.5, "f32", (N,))
    k.write(
        "o",
        k.op("tt.clampf", [k.read("x", N), low, high], ("f32", (N,)), f"propagateNan = {propagate} : i32"),
    )
    out = np.empty_like(x)
    k.run(x, out)
    expected = np.clip(x, -1.5, 2.5)
    np.testing.assert_array_equal(
        out, expected if propagate else np.where(np.isnan(x), np.float32(-1.5), expected)
    )


def test_contraction_can_be_turned_off(rng: np.random.Generator) -> None:
    x, y, z = (rng.standard_normal(N).astype(np.float32) for _ in range(3))
    k = Kernel({"x": "*f32", "y": "*f32", "z": "*f32", "o": "*f32"})
    k.write("o", k.add(k.mul(k.read("x", N), k.read("y", N)), k.read("z", N)))
    fused, separate = np.empty_like(x), np.empty_like(x)
    k.run(x, y, z, fused)
    k.run(x, y, z, separate, enable_fp_fusion=False)
    np.testing.assert_array_equal(separate, x * y + z)
    exact = (x.astype(np.float64) * y + z).astype(np.float32)
    np.testing.assert_array_equal(fused, exact)  # the product of two f32 is exact in f64


@pytest.mark.parametrize("name", ["math.ctpop", "math.ctlz", "math.cttz", "math.absi"])
def test_bit_counts(name: str, rng: np.random.Generator) -> None:
    x = integers(rng, "i32")
    k = Kernel({"x": "*i32", "o": "*i32"})
    k.write("o", k.same(name, k.read("x", N)))
    out = np.empty_like(x)
    k.run(x, out)
    bits = [f"{v:032b}" for v in x.view(np.uint32)]
    expected: dict[str, Any] = {
        "math.ctpop": [b.count("1") for b in bits],
        "math.ctlz": [32 - len(b.lstrip("0")) for b in bits],
        "math.cttz": [32 - len(b.rstrip("0")) for b in bits],
        "math.absi": np.abs(x),
    }
    np.testing.assert_array_equal(out, expected[name])


@pytest.mark.parametrize("length", [3000])
def test_long_chains(length: int, rng: np.random.Generator) -> None:
    """What a loop unrolled by the frontend looks like: values, indices and pointers thousands of ops deep."""
    k = Kernel({"x": "*i32", "o": "*i32"})
    index, pointer, total = k.range(N), k.offsets("x", k.range(N)), k.read("x", N)
    one = k.constant(1, "i32", (N,))
    for i in range(length):
        index = k.add(index, one)
        pointer = k.offsets(pointer, one)
        total = k.add(total, k.mul(total, one) if i % 500 else k.load(pointer))
    k.write("o", k.same("arith.xori", total, k.load(k.offsets("x", k.add(index, one)))))
    k.store(k.offsets(pointer, one), one)
    x, o = rng.integers(-99, 99, length + 2 * N).astype(np.int32), np.zeros(N, np.int32)
    data = x.copy()
    k.run(data, o)
    assert (data[length + 1 : length + 1 + N] == 1).all()
    expected = x[:N].copy()
    with np.errstate(over="ignore"):
        for i in range(length):
            expected = expected + (expected if i % 500 else x[i + 1 : i + 1 + N])
    np.testing.assert_array_equal(o, expected ^ x[length + 1 : length + 1 + N])


def test_mapped_function(rng: np.random.Generator) -> None:
    """A region of scalars with two arguments and two results; a value of outside is used in it."""
    k = Kernel({"x": "*f32", "y": "*f32", "o": "*f32", "p": "*f32", "s": "f32"})
    x, y = k.read("x", N), k.read("y", N)
    k.lines.append(f'%m:2 = "tt.map_elementwise"({x.name}, {y.name}) ({{ ^bb0(%a: f32, %b: f32):')
    a, b = T("%a", "f32"), T("%b", "f32")
    total, product = k.add(a, k["s"]), k.mul(a, b)
    k.lines.append(f'"tt.map_elementwise_return"({total.name}, {product.name}) : (f32, f32) -> ()')
    k.lines.append(f"}}) {{pack = 1 : i32}} : ({x.type}, {y.type}) -> ({x.type}, {y.type})")
    k.write("o", T("%m#0", "f32", (N,)))
    k.write("p", T("%m#1", "f32", (N,)))
    data = [rng.standard_normal(N).astype(np.float32) for _ in range(2)]
    o, p = np.empty(N, np.float32), np.empty(N, np.float32)
    k.run(*data, o, p, 1.5)
    np.testing.assert_array_equal(o, data[0] + np.float32(1.5))
    np.testing.assert_array_equal(p, data[0] * data[1])
