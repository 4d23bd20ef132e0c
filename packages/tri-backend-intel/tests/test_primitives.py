"""Every word of the primitives, executed on the OpenCL CPU device for every sub-group size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from intel_support import random, run_body
from tri_backend_intel.lowering import IntelPrimitives
from tri_backend_intel.options import IntelOptions
from tri_core.dialects.tt.enums import AtomicOp, MemSemantic, MemSyncScope
from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Access, AtomicAccess, Builder

SIZES = (4, 8, 16, 32, 64)
WARPS = 4


def load(b: Builder, pointer: ir.Value, index: ir.Value, type_: ir.Type) -> ir.Value:
    return b.load(b.gep(pointer, index, type_), type_)


def store(b: Builder, hw: IntelPrimitives, pointer: ir.Value, index: ir.Value, value: ir.Value) -> None:
    hw.store_global(b, b.gep(pointer, index, value.type), value, None, Access(value.type.width // 8))


@pytest.mark.parametrize("size", SIZES)
def test_shuffles(size: int) -> None:
    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        thread = hw.thread_id(b)
        lane = hw.lane_id(b, thread)
        value = load(b, args[0], thread, b.i32)
        reverse = hw.shuffle_idx(b, value, b.sub(b.int_(size - 1), lane))
        made = [hw.shuffle_xor(b, value, 3), reverse, hw.warp_id(b, thread), lane]
        for i, each in enumerate(made):
            store(b, hw, args[1], b.add(thread, b.int_(i * size * WARPS)), each)

    count = size * WARPS
    x, out = random(count, "int32", -(1 << 31), 1 << 31), np.zeros((4, count), np.int32)
    run_body(body, [x, out], size=size)
    t = np.arange(count)
    first, lane = t - t % size, t % size
    np.testing.assert_array_equal(out[0], x[first + (lane ^ 3)])
    np.testing.assert_array_equal(out[1], x[first + size - 1 - lane])
    np.testing.assert_array_equal(out[2], t // size)
    np.testing.assert_array_equal(out[3], lane)


@pytest.mark.parametrize("size", SIZES)
def test_shared_memory_is_seen_after_a_barrier(size: int) -> None:
    count = size * WARPS

    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        thread = hw.thread_id(b)
        base = hw.shared_base(b, 4 * count)
        hw.store_shared(b, b.gep(base, thread, b.i32), load(b, args[0], thread, b.i32), None, 4)
        hw.barrier(b)
        place = b.gep(base, b.sub(b.int_(count - 1), thread), b.i32)
        store(b, hw, args[1], thread, hw.load_shared(b, place, b.i32, None, 4))

    x, out = random(count, "int32", -999, 999), np.zeros(count, np.int32)
    run_body(body, [x, out], size=size)
    np.testing.assert_array_equal(out, x[::-1])


def test_global_memory_is_seen_after_a_barrier() -> None:
    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        thread = hw.thread_id(b)
        store(b, hw, args[0], thread, b.mul(thread, thread))
        hw.barrier(b)
        store(b, hw, args[1], thread, load(b, args[0], b.xor(thread, b.int_(63)), b.i32))

    scratch, out = np.full(64, -1, np.int32), np.zeros(64, np.int32)
    run_body(body, [scratch, out])
    np.testing.assert_array_equal(out, np.arange(63, -1, -1) ** 2)


def test_programs_know_their_place() -> None:
    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        program, thread = hw.program_id(b, 0), hw.thread_id(b)
        index = b.add(b.mul(program, b.int_(64)), thread)
        store(b, hw, args[0], index, b.add(b.mul(program, b.int_(1000)), hw.num_programs(b, 0)))

    out = np.zeros((7, 64), np.int32)
    run_body(body, [out], grid=7)
    np.testing.assert_array_equal(out, np.repeat(np.arange(7)[:, None] * 1000 + 7, 64, 1))


def test_masked_access_touches_nothing() -> None:
    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        thread = hw.thread_id(b)
        inside = b.cmp("slt", thread, b.int_(37))
        pointer = b.select(inside, b.gep(args[0], thread, b.f32), b.int_to_ptr(b.const(b.i64, 8), b.ptr(1)))
        loaded = hw.load_global(b, pointer, b.f32, inside, b.float_(-2.5), Access(4))
        store(b, hw, args[1], thread, loaded)
        hw.store_global(b, pointer, b.float_(7.0), inside, Access(4))

    x, out = random(37, "float32"), np.zeros(64, np.float32)
    before = x.copy()
    run_body(body, [x, out])
    np.testing.assert_array_equal(out, np.concatenate([before, np.full(27, -2.5, np.float32)]))
    np.testing.assert_array_equal(x, np.full(37, 7.0, np.float32))


@pytest.mark.parametrize(("dtype", "count"), [("float32", 4), ("float16", 8), ("int8", 16), ("int64", 2)])
def test_vectors_of_128_bits(dtype: str, count: int) -> None:
    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        element = {"float32": b.f32, "float16": b.f16, "int8": b.i8, "int64": b.i64}[dtype]
        type_ = b.vector_type(element, count)
        thread = hw.thread_id(b)
        loaded = hw.load_global(b, b.gep(args[0], thread, type_), type_, None, None, Access(16))
        backwards = b.pack(list(reversed(b.unpack(loaded))))
        hw.store_global(b, b.gep(args[1], thread, type_), backwards, None, Access(16))

    x = random((64, count), dtype, -100, 100)
    out = np.zeros_like(x)
    run_body(body, [x, out])
    np.testing.assert_array_equal(out, x[:, ::-1])


# --- math -----------------------------------------------------------------------------------------------

#: name -> reference in float64, range of arguments, error allowed in units of the last place of f32
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], float, float, float]] = {
    "exp": (np.exp, -80, 80, 4),
    "exp2": (np.exp2, -120, 120, 4),
    "log": (np.log, 1e-30, 1e4, 4),
    "log2": (np.log2, 1e-30, 1e4, 4),
    "sin": (np.sin, -1000, 1000, 5),
    "cos": (np.cos, -1000, 1000, 5),
    "tanh": (np.tanh, -9, 9, 6),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-30, 1e30, 3),
    "sqrt": (np.sqrt, 0, 1e30, 3),
    "precise_sqrt": (np.sqrt, 0, 1e30, 0.5),
    "expm1": (np.expm1, -5, 80, 4),
    "log1p": (np.log1p, -0.99, 1e4, 3),
    "atan": (np.arctan, -50, 50, 6),
    "cbrt": (np.cbrt, -1e5, 1e5, 3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_f32(name: str) -> None:
    reference, low, high, allowed = FUNCTIONS[name]

    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        index = b.add(b.mul(hw.program_id(b, 0), b.int_(64)), hw.thread_id(b))
        made = hw.math(b, name, [load(b, args[0], index, b.f32)])
        assert made is not None
        store(b, hw, args[1], index, made)

    x = random(64 * 64, "float32", low, high)
    out = np.zeros_like(x)
    run_body(body, [x, out], grid=64)
    exact = reference(x.astype(np.float64))
    error = np.abs(out - exact) / np.spacing(np.abs(exact).astype(np.float32))
    assert error.max() <= allowed + 0.01


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_nan_wins_where_it_is_to_propagate(name: str) -> None:
    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        thread = hw.thread_id(b)
        made = hw.math(b, name, [load(b, args[i], thread, b.f32) for i in range(2)])
        assert made is not None
        store(b, hw, args[2], thread, made)

    x, y = random(64, "float32", seed=1), random(64, "float32", seed=2)
    x[3] = y[5] = x[7] = y[7] = np.nan
    out = np.zeros_like(x)
    run_body(body, [x, y, out])
    np.testing.assert_array_equal(out, getattr(np, name)(x, y))


def test_precise_division_is_correctly_rounded() -> None:
    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        thread = hw.thread_id(b)
        made = hw.math(b, "precise_div", [load(b, args[i], thread, b.f32) for i in range(2)])
        assert made is not None
        store(b, hw, args[2], thread, made)

    x, y = random(64, "float32", seed=1), random(64, "float32", seed=2)
    out = np.zeros_like(x)
    run_body(body, [x, y, out])
    np.testing.assert_array_equal(out, x / y)


# --- atomics --------------------------------------------------------------------------------------------

COMBINE = {
    AtomicOp.ADD: np.add,
    AtomicOp.AND: np.bitwise_and,
    AtomicOp.OR: np.bitwise_or,
    AtomicOp.XOR: np.bitwise_xor,
    AtomicOp.MAX: np.maximum,
    AtomicOp.MIN: np.minimum,
}


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("kind", COMBINE, ids=lambda k: k.name)
def test_integer_atomics(kind: AtomicOp, dtype: str) -> None:
    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        type_ = b.i32 if dtype == "int32" else b.i64
        index = b.add(b.mul(hw.program_id(b, 0), b.int_(64)), hw.thread_id(b))
        value = load(b, args[0], index, type_)
        hw.atomic_rmw(b, kind, args[1], value, b.cmp("slt", index, b.int_(500)), AtomicAccess())

    x = random(512, dtype, -(1 << 20), 1 << 20)
    start = np.array([0x5555], dtype)
    out = start.copy()
    run_body(body, [x, out], grid=8)
    assert out[0] == COMBINE[kind].reduce(np.concatenate([start, x[:500]]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_float_atomics(dtype: str) -> None:
    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        type_ = {"float32": b.f32, "float64": b.f64}[dtype]
        value = load(b, args[0], hw.thread_id(b), type_)
        relaxed = AtomicAccess(MemSemantic.RELAXED, MemSyncScope.SYSTEM)
        hw.atomic_rmw(b, AtomicOp.FADD, args[1], value, None, relaxed)

    x = random(64, "int32", -8, 8).astype(dtype)  # sums of small integers are exact in any order
    out = np.zeros(1, dtype)
    run_body(body, [x, out], grid=2)
    assert out[0] == 2 * x.astype(np.float64).sum()


@pytest.mark.parametrize("scope", MemSyncScope, ids=lambda s: s.name)
def test_compare_and_swap_counts(scope: MemSyncScope) -> None:
    """Each work item tries to swap its own number in for one place; exactly one wins each place."""

    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        thread = hw.thread_id(b)
        place = b.gep(args[0], b.and_(thread, b.int_(7)), b.i32)
        access = AtomicAccess(MemSemantic.ACQUIRE_RELEASE, scope)
        old = hw.atomic_cas(b, place, b.int_(-1), thread, None, access)
        store(b, hw, args[1], thread, old)

    places, old = np.full(8, -1, np.int32), np.zeros(64, np.int32)
    run_body(body, [places, old], options=IntelOptions(num_warps=WARPS))
    winners = np.flatnonzero(old == -1)
    assert len(winners) == 8
    np.testing.assert_array_equal(np.sort(places), winners)


# --- the rest -------------------------------------------------------------------------------------------


def test_a_kernel_prints(capfd: pytest.CaptureFixture[str]) -> None:
    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        thread = hw.thread_id(b)
        value = load(b, args[0], thread, b.f32)
        wide = b.int_cast(b.mul(thread, b.int_(-3)), b.i64, signed=True)

        def speak() -> None:
            hw.print(b, "100% of", [thread, wide, value], [False, True, True], False)
            hw.print(b, "hex", [b.int_(255)], [False], True)

        b.if_(b.cmp("eq", thread, b.int_(5)), speak)

    x = random(64, "float32")
    run_body(body, [x])
    assert capfd.readouterr().out.splitlines() == [f"100% of 5 -15 {x[5]:f}", "hex 0x000000ff"]


def test_builtins_are_called_by_their_mangled_names() -> None:
    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        thread = hw.thread_id(b)
        pair = [load(b, args[i], thread, b.f32) for i in range(2)]
        store(b, hw, args[2], thread, hw.extern(b, "", "_Z5hypotff", pair, b.f32))

    x, y, out = random(64, "float32", seed=1), random(64, "float32", seed=2), np.zeros(64, np.float32)
    run_body(body, [x, y, out])
    np.testing.assert_allclose(out, np.hypot(x.astype(np.float64), y), rtol=1e-6)


def test_other_libraries_and_asserts_on_elements_are_refused() -> None:
    def library(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        hw.extern(b, "libdevice", "__nv_hypotf", [b.float_(1.0)] * 2, b.f32)

    def asserts(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        hw.check(b, b.true(), None, "no", "k.py", 3, diverges=True)

    with pytest.raises(Unsupported, match="__nv_hypotf"):
        run_body(library, [])
    with pytest.raises(Unsupported, match="element by element"):
        run_body(asserts, [])
