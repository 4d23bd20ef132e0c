"""Scaled dots on the CPU target, against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tri
import tri.language as tl
from tri_core.errors import CompilationError

M, N, K = 32, 16, 64
DTYPES = {
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "bf16": ml_dtypes.bfloat16,
    "fp16": np.float16,
}


@pytest.fixture(autouse=True)
def _cpu(mode):
    return mode


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


@tri.jit
def matmul(
    a_ptr, b_ptr, sa_ptr, sb_ptr, c_ptr,
    FA: tl.constexpr, FB: tl.constexpr, PA: tl.constexpr, PB: tl.constexpr, FAST: tl.constexpr,
    AR: tl.constexpr, AC: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, G: tl.constexpr,
):  # fmt: skip
    a = tl.load(a_ptr + tl.arange(0, AR)[:, None] * AC + tl.arange(0, AC)[None, :])
    b = tl.load(b_ptr + tl.arange(0, BR)[:, None] * BC + tl.arange(0, BC)[None, :])
    group = tl.arange(0, G)[None, :]
    sa, sb = None, None
    if sa_ptr is not None:
        sa = tl.load(sa_ptr + tl.arange(0, M)[:, None] * G + group)
    if sb_ptr is not None:
        sb = tl.load(sb_ptr + tl.arange(0, N)[:, None] * G + group)
    out = c_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    c = tl.dot_scaled(a, sa, FA, b, sb, FB, tl.load(out), FAST, PA, PB)
    tl.store(out, c)


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def operand(rng, shape, format_, axis):
    """Random values, exactly in the format: as a kernel takes them (packed along ``axis``), and as floats."""
    if format_ != "e2m1":
        held = rng.standard_normal(shape).astype(DTYPES[format_])
        return held, held.astype(np.float64)
    nibbles = rng.integers(0, 16, shape).astype(np.uint8)
    low, high = (nibbles.take(range(i, shape[axis], 2), axis) for i in (0, 1))
    return low | high << 4, E2M1[nibbles]


def scales(rng, rows, dtype=np.uint8):
    bits = rng.integers(120, 134, (rows, K // 32)).astype(dtype)
    return bits, np.repeat(2.0 ** (bits.astype(int) - 127), 32, 1)


def run(a, b, sa, sb, fa, fb, pa=True, pb=True, fast=False, c=None):
    c = np.zeros((M, N), np.float32) if c is None else c
    matmul[(1,)](
        a, b, sa, sb, c, FA=fa, FB=fb, PA=pa, PB=pb, FAST=fast, AR=a.shape[0], AC=a.shape[1], BR=b.shape[0],
        BC=b.shape[1], M=M, N=N, G=K // 32,
    )  # fmt: skip
    return c


FORMATS = ["e2m1", "e4m3", "e5m2", "bf16", "fp16"]


@pytest.mark.parametrize("scaled", [(True, True), (False, True)])
@pytest.mark.parametrize("rhs", FORMATS)
@pytest.mark.parametrize("lhs", FORMATS)
def test_every_pair_of_formats(rng, lhs, rhs, scaled):
    a, exact_a = operand(rng, (M, K), lhs, 1)
    b, exact_b = operand(rng, (K, N), rhs, 0)
    (sa, by_a), (sb, by_b) = scales(rng, M), scales(rng, N)
    c = rng.standard_normal((M, N)).astype(np.float32)
    expected = c + (exact_a * (by_a if scaled[0] else 1)) @ (exact_b * (by_b.T if scaled[1] else 1))
    result = run(a, b, sa if scaled[0] else None, sb if scaled[1] else None, lhs, rhs, c=c.copy())
    # a bf16 operand beside an fp16 one is rounded to fp16 and may leave its normal range
    mixed = {lhs, rhs} == {"bf16", "fp16"}
    np.testing.assert_allclose(result, expected, rtol=2e-2 if mixed else 1e-4, atol=1 if mixed else 1e-3)


@pytest.mark.parametrize("packs", [(False, True), (True, False), (False, False)])
def test_packed_along_the_other_dimension(rng, packs):
    a, exact_a = operand(rng, (M, K), "e2m1", 1 if packs[0] else 0)
    b, exact_b = operand(rng, (K, N), "e2m1", 0 if packs[1] else 1)
    (sa, by_a), (sb, by_b) = scales(rng, M), scales(rng, N)
    result = run(a, b, sa, sb, "e2m1", "e2m1", *packs)
    np.testing.assert_allclose(result, (exact_a * by_a) @ (exact_b * by_b.T), rtol=1e-5)


@pytest.mark.parametrize("format_", ["e2m1", "e4m3", "fp16"])
def test_an_invalid_scale_is_nan(rng, format_):
    a, _ = operand(rng, (M, K), format_, 1)
    b, _ = operand(rng, (K, N), "e4m3", 0)
    (sa, _), (sb, _) = scales(rng, M), scales(rng, N)
    sa[3, 1] = sb[5, 0] = 0xFF
    result = run(a, b, sa, sb, format_, "e4m3")
    expected = np.zeros((M, N), bool)
    expected[3], expected[:, 5] = True, True
    np.testing.assert_array_equal(np.isnan(result), expected)


def test_fp8_as_bytes(rng):
    a, exact_a = operand(rng, (M, K), "e4m3", 1)
    b, exact_b = operand(rng, (K, N), "e5m2", 0)
    result = run(a.view(np.uint8), b.view(np.uint8), None, None, "e4m3", "e5m2", fast=True)
    np.testing.assert_allclose(result, exact_a @ exact_b, rtol=1e-4, atol=1e-4)


@tri.jit
def wrong(x_ptr, HOW: tl.constexpr):
    a = tl.zeros([16, 32], tl.uint8)
    s = tl.zeros([16, 1], tl.uint8)
    if HOW == "format":
        tl.dot_scaled(a, s, "e3m2", a.T, s, "e4m3")
    elif HOW == "dtype":
        tl.dot_scaled(a, s, "bf16", a.T, s, "e4m3")
    elif HOW == "pack":
        tl.dot_scaled(a, s, "e4m3", a.T, s, "e4m3", lhs_k_pack=False)
    elif HOW == "depth":
        tl.dot_scaled(a, None, "e2m1", a.T, s, "e4m3")
    elif HOW == "scale":
        tl.dot_scaled(a, s, "e4m3", a.T, s.T, "e4m3")
    elif HOW == "out":
        tl.dot_scaled(a, s, "e4m3", a.T, s, "e4m3", out_dtype=tl.float16)
    elif HOW == "acc":
        tl.dot_scaled(a, s, "e4m3", a.T, s, "e4m3", acc=tl.zeros([16, 32], tl.float32))


@pytest.mark.parametrize(("how", "message"), [
    ("format", "lhs_format is 'e3m2'"),
    ("dtype", "lhs of format bf16 is uint8"),
    ("pack", "lhs_k_pack=False is for e2m1"),
    ("depth", "has K=64"),
    ("scale", r"rhs_scale is \[1, 16\]; \[16, 1\] is needed"),
    ("out", "dot_scaled gives float32, not fp16"),
    ("acc", "dot_scaled's accumulator is"),
])  # fmt: skip
def test_errors(how, message):
    with pytest.raises(CompilationError, match=message) as error:
        wrong[(1,)](np.zeros(8, np.uint8), HOW=how)
    assert error.value.location is not None
