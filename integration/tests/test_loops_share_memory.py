"""Loops one after the other, as in attention with a mask on the diagonal: an operand is staged once, and both are pipelined."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl


@tri.jit
def below_and_on_the_diagonal(q, k, o, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """``o = (q k^T masked) k`` for the block of rows of this program: whole blocks of keys first, then those on the diagonal."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    width = tl.arange(0, D)
    x = tl.load(q + rows[:, None] * D + width[None, :])
    total = tl.zeros((M, D), tl.float32)
    for start in range(0, tl.program_id(0) * M, N):
        keys = start + tl.arange(0, N)
        y = tl.load(k + keys[:, None] * D + width[None, :])
        s = tl.dot(x, tl.trans(y))
        total += tl.dot(s.to(x.dtype), y)
    for start in range(tl.program_id(0) * M, (tl.program_id(0) + 1) * M, N):
        keys = start + tl.arange(0, N)
        y = tl.load(k + keys[:, None] * D + width[None, :], mask=keys[:, None] < length, other=0.0)
        s = tl.where(rows[:, None] >= keys[None, :], tl.dot(x, tl.trans(y)), 0.0)
        total += tl.dot(s.to(x.dtype), y)
    tl.store(o + rows[:, None] * D + width[None, :], total)


@tri.jit
def gram(x, o, p, N: tl.constexpr, D: tl.constexpr):
    """``o = x x^T`` and ``p = x^T x``, without a loop: one tensor, read plain and transposed, as left and as right operand."""
    rows, width = tl.arange(0, N), tl.arange(0, D)
    v = tl.load(x + rows[:, None] * D + width[None, :])
    tl.store(o + rows[:, None] * N + rows[None, :], tl.dot(v, tl.trans(v)))
    tl.store(p + width[:, None] * D + width[None, :], tl.dot(tl.trans(v), v))


@tri.jit
def rows_beside_blocks(
    q, k, m, d, o, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, CARRIED: tl.constexpr
):
    """``o = (exp2(q k^T - m) * d) k``: a row of maxima and one of factors for each block of keys, every second element of their arrays."""
    rows, width, columns = tl.arange(0, M), tl.arange(0, D), tl.arange(0, N)
    x = tl.load(q + rows[:, None] * D + width[None, :])
    total = tl.zeros((M, D), tl.float32)
    pm = m + columns * 2
    for start in range(0, length, N):
        keys = start + columns
        y = tl.load(k + keys[:, None] * D + width[None, :], mask=keys[:, None] < length, other=0.0)
        if CARRIED:
            most = tl.load(pm, mask=keys < length, other=0.0)
            pm += N * 2
        else:
            most = tl.load(m + keys * 2, mask=keys < length, other=0.0)
        factor = tl.load(d + keys * 2, mask=keys < length, other=0.0)
        s = tl.exp2(tl.dot(x, tl.trans(y)) - most[None, :]) * factor[None, :]
        total += tl.dot(s.to(x.dtype), y)
    tl.store(o + rows[:, None] * D + width[None, :], total)


def compiled(
    kernel: Any, target: str, types: dict[str, str], constants: dict[str, int], **options: int
) -> Any:
    signature = {name: types.get(name, "constexpr") for name in kernel.arg_names}
    aligned = {(i,): [["tt.divisibility", 16]] for i, n in enumerate(kernel.arg_names) if n in types}
    return tri.compile(tri.ASTSource(kernel, signature, constants, aligned), target=target, options=options)


DIAGONAL = {"q": "*fp16", "k": "*fp16", "o": "*fp32", "length": "i32"}


def test_both_loops_copy_ahead_and_the_rows_are_staged_once() -> None:
    made = compiled(
        below_and_on_the_diagonal,
        "nvidia:sm_90a",
        DIAGONAL,
        {"M": 128, "N": 64, "D": 128},
        num_warps=8,
        num_stages=3,
        warp_specialize=False,
    )
    text = str(made.asm["ttgir"])
    loops = text.split("scf.for")[1:]
    assert len(loops) == 2
    assert all("ttg.async_copy_global_to_local" in body.split("scf.yield")[0] for body in loops)
    filled = re.findall(r"= ttg\.local_alloc %\S+ ", text)
    assert len(filled) == 1
    stage = 64 * 128 * 2
    assert made.metadata.resources["shared"] <= 3 * stage + 128 * 128 * 2
    assert "remarks" not in made.metadata.attrs


def test_a_tensor_and_its_transpose_are_one_buffer() -> None:
    made = compiled(
        gram, "nvidia:sm_90a", {"x": "*fp16", "o": "*fp32", "p": "*fp32"}, {"N": 64, "D": 64}, num_warps=4
    )
    text = str(made.asm["ttgir"])
    assert text.count("ttng.warp_group_dot ") == 2
    assert text.count("= ttg.local_alloc ") == 1
    assert "ttg.memdesc_trans" in text


