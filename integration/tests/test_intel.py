"""Kernels on Intel's OpenCL CPU device, through SPIR-V, against exact or float64 oracles.

The device runs what a GPU runs: sub-groups of several sizes, shuffles, local memory, barriers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import tri
import tri.language as tl
from integration.kernels.suite import (
    add_atomically,
    arithmetic,
    collatz,
    convert,
    counts,
    evaluate,
    extremes,
    gathers,
    masked_copy,
    matmul,
    moments,
    reduce_rows,
    scan,
    shapes,
    smaller_transposed,
    spin,
    transpose,
)
from tri_backend_intel.runtime.faults import wrong_on_cpu
from tri_core import plugins
from tri_core.api import OutOfResources

Array = npt.NDArray[Any]

SIZES = [(1, 16), (2, 8), (4, 16), (4, 32), (8, 4), (16, 64)]
"""Warps and sub-group sizes."""


@pytest.fixture(scope="module", autouse=True)
def _device() -> None:
    if not plugins.manager().probe("intel"):
        pytest.skip("no Intel device: pip install 'tri-backend-intel[cpu]'")


@pytest.fixture(autouse=True)
def _target(_device: None) -> Iterator[None]:
    with tri.target("intel"):
        yield


def random(shape: tuple[int, ...], dtype: Any, seed: int = 0, low: float = -4, high: float = 4) -> Array:
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return generator.integers(int(low), int(high), shape).astype(dtype)
    return generator.uniform(low, high, shape).astype(dtype)


# --- reductions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("num_warps", "warp_size"), SIZES)
@pytest.mark.parametrize(("m", "n"), [(1, 64), (64, 1), (8, 32), (32, 32), (2, 256)])
@pytest.mark.parametrize("axis", [0, 1])
def test_reductions_over_layouts(axis: int, m: int, n: int, num_warps: int, warp_size: int) -> None:
    x = random((m, n), np.int32, seed=m + n, low=-999, high=999)
    out = np.zeros(n if axis == 0 else m, np.int32)
    reduce_rows[(1,)](out, x, M=m, N=n, KIND="sum", AXIS=axis, num_warps=num_warps, warp_size=warp_size)
    np.testing.assert_array_equal(out, x.sum(axis=axis))


ORACLES: dict[str, Callable[..., Array]] = {"sum": np.sum, "max": np.max, "min": np.min, "argmax": np.argmax}


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("kind", ORACLES)
def test_reductions_of_types(kind: str, dtype: Any) -> None:
    x = random((16, 64), dtype, seed=3, low=-50, high=50)
    out = np.zeros(16, np.float64)
    reduce_rows[(1,)](out, x, M=16, N=64, KIND=kind, AXIS=1)
    exact = ORACLES[kind](x.astype(np.float64), axis=1)
    if kind == "sum" and np.dtype(dtype).kind == "i":
        # sums of narrow integers are taken in i32, as in Triton
        exact = x.astype(np.int64).sum(axis=1)
    rtol = {np.float16: 2e-2, np.float32: 1e-5}.get(dtype, 1e-14) if kind == "sum" else 0
    np.testing.assert_allclose(out, exact, rtol=rtol, atol=np.abs(x).max() * rtol)


@pytest.mark.parametrize(("num_warps", "warp_size"), SIZES)
def test_a_reduction_of_several_values(num_warps: int, warp_size: int) -> None:
    x, out = random((1024,), np.float32, seed=5), np.zeros(2, np.float32)
    moments[(1,)](out, x, N=1024, num_warps=num_warps, warp_size=warp_size)
    np.testing.assert_allclose(out, [x.astype(np.float64).mean(), x.astype(np.float64).var()], rtol=1e-4)


# --- scans ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("num_warps", "warp_size"), SIZES)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("m", "n", "axis"), [(1, 256, 1), (64, 4, 0), (16, 32, 0)])
def test_scans_over_layouts(m: int, n: int, axis: int, reverse: bool, num_warps: int, warp_size: int) -> None:
    x = random((m, n), np.int32, seed=7, low=-99, high=99)
    out = np.zeros_like(x)
    scan[(1,)](out, x, M=m, N=n, AXIS=axis, REVERSE=reverse, num_warps=num_warps, warp_size=warp_size)
    exact = np.flip(np.flip(x, axis).cumsum(axis), axis) if reverse else x.cumsum(axis)
    np.testing.assert_array_equal(out, exact)


# --- dots ---------------------------------------------------------------------------------------------


DOTS: dict[str, tuple[Any, Any, float]] = {
    "f16": (np.float16, np.float32, 1e-5),
    "bf16": (ml_dtypes.bfloat16, np.float32, 1e-5),
    "f32": (np.float32, np.float32, 1e-5),
    "f64": (np.float64, np.float64, 1e-14),
    "i8": (np.int8, np.int32, 0),
}


@pytest.mark.parametrize("dtype", DOTS)
@pytest.mark.parametrize(("m", "n", "k", "num_warps"), [(16, 16, 16, 1), (32, 16, 32, 4)])
def test_matmuls(m: int, n: int, k: int, dtype: str, num_warps: int) -> None:
    given, accumulated, rtol = DOTS[dtype]
    a, b = (
        random(shape, np.float32, seed, -9, 9).astype(given) for shape, seed in (((m, k), 1), ((k, n), 2))
    )
    c = np.zeros((m, n), accumulated)
    matmul[(1,)](c, a, b, M=m, N=n, K=k, num_warps=num_warps)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c, exact, rtol=rtol, atol=100 * rtol)


# --- shapes and conversions between layouts ---------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.int64])
@pytest.mark.parametrize(("num_warps", "warp_size"), SIZES)
def test_transposes(dtype: Any, num_warps: int, warp_size: int) -> None:
    x = random((32, 16), dtype, seed=9, low=-100, high=100)
    out = np.zeros((16, 32), dtype)
    transpose[(1,)](out, x, M=32, N=16, num_warps=num_warps, warp_size=warp_size)
    np.testing.assert_array_equal(out, x.T)


@pytest.mark.parametrize(("num_warps", "warp_size"), SIZES)
def test_reshapes_splits_and_joins(num_warps: int, warp_size: int) -> None:
    x, out = random((512,), np.int32, seed=11, low=-9999, high=9999), np.zeros(1024, np.int32)
    shapes[(1,)](out, x, N=512, num_warps=num_warps, warp_size=warp_size)
    np.testing.assert_array_equal(out[:512], x.reshape(-1, 2)[:, ::-1].reshape(-1))
    np.testing.assert_array_equal(out[512:], x[::-1])


@pytest.mark.parametrize(("num_warps", "warp_size"), SIZES)
def test_gathers(num_warps: int, warp_size: int) -> None:
    x, indices = random((256,), np.float32, seed=13), random((128,), np.int32, seed=14, low=0, high=256)
    out = np.zeros(128, np.float32)
    gathers[(1,)](out, x, indices, N=256, M=128, num_warps=num_warps, warp_size=warp_size)
    np.testing.assert_array_equal(out, x[indices])


@pytest.mark.parametrize(("num_warps", "warp_size"), SIZES)
def test_histograms(num_warps: int, warp_size: int) -> None:
    x, out = random((1024,), np.int32, seed=15, low=0, high=64), np.zeros(64, np.int32)
    counts[(1,)](out, x, N=1024, BINS=64, num_warps=num_warps, warp_size=warp_size)
    np.testing.assert_array_equal(out, np.bincount(x, minlength=64))


# --- memory -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    [
        np.bool_,
        np.int8,
        np.uint16,
        np.int32,
        np.int64,
        np.float16,
        ml_dtypes.bfloat16,
        np.float32,
        np.float64,
    ],
)
@pytest.mark.parametrize("n", [1, 17, 64, 129])
def test_masks(dtype: Any, n: int) -> None:
    x = random((n,), np.float32, seed=n, low=0, high=50).astype(dtype)
    out = np.full(256, 1, dtype)
    masked_copy[(4,)](out, x, n, OTHER=0, BLOCK=64)
    expected = np.full(256, 1, dtype)
    expected[:n], expected[n : n + 3] = x, 0
    np.testing.assert_array_equal(out.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float16, np.float32, np.float64])
def test_atomic_additions(dtype: Any) -> None:
    n, bins = 1000, 7
    x = random((n,), np.int32, seed=17, low=-3, high=4).astype(dtype)
    out = np.zeros(bins, dtype)
    add_atomically[(tri.cdiv(n, 128),)](out, x, n, BINS=bins, BLOCK=128)
    expected = np.zeros(bins)
    np.add.at(expected, np.arange(n) % bins, x.astype(np.float64))
    np.testing.assert_array_equal(out.astype(np.float64), expected)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.float32])
def test_atomic_extremes(dtype: Any) -> None:
    low = 0 if np.dtype(dtype).kind == "u" else -100000
    x, out = random((999,), dtype, seed=19, low=low, high=100000), np.zeros(2, dtype)
    extremes[(8,)](out, x, 999, BLOCK=128)
    np.testing.assert_array_equal(out, [max(x.max(), 0), min(x.min(), 0)])


def test_a_lock_among_programs() -> None:
    lock, total = np.zeros(1, np.int32), np.zeros(1, np.int32)
    spin[(1,)](lock, total, 25)
    assert (lock[0], total[0]) == (0, 25)


# --- numbers ----------------------------------------------------------------------------------------------


TYPES: dict[str, tuple[Any, Any]] = {
    "i8": (np.int8, tl.int8),
    "u8": (np.uint8, tl.uint8),
    "i16": (np.int16, tl.int16),
    "i32": (np.int32, tl.int32),
    "i64": (np.int64, tl.int64),
    "f16": (np.float16, tl.float16),
    "bf16": (ml_dtypes.bfloat16, tl.bfloat16),
    "f32": (np.float32, tl.float32),
    "f64": (np.float64, tl.float64),
    "f8e5": (ml_dtypes.float8_e5m2, tl.float8e5),
    "f8e4": (ml_dtypes.float8_e4m3fn, tl.float8e4nv),
}


@pytest.mark.parametrize("to", TYPES)
@pytest.mark.parametrize("source", TYPES)
def test_casts(source: str, to: str) -> None:
    given, made = TYPES[source][0], TYPES[to][0]
    x = random((256,), np.float32, seed=21, low=0, high=100).astype(given)
    out = np.zeros(256, made)
    convert[(1,)](out, x, TO=TYPES[to][1], BLOCK=256)
    np.testing.assert_array_equal(
        out.astype(np.float64), x.astype(np.float64).astype(made).astype(np.float64)
    )


def _erf(x: Array) -> Array:
    import math

    return np.vectorize(math.erf)(x)


FUNCTIONS: dict[str, tuple[Callable[[Array], Array], float, float]] = {
    "exp": (np.exp, -20, 20),
    "exp2": (np.exp2, -20, 20),
    "log": (np.log, 0.01, 99),
    "sin": (np.sin, -30, 30),
    "cos": (np.cos, -30, 30),
    "sqrt": (np.sqrt, 0, 99),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0.01, 99),
    "erf": (_erf, -3, 3),
    "floor": (np.floor, -99, 99),
    "sqrt_rn": (np.sqrt, 0, 99),
}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(n, d) for n in FUNCTIONS for d in (np.float32, np.float64) if (n, d) != ("sqrt_rn", np.float64)],
)
def test_functions(name: str, dtype: Any) -> None:
    reference, low, high = FUNCTIONS[name]
    x = random((512,), dtype, seed=23, low=low, high=high)
    out = np.zeros_like(x)
    evaluate[(1,)](out, x, NAME=name, BLOCK=512)
    exact = reference(x.astype(np.float64))
    allowed = 0.5 if name in ("sqrt_rn", "floor") else 16
    assert (np.abs(out - exact) <= (allowed + 0.01) * np.spacing(np.abs(exact).astype(dtype))).all()


def test_integer_arithmetic() -> None:
    x = random((256,), np.int32, seed=25, low=-(1 << 31), high=1 << 31)
    y = random((256,), np.int32, seed=26, low=1, high=1 << 20) * np.where(np.arange(256) % 2, 1, -1).astype(
        np.int32
    )
    out = np.zeros((5, 256), np.int32)
    arithmetic[(1,)](out, x, y, BLOCK=256)
    wide_x, wide_y = x.astype(np.int64), y.astype(np.int64)
    quotient = np.trunc(wide_x / wide_y).astype(np.int64)  # toward zero, as in C
    np.testing.assert_array_equal(out[0], quotient)
    np.testing.assert_array_equal(out[1], wide_x - quotient * wide_y)
    np.testing.assert_array_equal(out[2], (x << 3) ^ (y >> 1) | (x & y))
    np.testing.assert_array_equal(out[3], np.where(x > y, np.maximum(x, -y), np.minimum(x, y)))
    high = (x.astype(np.uint32).astype(np.uint64) * y.astype(np.uint32).astype(np.uint64)) >> np.uint64(32)
    np.testing.assert_array_equal(out[4], high.astype(np.uint32).view(np.int32))


@pytest.mark.parametrize("num_warps", [1, 2])
def test_truth_values_change_layout(num_warps: int) -> None:
    x, y = random((16, 16), np.int8), random((16, 16), np.int8)
    out = np.full((16, 16), 7, np.int8)
    smaller_transposed[(1,)](out, x, y, M=16, N=16, num_warps=num_warps)
    np.testing.assert_array_equal(out, (x < y).T)


# --- control flow -----------------------------------------------------------------------------------------


def test_loops_and_branches() -> None:
    out = np.zeros((20, 32), np.int32)
    collatz[(20,)](out, 20, BLOCK=32)

    def expected(value: int) -> int:
        steps = 0
        while value != 1:
            value, steps = (value // 2 if value % 2 == 0 else 3 * value + 1), steps + 1
        return sum(range(0, steps, 2)) + steps

    np.testing.assert_array_equal(out, np.repeat([[expected(i + 1)] for i in range(20)], 32, 1))


# --- other targets ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ["pvc", "bmg", "lnl", "ptl", "dg2", "arl-h", "mtl", "xe-lp"])
def test_gpus_are_compiled_for_without_one(arch: str) -> None:
    signature = {"out": "*fp16", "x": "*fp16", "n": "i32", "OTHER": "constexpr", "BLOCK": "constexpr"}
    source = tri.ASTSource(masked_copy, signature, {"OTHER": 0, "BLOCK": 512}, {})
    kernel = tri.compile(source, target=f"intel:{arch}", options={"grf_mode": "large"})
    assert kernel.metadata.threads_per_warp == 16
    assert kernel.metadata.attrs["spirv_extensions"] == []
    assert "256-GRF" in str(kernel.metadata.attrs["build_options"])


# --- limits -----------------------------------------------------------------------------------------------


def test_too_much_shared_memory_is_refused() -> None:
    x = random((512, 512), np.int64)
    out = np.zeros((512, 512), np.int64)
    with pytest.raises(OutOfResources, match="shared"):
        transpose[(1,)](out, x, M=512, N=512, num_warps=16)


@tri.jit
def high_matmuls(x_ptr, y_ptr, o_ptr, N: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.arange(0, N)
    tl.store(o_ptr + i, tl.umulhi(tl.load(x_ptr + i), tl.load(y_ptr + i)))


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_high_halves_of_matmuls(dtype: str) -> None:
    """64 bits by 64 bits too, in a language without integers of 128 bits."""
    top = np.iinfo(dtype).max
    generator = np.random.default_rng(5)
    x, y = (generator.integers(0, top, 64, dtype=dtype, endpoint=True) for _ in range(2))
    o = np.zeros_like(x)
    high_matmuls[(1,)](x, y, o, N=64)
    bits = 8 * o.itemsize
    assert o.tolist() == [int(a) * int(b) >> bits for a, b in zip(x, y, strict=True)]


@tri.jit
def masked_high_halves(x_ptr, y_ptr, m_ptr, o_ptr, N: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.arange(0, N)
    mask = tl.load(m_ptr + i).to(tl.int1)
    x, y = tl.load(x_ptr + i, mask=mask), tl.load(y_ptr + i, mask=mask)
    tl.store(o_ptr + i, tl.umulhi(x, y), mask=mask)


@pytest.mark.parametrize("count", [16, 128, 1024])
@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_high_halves_under_a_mask(dtype: str, count: int) -> None:
    top = np.iinfo(dtype).max
    generator = np.random.default_rng(count)
    x, y = (generator.integers(0, top, count, dtype=dtype, endpoint=True) for _ in range(2))
    mask = generator.integers(0, 2, count, dtype=np.int8)
    o = np.zeros_like(x)
    masked_high_halves[(1,)](x, y, mask, o, N=count)
    bits = 8 * o.itemsize
    assert o.tolist() == [int(a) * int(b) >> bits if m else 0 for a, b, m in zip(x, y, mask, strict=True)]


def test_no_builtin_multiplies_64_bits_by_64() -> None:
    """No module has a 64-bit multiplication by a builtin, which the OpenCL CPU runtime computes wrong in
    masked lanes.
    """
    signature = {"x_ptr": "*u64", "y_ptr": "*u64", "o_ptr": "*u64", "N": "constexpr"}
    source = tri.ASTSource(high_matmuls, signature, {"N": 64})
    for arch in ("opencl-cpu", "pvc"):
        kernel = tri.compile(source, target=f"intel:{arch}")
        assert "_Z6mul_himm" not in kernel.asm["llir"]
        module = kernel.asm["spv"]
        assert isinstance(module, bytes)
        assert wrong_on_cpu(module) is None
