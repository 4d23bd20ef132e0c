"""Block pointers on the CPU target, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_core.errors import CompilationError


@pytest.fixture(autouse=True)
def _cpu(mode):
    return mode


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@tri.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j = tl.program_id(0), tl.program_id(1)
    a = tl.make_block_ptr(a_ptr, (M, K), (stride_am, 1), (i * BM, 0), (BM, BK), order=(1, 0))
    b = tl.make_block_ptr(b_ptr, (K, N), (N, 1), (0, j * BN), (BK, BN), order=(1, 0))
    acc = tl.zeros([BM, BN], tl.float32)
    for _ in range(0, K, BK):
        x = tl.load(a, boundary_check=(0, 1), padding_option="zero")
        y = tl.load(b, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(x, y, acc)
        a = tl.advance(a, (0, BK))
        b = b.advance([BK, 0])
    c = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (i * BM, j * BN), (BM, BN), order=(1, 0))
    tl.store(c, acc.to(c.dtype.element_ty), boundary_check=(0, 1))


@pytest.mark.parametrize(("m", "n", "k"), [(32, 32, 32), (33, 20, 50)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_matmul(rng, m, n, k, dtype):
    whole = rng.standard_normal((m, k + 3)).astype(dtype)
    a, b = whole[:, :k], rng.standard_normal((k, n)).astype(dtype)
    c = np.full((m, n), 7, dtype)
    matmul[tri.cdiv(m, 16), tri.cdiv(n, 16)](whole, b, c, m, n, k, k + 3, BM=16, BN=16, BK=16)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=2e-2, atol=2e-2)


@tri.jit
def edges(x_ptr, out_ptr, n, at, PADDING: tl.constexpr, CHECK: tl.constexpr, B: tl.constexpr):
    source = tl.make_block_ptr(x_ptr, (4, n), (n, 1), (0, at), (4, B), (1, 0))
    if at > 1:
        source = source.advance((0, -1))
    target = tl.make_block_ptr(out_ptr, (4, B), (B, 1), (0, 0), (4, B), (1, 0))
    tl.store(target, tl.load(source, boundary_check=CHECK, padding_option=PADDING))


@pytest.mark.parametrize(("padding", "value"), [("zero", 0), ("nan", np.nan)])
@pytest.mark.parametrize("at", [-3, 0, 5])
def test_edges(rng, padding, value, at):
    x, out = rng.standard_normal((4, 10)).astype(np.float32), np.ones((4, 8), np.float32)
    edges[(1,)](x, out, 10, at, PADDING=padding, CHECK=(0, 1), B=8)
    start = at - (at > 1)
    expected = np.full((4, 8), value, np.float32)
    for j in range(8):
        if 0 <= start + j < 10:
            expected[:, j] = x[:, start + j]
    np.testing.assert_array_equal(out, expected)


def test_offsets_are_64_bits_wide():
    source = tri.ASTSource(
        edges,
        {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "at": "i32", **dict.fromkeys(("PADDING", "CHECK", "B"), "constexpr")},
        {"PADDING": "", "CHECK": (1,), "B": 8},
    )  # fmt: skip
    text = tri.compile(source, target="cpu").asm["ttir"]
    assert "tensor<4x8xi64>" in text
    assert "tensor<4x8xi32>" not in text


@tri.jit
def transposed(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (N, M), (1, N), (0, 0), (N, M), (0, 1))
    flag = tl.make_block_ptr(out_ptr, (N, M), (M, 1), (0, 0), (N, M), (1, 0))
    flag.store(tl.load(x))


def test_a_transposed_view(rng):
    x, out = rng.integers(-100, 100, (8, 16)).astype(np.int16), np.zeros((16, 8), np.int16)
    transposed[(1,)](x, out, M=8, N=16)
    np.testing.assert_array_equal(out, x.T)


@tri.jit
def wrong(x_ptr, n, HOW: tl.constexpr):
    if HOW == "order":
        tl.make_block_ptr(x_ptr, (n, n), (n, 1), (0, 0), (4, 8), (1, 1))
    elif HOW == "count":
        tl.make_block_ptr(x_ptr, (n,), (n, 1), (0, 0), (4, 8), (1, 0))
    p = tl.make_block_ptr(x_ptr, (n, n), (n, 1), (0, 0), (4, 8), (1, 0))
    if HOW == "mask":
        tl.load(p, mask=n > 4)
    elif HOW == "check":
        tl.load(p, boundary_check=(2,))
    elif HOW == "padding":
        tl.load(p, boundary_check=(1,), padding_option="one")
    elif HOW == "advance":
        tl.advance(x_ptr, (1,))
    elif HOW == "pointer":
        tl.load(x_ptr, boundary_check=(0,))
    elif HOW == "value":
        tl.store(p, tl.zeros([8, 8], tl.float32))


@pytest.mark.parametrize(("how", "message"), [
    ("order", r"order is \[1, 1\]"),
    ("count", "shape has 1 items; 2 are needed"),
    ("mask", "takes no mask= or other="),
    ("check", "boundary_check has 2"),
    ("padding", "padding_option is 'one'"),
    ("advance", "advance moves a block pointer"),
    ("pointer", "are for block pointers"),
    ("value", r"\[8, 8\]"),
])  # fmt: skip
def test_errors(how, message):
    with pytest.raises(CompilationError, match=message) as error:
        wrong[(1,)](np.zeros((16, 16), np.float32), 16, HOW=how)
    assert error.value.location is not None
