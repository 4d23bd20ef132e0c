"""Loads and stores: masks, strides, gathers, hazards between loads and stores."""

from __future__ import annotations

import ctypes
import mmap
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cpu_support import NUMPY, Kernel, T

DTYPES = ["i8", "i16", "i32", "i64", "f16", "f32", "f64"]


def random(rng: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    raw = rng.integers(1, 120, shape)
    return raw.astype(NUMPY[dtype])


def guarded(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A copy of ``array`` in the middle of a larger one, and the larger one."""
    whole = np.full(array.size + 128, 77, array.dtype)
    inner = whole[64:-64]
    inner[:] = array.ravel()
    return inner, whole


@pytest.mark.parametrize(
    ("n", "divisible"),
    [(n, d) for n in (0, 1, 15, 16, 17, 96, 100, 127, 128, 200) for d in (False, True) if not (d and n % 16)],
)
@pytest.mark.parametrize("dtype", ["i8", "f16", "f32", "f64"])
def test_masked_tail(dtype: str, n: int, divisible: bool, rng: np.random.Generator) -> None:
    """``offsets < n`` over two programs; nothing past n is written, ``other`` is read there."""
    k = Kernel(
        {"x": f"*{dtype}", "o": f"*{dtype}", "p": f"*{dtype}", "n": "i32"}, ("n",) if divisible else ()
    )
    base = k.mul(k.program_id(), k.constant(128, "i32"))
    index = k.add(k.splat(base, (128,)), k.range(128))
    mask = k.compare(2, index, k.splat(k["n"], (128,)))
    other = k.constant(5, dtype, (128,))
    value = k.load(k.offsets("x", index), mask, other)
    k.store(k.offsets("o", index), value, mask)
    k.store(k.offsets("p", index), value)
    x = random(rng, dtype, 256)
    source = np.ascontiguousarray(x[:n]) if n else np.zeros(1, NUMPY[dtype])
    (o, whole), p = guarded(np.full(256, 9, NUMPY[dtype])), np.zeros(256, NUMPY[dtype])
    k.run(source, o, p, n, grid=(2,))
    np.testing.assert_array_equal(o, np.where(np.arange(256) < n, x, 9))
    np.testing.assert_array_equal(p, np.where(np.arange(256) < n, x, 5))
    assert (whole[:64] == 77).all()
    assert (whole[-64:] == 77).all()


def test_masked_out_lanes_touch_no_memory() -> None:
    """The pointers of masked-out lanes are wild."""
    k = Kernel({"x": "*f32", "o": "*f32"})
    index = k.range(64)
    mask = k.compare(2, index, k.constant(3, "i32", (64,)))
    wild = k.mul(index, k.constant(1 << 24, "i32", (64,)))
    far = k.op("arith.select", [mask, index, wild], ("i32", (64,)))
    value = k.load(k.offsets("x", far), mask, k.constant(-1, "f32", (64,)))
    k.store(k.offsets("o", far), value, mask)
    x, o = np.arange(3, dtype=np.float32), np.zeros(3, np.float32)
    k.run(x, o)
    np.testing.assert_array_equal(o, x)


@pytest.mark.parametrize("m", [0, 1, 5, 8])
@pytest.mark.parametrize("n", [0, 7, 16, 30, 32])
def test_two_dimensional_mask(m: int, n: int, rng: np.random.Generator) -> None:
    """Rows and columns masked, arrays with a row stride of 40."""
    shape = (8, 32)
    k = Kernel({"x": "*f32", "o": "*f32", "m": "i32", "n": "i32", "stride": "i32"})
    rows, columns = k.expand(k.range(8), 1), k.expand(k.range(32), 0)
    row_mask = k.compare(2, rows, k.splat(k["m"], (8, 1)))
    column_mask = k.compare(2, columns, k.splat(k["n"], (1, 32)))
    mask = k.same("arith.andi", k.broadcast(row_mask, shape), k.broadcast(column_mask, shape))
    start = k.broadcast(k.mul(rows, k.splat(k["stride"], (8, 1))), shape)
    index = k.add(start, k.broadcast(columns, shape))
    value = k.load(k.offsets("x", index), mask, k.constant(-1.0, "f32", shape))
    k.store(k.offsets("o", index), k.add(value, value), mask)
    x = rng.standard_normal((8, 40)).astype(np.float32)
    o = np.full((8, 40), 3, np.float32)
    k.run(x, o, m, n, 40)
    expected = np.full((8, 40), 3, np.float32)
    expected[:m, :n] = 2 * x[:m, :n]
    np.testing.assert_array_equal(o, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gather_and_scatter(dtype: str, rng: np.random.Generator) -> None:
    k = Kernel({"x": f"*{dtype}", "i": "*i32", "o": f"*{dtype}"})
    index = k.read("i", 64)
    k.store(k.offsets("o", index), k.load(k.offsets("x", k.mul(index, k.constant(3, "i32", (64,))))))
    x, i = random(rng, dtype, 192), rng.permutation(64).astype(np.int32)
    o = np.zeros(64, NUMPY[dtype])
    k.run(x, i, o)
    expected = np.zeros_like(o)
    expected[i] = x[i * 3]
    np.testing.assert_array_equal(o, expected)


@pytest.mark.parametrize("wide", [True, False])
def test_offsets_beyond_four_gigabytes(wide: bool, rng: np.random.Generator) -> None:
    """64-bit offsets, as one addition or as two."""
    k = Kernel({"x": "*i8", "o": "*i8", "far": "i64"})
    index = k.convert("arith.extsi", k.range(32), "i64")
    if wide:
        pointer = k.offsets("x", k.add(index, k.splat(k["far"], (32,))))
    else:
        pointer = k.offsets(k.offsets("x", index), k.splat(k["far"], (32,)))
    k.store(k.offsets("o", k.range(32)), k.load(pointer))
    x, o = random(rng, "i8", 32), np.zeros(32, np.int8)
    far = 5 << 32
    k.run(x.ctypes.data - far, o, far)
    np.testing.assert_array_equal(o, x)


def test_negative_and_reversed_strides(rng: np.random.Generator) -> None:
    k = Kernel({"x": "*f32", "o": "*f32"})
    back = k.same("arith.subi", k.constant(63, "i32", (64,)), k.range(64))
    k.store(k.offsets("o", back), k.load(k.offsets("x", k.range(64))))
    x, o = random(rng, "f32", 64), np.zeros(64, np.float32)
    k.run(x, o)
    np.testing.assert_array_equal(o, x[::-1])


@pytest.mark.parametrize("n", [64, 60])
def test_wrapped_columns(n: int, rng: np.random.Generator) -> None:
    """``(pid * 32 + range) % n``: consecutive where n is divisible by the vector's lanes, gathered where not."""
    k = Kernel({"x": "*f32", "o": "*f32", "n": "i32"}, ("n",) if n % 16 == 0 else ())
    base = k.mul(k.program_id(), k.constant(32, "i32"))
    plain = k.add(k.splat(base, (32,)), k.range(32))
    wrapped = k.same("arith.remsi", plain, k.splat(k["n"], (32,)))
    k.store(k.offsets("o", plain), k.load(k.offsets("x", wrapped)))
    x, o = random(rng, "f32", n), np.zeros(128, np.float32)
    k.run(x, o, n, grid=(4,))
    np.testing.assert_array_equal(o, x[np.arange(128) % n])


@pytest.mark.parametrize("negative", [True, False])
def test_quotients_of_runs(negative: bool, rng: np.random.Generator) -> None:
    """``range // 16`` is constant in every vector, but not where the range crosses zero."""
    start = -32 if negative else 0
    k = Kernel({"o": "*i32", "s": "i32"}, ("s",))
    index = k.add(k.range(64), k.splat(k["s"], (64,)))
    k.write("o", k.same("arith.divsi", index, k.constant(16, "i32", (64,))))
    o = np.zeros(64, np.int32)
    k.run(o, start)
    np.testing.assert_array_equal(o, np.trunc((np.arange(64) + start) / 16))


# --- loads and stores of the same memory ------------------------------------------------------------------


def test_in_place(rng: np.random.Generator) -> None:
    """Input and output are one array."""
    k = Kernel({"x": "*f32", "o": "*f32"})
    value = k.read("x", 128)
    k.write("o", k.mul(value, value))
    x = random(rng, "f32", 128)
    expected = x * x
    k.run(x, x)
    np.testing.assert_array_equal(x, expected)


def test_loads_come_before_later_stores(rng: np.random.Generator) -> None:
    """x is stored to before y, which was loaded earlier, is used."""
    k = Kernel({"x": "*f32", "o": "*f32"})
    before = k.read("x", 64)
    k.write("x", k.constant(1.0, "f32", (64,)))
    k.write("o", before)
    x = random(rng, "f32", 64)
    expected, o = x.copy(), np.zeros(64, np.float32)
    k.run(x, o)
    np.testing.assert_array_equal(o, expected)
    np.testing.assert_array_equal(x, 1)


def test_stores_come_before_later_loads(rng: np.random.Generator) -> None:
    k = Kernel({"x": "*f32", "o": "*f32"})
    k.write("x", k.constant(2.0, "f32", (64,)))
    k.write("o", k.read("x", 64))
    x, o = random(rng, "f32", 64), np.zeros(64, np.float32)
    k.run(x, o)
    np.testing.assert_array_equal(o, 2)


@pytest.mark.parametrize("shift", [1, 3, 16])
def test_shift_in_place(shift: int, rng: np.random.Generator) -> None:
    """All of a tensor is loaded before any of it is stored elsewhere in the same array."""
    k = Kernel({"x": "*f32"})
    index = k.range(64)
    value = k.load(k.offsets("x", index))
    k.store(k.offsets("x", k.add(index, k.constant(shift, "i32", (64,)))), value)
    x = random(rng, "f32", 64 + shift)
    expected = np.concatenate([x[:shift], x[:64]])
    k.run(x)
    np.testing.assert_array_equal(x, expected)


def test_reverse_in_place(rng: np.random.Generator) -> None:
    k = Kernel({"x": "*f32"})
    back = k.same("arith.subi", k.constant(63, "i32", (64,)), k.range(64))
    k.store(k.offsets("x", back), k.read("x", 64))
    x = random(rng, "f32", 64)
    expected = x[::-1].copy()
    k.run(x)
    np.testing.assert_array_equal(x, expected)


def test_transpose_in_place(rng: np.random.Generator) -> None:
    k = Kernel({"x": "*f32"})
    pointers = k.offsets("x", k.grid_index((16, 16)))
    k.store(pointers, k.trans(k.load(pointers), 1, 0))
    x = random(rng, "f32", 16, 16)
    expected = x.T.copy()
    k.run(x)
    np.testing.assert_array_equal(x, expected)


def test_overlapping_stores_keep_their_order(rng: np.random.Generator) -> None:
    k = Kernel({"x": "*f32", "o": "*f32"})
    value, index = k.read("x", 64), k.range(64)
    k.store(k.offsets("o", index), value)
    k.store(k.offsets("o", k.add(index, k.constant(1, "i32", (64,)))), k.add(value, value))
    x, o = random(rng, "f32", 64), np.zeros(65, np.float32)
    k.run(x, o)
    np.testing.assert_array_equal(o, np.concatenate([x[:1], 2 * x]))


def test_scalar_loads_and_stores(rng: np.random.Generator) -> None:
    """Masked and unmasked, between tensor accesses of the same array."""
    k = Kernel({"x": "*f32", "o": "*f32", "n": "i32"})
    first = k.load(k["x"])
    k.store(k["x"], k.constant(5.0, "f32"))
    k.write("o", k.add(k.read("x", 32), k.splat(first, (32,))))
    mask = k.compare(2, k["n"], k.constant(10, "i32"))
    masked = k.load(k.offsets("x", k["n"]), mask, k.constant(-1.0, "f32"))
    k.store(k.offsets("o", k["n"]), masked, mask)
    for n in (3, 1 << 30):
        x, o = random(rng, "f32", 32), np.zeros(32, np.float32)
        start = x[0]
        k.run(x, o, n)
        expected = np.concatenate([[5], x[1:]]) + start
        if n < 10:
            expected[n] = x[n]
        np.testing.assert_array_equal(o, expected.astype(np.float32))


def test_pointers_as_data(rng: np.random.Generator) -> None:
    """A tensor of addresses is read from memory, chosen by a condition and moved."""
    k = Kernel({"table": "*i64", "x": "*f32", "o": "*f32"})
    raw = k.read("table", 32)
    from_table = k.op("tt.int_to_ptr", [raw], ("*f32", (32,)))
    mask = k.compare(2, k.range(32), k.constant(20, "i32", (32,)))
    pointer = k.op("arith.select", [mask, from_table, k.offsets("x", k.range(32))], ("*f32", (32,)))
    value = k.load(k.offsets(pointer, k.constant(1, "i32", (32,))))
    k.write("o", value)
    x, y = random(rng, "f32", 33), random(rng, "f32", 33)
    table = y.ctypes.data + 4 * rng.permutation(32)
    o = np.zeros(32, np.float32)
    k.run(table.astype(np.int64), x, o)
    picked = y[(table - y.ctypes.data) // 4 + 1]
    np.testing.assert_array_equal(o, np.where(np.arange(32) < 20, picked, x[1:]))


@pytest.mark.parametrize("threshold", ["0", "1G"])
def test_stores_past_the_caches(
    threshold: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Aligned and unaligned rows; the same results either way."""
    monkeypatch.setenv("TRI_CPU_STREAM_BYTES", threshold)
    k = Kernel({"x": "*f32", "o": "*f32", "stride": "i32"})
    start = k.mul(k.program_id(), k["stride"])
    index = k.add(k.splat(start, (64,)), k.range(64))
    k.store(k.offsets("o", index), k.load(k.offsets("x", index)))
    for stride in (64, 65):
        x, o = random(rng, "f32", 32 * stride), np.zeros(32 * stride, np.float32)
        k.run(x, o, stride, grid=(32,))
        used = (np.arange(32 * stride) % stride) < 64
        np.testing.assert_array_equal(o, np.where(used, x, 0))


def test_barriers_and_assumptions(rng: np.random.Generator) -> None:
    """Neighbours are read after a barrier."""
    k = Kernel({"x": "*f32", "o": "*f32"})
    value, index = k.read("x", 64), k.range(64)
    k.write("o", k.add(value, value))
    k.op("tt.barrier", [])
    k.op("llvm.intr.assume", [k.constant(True, "i1")], properties="op_bundle_sizes = array<i32>")
    back = k.same("arith.subi", k.constant(63, "i32", (64,)), index)
    other = k.load(k.offsets("o", back))
    k.op("tt.barrier", [])
    k.write("o", other)
    x, o = random(rng, "f32", 64), np.zeros(64, np.float32)
    k.run(x, o)
    np.testing.assert_array_equal(o, 2 * x[::-1])


def test_constant_tables(rng: np.random.Generator) -> None:
    k = Kernel({"o": "*i32", "p": "*f32"})
    k.write("o", table(k))
    k.write("p", k.convert("arith.sitofp", table(k), "f32"))
    o, p = np.zeros(4, np.int32), np.zeros(4, np.float32)
    k.run(o, p)
    np.testing.assert_array_equal(o, [3, -1, 4, 1])
    np.testing.assert_array_equal(p, [3, -1, 4, 1])


def table(k: Kernel) -> T:
    return k.op(
        "arith.constant", [], ("i32", (4,)), properties="value = dense<[3, -1, 4, 1]> : tensor<4xi32>"
    )


def _blocks(k: Kernel, index: T) -> T:
    return k.same("arith.divsi", index, k.constant(16, "i32", (64,)))


def _jumping(k: Kernel, index: T) -> T:
    """Runs of 16 that start 100 apart."""
    sixteen, hundred = (k.constant(n, "i32", (64,)) for n in (16, 100))
    start = k.mul(k.same("arith.divsi", index, sixteen), hundred)
    return k.add(start, k.same("arith.remsi", index, sixteen))


def _wrapping(k: Kernel, index: T) -> T:
    """From 100 to 127, then from -128."""
    moved = k.add(index, k.constant(100, "i32", (64,)))
    return k.convert("arith.extsi", k.convert("arith.trunci", moved, "i8"), "i32")


@pytest.mark.parametrize("limit", [-100, 0, 1, 2, 3, 20, 40, 120, 200])
@pytest.mark.parametrize(
    ("make", "numbers"),
    [
        (_blocks, np.arange(64) // 16),
        (_jumping, np.arange(64) // 16 * 100 + np.arange(64) % 16),
        (_wrapping, (np.arange(64) + 100).astype(np.int8).astype(np.int64)),
    ],
)
def test_masks_of_runs_shorter_than_the_block(make: Any, numbers: np.ndarray, limit: int) -> None:
    """What is known of a vector of indices says nothing of the rest of the block."""
    k = Kernel({"x": "*i32", "o": "*i32"})
    index = k.range(64)
    mask = k.compare(2, make(k, index), k.constant(limit, "i32", (64,)))
    k.store(k.offsets("o", index), k.load(k.offsets("x", index), mask, k.constant(-1, "i32", (64,))))
    x, o = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    k.run(x, o)
    np.testing.assert_array_equal(o, np.where(numbers < limit, x, -1))


@pytest.mark.parametrize("far", [2**31 - 1, 2**31, 2**31 + 5, 2**40, -(2**31), -(2**31) - 1, -(2**35)])
@pytest.mark.parametrize("dtype", ["i8", "i64"])
def test_constant_offsets_beyond_32_bits(dtype: str, far: int) -> None:
    """The array is where the constant leads to, from a pointer that is as far away on the other side."""
    k = Kernel({"x": "*i8", "o": f"*{dtype}"})
    index = k.convert("arith.extsi", k.range(16), "i64")
    index = k.add(index, k.constant(far, "i64", (16,)))
    k.store(k.offsets("o", index), k.convert("arith.trunci", index, dtype) if dtype != "i64" else index)
    o = np.zeros(16, NUMPY[dtype])
    k.run(o, o.ctypes.data - far * o.itemsize)
    np.testing.assert_array_equal(o, (np.arange(16) + far).astype(NUMPY[dtype]))


@pytest.mark.parametrize("far", [2**31, -(2**33)])
def test_constant_scalar_offsets_beyond_32_bits(far: int) -> None:
    """As a scalar, and as the step of a loop."""
    k = Kernel({"o": "*i64"})
    step = k.constant(far, "i64")
    zero, one, two = (k.constant(i, "i32") for i in range(3))
    k.store(k.offsets("o", step), step)
    with k.loop(zero, two, one, [k.offsets("o", k.range(4))]) as loop:
        loop.next = [k.offsets(loop.arguments[0], k.splat(step, (4,)))]
    back = k.constant(1 - far, "i64", (4,))
    k.store(k.offsets(loop.results[0], back), k.splat(step, (4,)))
    o = np.zeros(5, np.int64)
    k.run(o.ctypes.data - far * 8)
    np.testing.assert_array_equal(o, [far] * 5)


@pytest.fixture
def guarded_page() -> Iterator[np.ndarray]:
    """A page of f32 that ends where memory does: the next page may not be touched."""
    whole = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    array = np.frombuffer(whole, np.float32)
    end = ctypes.c_void_p(array.ctypes.data + mmap.PAGESIZE)
    protect = ctypes.CDLL(None).mprotect
    assert protect(end, ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    yield array[: array.size // 2]
    assert protect(end, ctypes.c_size_t(mmap.PAGESIZE), mmap.PROT_READ | mmap.PROT_WRITE) == 0


@pytest.mark.parametrize(("m", "n"), [(1, 5), (3, 64), (0, 64), (16, 0)])
def test_a_value_per_row_is_not_loaded_in_rows_that_are_masked_out(
    m: int, n: int, guarded_page: np.ndarray
) -> None:
    """The load is done once per row, and only where some column of the row is not masked out."""
    k = Kernel({"x": "*f32", "o": "*f32", "m": "i32", "n": "i32"})
    shape = (16, 64)
    row, column = k.expand(k.range(16), 1), k.expand(k.range(64), 0)
    mask = k.same(
        "arith.andi",
        k.broadcast(k.compare(2, row, k.splat(k["m"], (16, 1))), shape),
        k.broadcast(k.compare(2, column, k.splat(k["n"], (1, 64))), shape),
    )
    pointers = k.broadcast(k.offsets("x", k.mul(row, k.constant(1024, "i32", (16, 1)))), shape)
    value = k.load(pointers, mask, k.constant(0, "f32", shape))
    k.write("o", k.add(k.same("math.exp2", value), value))  # the function is not worth repeating per column
    x = guarded_page[-1:] if m <= 1 or not n else np.arange(1024 * (m - 1) + 1, dtype=np.float32) % 7
    x[0] = 3
    o = np.ones(shape, np.float32)
    k.run(x, o, m, n)
    i, j = np.indices(shape)
    at = x[np.minimum(np.arange(16) * 1024, x.size - 1)][:, None]
    np.testing.assert_array_equal(o, np.where((i < m) & (j < n), np.exp2(at) + at, 1))


@pytest.mark.parametrize(
    ("loaded", "stored"), [("i64", "i32"), ("i32", "i16"), ("i16", "i8"), ("f32", "bf16")]
)
def test_one_lane_of_a_truncation(loaded: str, stored: str) -> None:
    """For processors that need not be here: a store of the one lane that a mask leaves is no wider than its elements."""
    k = Kernel({"x": f"*{loaded}", "o": f"*{stored}"})
    index = k.range(16)
    narrow = k.convert(
        "arith.truncf" if stored == "bf16" else "arith.trunci", k.load(k.offsets("x", index)), stored
    )
    k.store(k.offsets("o", index), narrow, k.compare(2, index, k.constant(1, "i32", (16,))))
    asm = str(k.compile("cpu:x86_64-skylake-avx512").asm["asm"])
    wide = re.compile(r"\smov[lq]\s+%\w+, -?\d*\((?!%rsp|%rbp)|\svmov[dq]\s+%xmm\d+, -?\d*\((?!%rsp|%rbp)")
    assert not wide.search(asm), asm