@pytest.mark.parametrize("target", ["sim:nvidia:sm_80", "sim:nvidia:sm_90a", "sim:nvidia:sm_100a"])
def test_they_are_right(target: str) -> None:
    rng = np.random.default_rng(0)
    length, block, width = 256, 64, 64
    q, k = (rng.standard_normal((length, width)).astype(np.float16) for _ in range(2))
    o = np.full((length, width), np.nan, np.float32)
    g, p = np.full((64, 64), np.nan, np.float32), np.full((64, 64), np.nan, np.float32)
    with tri.target(target):
        below_and_on_the_diagonal[(length // block,)](q, k, o, length, M=block, N=32, D=width, num_stages=3)
        gram[(1,)](k[:64], g, p, N=64, D=64)
    s = np.tril(q.astype(np.float64) @ k.astype(np.float64).T)
    s = s.astype(np.float16).astype(np.float64)
    np.testing.assert_allclose(o, s @ k.astype(np.float64), rtol=2e-2, atol=2.0)
    x = k[:64].astype(np.float64)
    np.testing.assert_allclose(g, x @ x.T, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(p, x.T @ x, rtol=1e-4, atol=1e-3)


ROWS = {"q": "*fp16", "k": "*fp16", "m": "*fp32", "d": "*fp32", "o": "*fp32", "length": "i32"}


@pytest.mark.parametrize("target", ["nvidia:sm_80", "nvidia:sm_90a"])
def test_rows_that_dots_depend_on_are_copied_ahead(target: str) -> None:
    """A load of a row in the loop would be waited for in each iteration; addresses that a loop carries are in one layout."""
    for carried in (0, 1):
        made = compiled(
            rows_beside_blocks,
            target,
            ROWS,
            {"M": 64, "N": 64, "D": 64, "CARRIED": carried},
            num_warps=4,
            num_stages=3,
            warp_specialize=False,
        )
        body = str(made.asm["ttgir"]).split("scf.for")[1].split("scf.yield")[0]
        assert body.count("= ttg.async_copy_global_to_local ") == 3 - carried
        assert len(re.findall(r"= tt\.load ", body)) == carried
        assert len(re.findall(r"tensor<64x!tt\.ptr<f32>, #blocked\d*> -> <64xf32", body)) == 2 - carried


@pytest.mark.parametrize("target", ["sim:nvidia:sm_80", "sim:nvidia:sm_90a"])
@pytest.mark.parametrize("length", [64, 160, 250])
@pytest.mark.parametrize("stages", [2, 3, 4])
def test_and_are_right(target: str, length: int, stages: int) -> None:
    rng = np.random.default_rng(length)
    q, k = (rng.standard_normal((n, 32)).astype(np.float16) / 4 for n in (64, length))
    m, d = (rng.standard_normal(2 * length).astype(np.float32) for _ in range(2))
    s = np.exp2(q.astype(np.float64) @ k.astype(np.float64).T - m[::2]) * d[::2]
    for carried in (False, True):
        o = np.full((64, 32), np.nan, np.float32)
        with tri.target(target):
            rows_beside_blocks[(1,)](
                q, k, m, d, o, length, M=64, N=32, D=32, CARRIED=carried, num_stages=stages
            )
        np.testing.assert_allclose(o, s @ k.astype(np.float64), rtol=1e-2, atol=2e-2)


def test_a_loop_with_fewer_stages_says_why() -> None:
    made = compiled(
        below_and_on_the_diagonal,
        "nvidia:sm_90a",
        DIAGONAL,
        {"M": 128, "N": 128, "D": 256},
        num_warps=8,
        num_stages=3,
        warp_specialize=False,
    )
    remarks = made.metadata.attrs["remarks"]
    assert any("the loop has 2 of 3 stages: each takes 65536 bytes" in text for text in remarks)


@tri.jit
def in_place(x, w, K, N: tl.constexpr, B: tl.constexpr):
    """Each iteration multiplies what the one before wrote."""
    i, j = tl.arange(0, N), tl.arange(0, B)
    for start in range(0, K, B):
        left = tl.load(x + i[:, None] * K + start + j[None, :])
        right = tl.load(w + j[:, None] * N + j[None, :])
        tl.store(x + i[:, None] * K + start + j[None, :], tl.dot(left, right).to(tl.float16))
        tl.store(w + j[:, None] * N + j[None, :], right)


def test_so_does_one_that_writes_what_it_loads() -> None:
    made = compiled(in_place, "nvidia:sm_80", {"x": "*fp16", "w": "*fp16", "K": "i32"}, {"N": 64, "B": 64})
    assert any("may write what it loads" in text for text in made.metadata.attrs["remarks"])
