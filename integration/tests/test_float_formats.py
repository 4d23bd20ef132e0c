"""Casts between all float formats on the CPU target: every fp8 number, every fp16 and bf16 one, hard fp32 and fp64 ones."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tri
import tri.language as tl
from integration.tests.float_formats import FORMATS, samples
from tri_core.errors import CompilationError, LaunchError

WIDE = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32, "fp64": np.float64}


@pytest.fixture(autouse=True)
def _cpu(mode):
    return mode


@tri.jit
def cast(x_ptr, y_ptr, n, ROUNDING: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x.to(y_ptr.dtype.element_ty, fp_downcast_rounding=ROUNDING), mask=i < n)


def held(format_, array):
    """``array`` of bytes as an argument of that format."""
    return tri.reinterpret(array, format_.language) if format_.held is np.uint8 else array.view(format_.held)


def exact(x):
    """``x`` as float64; a signalling NaN is no reason for a warning."""
    with np.errstate(invalid="ignore"):
        return x.astype(np.float64)


def run(x, y, rounding=None):
    n = len(x.base if hasattr(x, "base") and not isinstance(x, np.ndarray) else x)
    cast[(tri.cdiv(n, 1024),)](x, y, n, ROUNDING=rounding, B=1024)


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("name", FORMATS)
def test_every_number_widens_exactly(name, wide):
    format_ = FORMATS[name]
    y = np.ones(256, WIDE[wide])
    run(held(format_, np.arange(256, dtype=np.uint8)), y)
    with np.errstate(invalid="ignore"):
        expected = exact(format_.values.astype(WIDE[wide]))
    np.testing.assert_array_equal(exact(y), expected)
    signs = [np.signbit(v) | np.isnan(v) for v in (exact(y), expected)]
    np.testing.assert_array_equal(*signs)


def inputs(format_, wide):
    """Every number of a 16-bit type, else hard ones."""
    if wide in ("fp16", "bf16"):
        return np.arange(1 << 16, dtype=np.uint16).view(WIDE[wide])
    return samples(format_, WIDE[wide], np.random.default_rng(1), 8192)


@pytest.mark.parametrize("rounding", [None, "rtz"])
@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("name", FORMATS)
def test_narrowing_is_correctly_rounded(name, wide, rounding):
    format_ = FORMATS[name]
    x = inputs(format_, wide)
    y = np.full(len(x), 0x55, np.uint8)
    run(x, held(format_, y), rounding)
    np.testing.assert_array_equal(format_.values[y], format_.rounded(exact(x), toward_zero=rounding == "rtz"))


@pytest.mark.parametrize("name", [n for n in FORMATS if n != "fp8e4b15"])
def test_the_oracle_is_that_of_ml_dtypes(name):
    format_ = FORMATS[name]
    x = inputs(format_, "fp32")
    inside = np.abs(x) <= format_.positive[-1]
    expected = x[inside].astype(format_.held).astype(np.float64)
    np.testing.assert_array_equal(format_.rounded(x[inside].astype(np.float64)), expected)


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("source", FORMATS)
def test_between_the_small_formats(source, target):
    y = np.full(256, 0x55, np.uint8)
    run(held(FORMATS[source], np.arange(256, dtype=np.uint8)), held(FORMATS[target], y))
    values = FORMATS[source].values
    expected = values if source == target else FORMATS[target].rounded(values)
    found = FORMATS[target].values[y]
    # which sign a number gets that stands for a NaN is the hardware's: one format has one NaN, without a sign
    signless = np.isnan(values) & ~np.isnan(expected)
    np.testing.assert_array_equal(
        np.where(signless, np.abs(found), found), np.where(signless, np.abs(expected), expected)
    )


@pytest.mark.parametrize(("source", "target"), [(a, b) for a in WIDE for b in WIDE if a != b])
def test_between_the_wide_formats(source, target):
    x = inputs(FORMATS["fp8e5"], source)
    y = np.zeros(len(x), WIDE[target])
    run(x, y)
    with np.errstate(all="ignore"):
        # ml_dtypes rounds fp64 to bf16 twice
        expected = _bfloat16(x) if (source, target) == ("fp64", "bf16") else x.astype(WIDE[target])
    np.testing.assert_array_equal(exact(y), exact(expected))


def _bfloat16(x):
    """fp64 rounded once to bf16, by its bits."""
    single = x.astype(np.float32)
    inexact = single.astype(np.float64) != x
    toward = np.where(np.abs(single) > np.abs(x), np.nextafter(single, np.float32(0)), single)
    bits = toward.view(np.uint32)
    odd = np.where(inexact & np.isfinite(x), bits | 1, bits).astype(np.uint32)
    return odd.view(np.float32).astype(ml_dtypes.bfloat16)


# --- use ------------------------------------------------------------------------------------------------


@tri.jit
def arithmetic(x_ptr, y_ptr, out_ptr, small_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    tl.store(out_ptr + i, x.to(tl.float32) * y.to(tl.float32) + tl.where(x > y, 1.0, 0.0))
    tl.store(small_ptr + i, tl.abs(x) + x * y - y)


@pytest.mark.parametrize("name", [n for n in FORMATS if n != "fp8e4b15"])
def test_arithmetic(name):
    format_, rng = FORMATS[name], np.random.default_rng(2)
    x, y = (rng.standard_normal(256).astype(format_.held) for _ in range(2))
    out, small = np.zeros(256, np.float32), np.zeros(256, format_.held)
    arithmetic[(1,)](x, y, out, small, N=256)
    a, b = x.astype(np.float64), y.astype(np.float64)
    np.testing.assert_allclose(out, a * b + (a > b), rtol=1e-6)
    step = format_.rounded(np.abs(a) + format_.rounded(a * b))
    np.testing.assert_array_equal(small.astype(np.float64), format_.rounded(step - b))


@tri.jit
def matmul(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    tl.store(c_ptr + m[:, None] * N + n[None, :], tl.dot(a, b))


@pytest.mark.parametrize("rhs", FORMATS)
@pytest.mark.parametrize("lhs", FORMATS)
def test_matmuls(lhs, rhs):
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 0x38, (2, 32, 32)).astype(np.uint8)
    c = np.zeros((32, 32), np.float32)
    matmul[(1,)](held(FORMATS[lhs], a), held(FORMATS[rhs], b), c, M=32, N=32, K=32)
    np.testing.assert_allclose(c, FORMATS[lhs].values[a] @ FORMATS[rhs].values[b], rtol=1e-5, atol=1e-6)


def test_torch_holds_them():
    torch = pytest.importorskip("torch")
    x = torch.linspace(-3, 3, 64)
    y = torch.zeros(64, dtype=torch.float8_e4m3fn)
    cast[(1,)](x, y, 64, ROUNDING=None, B=64)
    assert torch.equal(y.view(torch.uint8), x.to(torch.float8_e4m3fn).view(torch.uint8))
    again = torch.zeros(64, dtype=torch.uint8)
    cast[(1,)](x, tri.reinterpret(again, tl.float8e4nv), 64, ROUNDING=None, B=64)
    assert torch.equal(again, y.view(torch.uint8))


@tri.jit
def adds(x_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(x_ptr + tl.arange(0, N), x + x)


def test_fp8e4b15_is_only_stored():
    with pytest.raises(CompilationError, match="fp8e4b15, which is only stored"):
        adds[(1,)](tri.reinterpret(np.zeros(16, np.uint8), tl.float8e4b15), N=16)


@tri.jit
def fills(x_ptr, V: tl.constexpr, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), tl.full([N], V, x_ptr.dtype.element_ty))


@pytest.mark.parametrize("value", [0.0, -1.0, 0.3, 1.8, -5.0, float("nan"), 1e-5])
@pytest.mark.parametrize("name", FORMATS)
def test_constants(name, value):
    y = np.zeros(8, np.uint8)
    fills[(1,)](held(FORMATS[name], y), V=value, N=8)
    expected = FORMATS[name].rounded(np.full(8, value))
    np.testing.assert_array_equal(FORMATS[name].values[y], expected)


def test_what_cannot_be_reinterpreted():
    x = np.zeros(16, np.uint8)
    assert tri.reinterpret(x, tl.uint8) is x
    assert tri.reinterpret(tri.reinterpret(x, tl.float8e5), tl.uint8) is x
    wrapped = tri.reinterpret(x, tl.float8e5)
    assert (wrapped.dtype, wrapped.shape, wrapped.data_ptr()) == (tl.float8e5, (16,), x.ctypes.data)
    with pytest.raises(LaunchError, match=r"uint8 \(1 bytes\) cannot be reinterpreted as fp16 \(2 bytes\)"):
        tri.reinterpret(x, tl.float16)
    with pytest.raises(LaunchError, match="a list cannot be reinterpreted"):
        tri.reinterpret([1], tl.float16)
