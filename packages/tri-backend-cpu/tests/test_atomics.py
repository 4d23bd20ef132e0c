"""Atomics by many threads on few places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cpu_support import NUMPY, Kernel, T
from narrow_floats import decoded
from tri_core.dialects.tt.enums import AtomicOp

RELAXED, ORDERED = 1, 4


def rmw(k: Kernel, op: AtomicOp, pointer: T, value: T, mask: T | None = None, sem: int = ORDERED) -> T:
    operands = [pointer, value, *([mask] if mask else [])]
    attributes = (
        f"atomic_rmw_op = {int(op)} : i32, sem = {sem} : i32, scope = 1 : i32,"
        f"operandSegmentSizes = array<i32: 1, 1, {int(mask is not None)}>"
    )
    return k.op("tt.atomic_rmw", operands, (value.dtype, value.shape), attributes)


ORACLES: dict[AtomicOp, Any] = {
    AtomicOp.ADD: np.add, AtomicOp.AND: np.bitwise_and, AtomicOp.OR: np.bitwise_or, AtomicOp.XOR: np.bitwise_xor,
    AtomicOp.MAX: np.maximum, AtomicOp.MIN: np.minimum,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["i32", "i64"])
@pytest.mark.parametrize("op", ORACLES)
def test_integers(op: AtomicOp, dtype: str, rng: np.random.Generator) -> None:
    """Programs combine their rows into one row."""
    k = Kernel({"x": f"*{dtype}", "o": f"*{dtype}"})
    start = k.mul(k.program_id(), k.constant(16, "i32"))
    value = k.load(k.offsets("x", k.add(k.splat(start, (16,)), k.range(16))))
    rmw(k, op, k.offsets("o", k.range(16)), value)
    x = rng.integers(-(2**20), 2**20, (256, 16)).astype(NUMPY[dtype])
    o = rng.integers(-(2**20), 2**20, 16).astype(NUMPY[dtype])
    expected = ORACLES[op].reduce(np.vstack([o, x]), 0, dtype=x.dtype)
    k.run(x, o, grid=(256,))
    np.testing.assert_array_equal(o, expected)


@pytest.mark.parametrize("op", [AtomicOp.UMAX, AtomicOp.UMIN])
def test_unsigned(op: AtomicOp, rng: np.random.Generator) -> None:
    k = Kernel({"x": "*i32", "o": "*i32"})
    rmw(k, op, k.offsets("o", k.range(16)), k.read("x", 16))
    x, o = (rng.integers(-(2**31), 2**31, 16).astype(np.int32) for _ in range(2))
    expected = (np.maximum if op is AtomicOp.UMAX else np.minimum)(x.view(np.uint32), o.view(np.uint32))
    k.run(x, o)
    np.testing.assert_array_equal(o.view(np.uint32), expected)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_float_sums(dtype: str, rng: np.random.Generator) -> None:
    """Small integers, whose sums are exact in any order."""
    k = Kernel({"x": "*f32", "o": f"*{dtype}"})
    start = k.mul(k.program_id(), k.constant(16, "i32"))
    wide = k.load(k.offsets("x", k.add(k.splat(start, (16,)), k.range(16))))
    conversion = "arith.extf" if dtype == "f64" else "arith.truncf"
    value = wide if dtype == "f32" else k.convert(conversion, wide, dtype)
    rmw(k, AtomicOp.FADD, k.offsets("o", k.range(16)), value)
    x, o = rng.integers(-1, 2, (64, 16)).astype(np.float32), np.zeros(16, NUMPY[dtype])
    k.run(x, o, grid=(64,))
    np.testing.assert_array_equal(decoded("bf16")[o] if dtype == "bf16" else o, x.sum(0))


def test_old_values_and_masks(rng: np.random.Generator) -> None:
    """Every ticket is given out once; masked-out places are not touched and give 0."""
    k = Kernel({"c": "*i32", "t": "*i32", "old": "*i32"})
    ticket = rmw(k, AtomicOp.ADD, k["c"], k.constant(1, "i32"))
    k.store(k.offsets("t", k.program_id()), ticket)
    mask = k.compare(2, k.range(16), k.constant(10, "i32", (16,)))
    exchanged = rmw(
        k, AtomicOp.XCHG, k.offsets("c", k.add(k.range(16), k.constant(1, "i32", (16,)))), k.range(16), mask
    )
    k.write("old", exchanged)
    c = np.concatenate([[0], rng.integers(1, 99, 16)]).astype(np.int32)
    before = c.copy()
    t, old = np.zeros(1, np.int32), np.full(16, -1, np.int32)
    k.run(c, t, old)
    np.testing.assert_array_equal(old, np.where(np.arange(16) < 10, before[1:], 0))
    np.testing.assert_array_equal(c[1:], np.where(np.arange(16) < 10, np.arange(16), before[1:]))
    c[0], t = 0, np.zeros(1000, np.int32)
    k.run(c, t, old, grid=(1000,))
    np.testing.assert_array_equal(np.sort(t), np.arange(1000))


@pytest.mark.parametrize("dtype", ["i32", "i64", "f32"])
def test_compare_and_swap(dtype: str, rng: np.random.Generator) -> None:
    k = Kernel({"x": f"*{dtype}", "e": f"*{dtype}", "v": f"*{dtype}", "old": f"*{dtype}"})
    attributes = "sem = 4 : i32, scope = 1 : i32"
    operands = [k.offsets("x", k.range(16)), k.read("e", 16), k.read("v", 16)]
    k.write("old", k.op("tt.atomic_cas", operands, (dtype, (16,)), attributes))
    x = rng.integers(0, 9, 16).astype(NUMPY[dtype])
    e, v = x.copy(), x + 100
    e[::3] += 1
    before, old = x.copy(), np.zeros_like(x)
    k.run(x, e, v, old)
    np.testing.assert_array_equal(old, before)
    np.testing.assert_array_equal(x, np.where(e == before, v, before))


def test_a_lock_made_of_compare_and_swap() -> None:
    """A spin lock around a plain read and write: nothing is lost."""
    k = Kernel({"lock": "*i32", "n": "*i32"})
    zero, one = k.constant(0, "i32"), k.constant(1, "i32")
    k.lines.append("%w = scf.while (%a = " + one.name + ") : (i32) -> i32 {")
    attributes = "sem = 4 : i32, scope = 1 : i32"
    seen = k.op("tt.atomic_cas", [k["lock"], zero, one], ("i32", None), attributes)
    k.lines.append(
        f"scf.condition({k.compare(1, seen, zero).name}) {seen.name} : i32 }} do {{ ^bb0(%b: i32):"
    )
    k.lines.append("scf.yield %b : i32 }")
    k.store(k["n"], k.add(k.load(k["n"]), one))
    rmw(k, AtomicOp.XCHG, k["lock"], zero)
    lock, n = np.zeros(1, np.int32), np.zeros(1, np.int32)
    k.run(lock, n, grid=(500,))
    assert n[0] == 500


def test_atomic_load_and_store(rng: np.random.Generator) -> None:
    k = Kernel({"x": "*i32", "o": "*i32"})
    sem = "scope = 1 : i32, operandSegmentSizes = array<i32: 1, 0>"
    value = k.op("tt.atomic_load", [k.offsets("x", k.range(16))], ("i32", (16,)), "sem = 2 : i32, " + sem)
    sem = "sem = 3 : i32, scope = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>"
    k.op("tt.atomic_store", [k.offsets("o", k.range(16)), value], attributes=sem)
    x, o = rng.integers(0, 99, 16).astype(np.int32), np.zeros(16, np.int32)
    k.run(x, o)
    np.testing.assert_array_equal(o, x)
