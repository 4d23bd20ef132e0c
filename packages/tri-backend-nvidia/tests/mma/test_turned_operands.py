"""Dots of f32 beside others: threads write a right operand that lies along n with rows along k, so that ``wgmma`` reads it."""

from __future__ import annotations

from typing import Any

import pytest

import tri
import tri.language as tl
from matrix_data import close, poisoned, values

torch = pytest.importorskip("torch")

SIMULATED = "sim:nvidia:sm_90a"
BOUND = 4e-3
SIZE = 64


@tri.jit
def steps(p: Any, k: Any, h: Any, out: Any, count: Any, D: tl.constexpr) -> None:
    """``p = p / 2 + (f16(p) k + p h) / 64``, ``count`` times; p, h and out: (D, D) of f32, k: (D, D) of f16."""
    i = tl.arange(0, D)
    at = i[:, None] * D + i[None, :]
    right, narrow, found = tl.load(h + at), tl.load(k + at), tl.load(p + at)
    for _ in range(count):
        total = tl.dot(found.to(tl.float16), narrow)
        total = tl.dot(found, right, total)
        found = found * 0.5 + total * 0.015625
    tl.store(out + at, found)


@tri.jit
def pair(a: Any, b: Any, c: Any, out: Any, D: tl.constexpr) -> None:
    """``out = (a b) c``: (D, D) of f32 each, b along its rows."""
    i = tl.arange(0, D)
    along, across = i[:, None] * D + i[None, :], i[None, :] * D + i[:, None]
    inner = tl.dot(tl.load(a + along), tl.load(b + across))
    tl.store(out + along, tl.dot(inner, tl.load(c + along)))


@tri.jit
def bytes_of_sums(a: Any, b: Any, c: Any, out: Any, D: tl.constexpr) -> None:
    """``out = (a b & 127) c``: (D, D) of i8, out of i32; b along its rows."""
    i = tl.arange(0, D)
    along, across = i[:, None] * D + i[None, :], i[None, :] * D + i[:, None]
    inner = tl.dot(tl.load(a + along), tl.load(b + across))
    tl.store(out + along, tl.dot((inner & 127).to(tl.int8), tl.load(c + along)))


@tri.jit
def single(a: Any, b: Any, out: Any, M: tl.constexpr, N: tl.constexpr) -> None:
    """``out = a b``: (M, M) and (M, N) of f32."""
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    tile = rows[:, None] * N + columns[None, :]
    tl.store(out + tile, tl.dot(tl.load(a + rows[:, None] * M + rows[None, :]), tl.load(b + tile)))


@tri.jit
def scaled(a: Any, b: Any, scale: Any, out: Any, D: tl.constexpr) -> None:
    """``out = a (b scale)``: (D, D) of f16, b along its columns, scale of (D,) for these; out of f32."""
    i = tl.arange(0, D)
    along, across = i[:, None] * D + i[None, :], i[None, :] * D + i[:, None]
    right = tl.load(b + across) * tl.load(scale + i)[None, :]
    tl.store(out + along, tl.dot(tl.load(a + along), right))


def test_what_is_scaled_lies_as_it_was_loaded() -> None:
    """Threads write 16 bytes of a column: its neighbours are those of the load, whatever layout the product had first."""
    a, b = (values(SIZE, SIZE, dtype=torch.float16, seed=i) for i in range(2))
    scale, out = values(SIZE, 1, dtype=torch.float16, seed=2), poisoned(SIZE, SIZE, dtype=torch.float32)
    with tri.target(SIMULATED):
        kernel = scaled[(1,)](a, b, scale, out, SIZE, num_warps=4)
    close(out, a.double() @ (b.t() * scale.t()).double(), BOUND)
    text = kernel.asm["ttgir"]
    assert text.count("ttng.warp_group_dot ") == 1
    assert "transposed = true" in text


def test_a_sum_of_two_dots_and_what_a_loop_makes_of_it_stay_in_one_layout() -> None:
    """Nothing goes through memory but the operands: no dot is computed transposed, and no result is converted."""
    p, h = values(SIZE, SIZE, dtype=torch.float32), values(SIZE, SIZE, dtype=torch.float32, seed=1)
    k, out = values(SIZE, SIZE, dtype=torch.float16, seed=2), poisoned(SIZE, SIZE, dtype=torch.float32)
    with tri.target(SIMULATED):
        kernel = steps[(1,)](p, k, h, out, 3, SIZE, num_warps=4)
    wide = p.double()
    for _ in range(3):
        wide = wide * 0.5 + (wide @ k.double() + wide @ h.double()) / 64
    close(out, wide, BOUND)
    text = kernel.asm["ttgir"]
    loop = text.partition("scf.for")[2].partition("scf.yield")[0]
    assert "columnBits" not in text
    assert loop.count("ttng.warp_group_dot ") == 2
    assert "#blocked" not in loop
    # from one accumulator to the other: the registers are the same
    assert "allocation.offset" not in "".join(line for line in loop.splitlines() if "convert_layout" in line)


def test_a_dot_of_anothers_result_reads_memory() -> None:
    a, b, c = (values(SIZE, SIZE, dtype=torch.float32, seed=i) for i in range(3))
    out = poisoned(SIZE, SIZE, dtype=torch.float32)
    with tri.target(SIMULATED):
        kernel = pair[(1,)](a, b.t().contiguous().t(), c, out, SIZE, num_warps=4)
    close(out, a.double() @ b.double() @ c.double(), BOUND)
    text = kernel.asm["ttgir"]
    assert text.count("ttng.warp_group_dot ") == 2
    assert "tt.dot" not in text
    # a thread loads 4 elements of 4 rows each, and writes 4 of k at once; 8 lanes, to different banks
    (load,) = {line for line in text.splitlines() if line.startswith("#linear")}
    assert "register = [[0, 1], [0, 2], [1, 0], [2, 0]" in load
    assert "lane = [[0, 4], [4, 0], [8, 0]" in load


@tri.jit
def chain(a: Any, b: Any, c: Any, out: Any, count: Any, D: tl.constexpr) -> None:
    """``out = sum of (a b[i]) c[i]``: (D, D) of f32, b and c: (count, D, D) of f32, b[i] along its columns."""
    i = tl.arange(0, D)
    along, across = i[:, None] * D + i[None, :], i[None, :] * D + i[:, None]
    left, total = tl.load(a + along), tl.zeros([D, D], tl.float32)
    for step in range(count):
        inner = tl.dot(left, tl.load(b + step * D * D + across))
        total += tl.dot(inner, tl.load(c + step * D * D + along))
    tl.store(out + along, total)


@pytest.mark.parametrize(("stages", "dots"), [(1, 2), (2, 1)])
def test_a_loop_of_one_stage_copies_nothing_ahead_and_writes_along_k(stages: int, dots: int) -> None:
    """Copies of several stages leave the operand as it lies in global memory; of one, threads load blocks of it."""
    a = values(SIZE, SIZE, dtype=torch.float32)
    b, c = (values(2 * SIZE, SIZE, dtype=torch.float32, seed=i).view(2, SIZE, SIZE) for i in (1, 2))
    out = poisoned(SIZE, SIZE, dtype=torch.float32)
    with tri.target(SIMULATED):
        kernel = chain[(1,)](a, b, c, out, 2, SIZE, num_warps=4, num_stages=stages)
    wide = [x.double() for x in (a, b, c)]
    close(out, (wide[0] @ wide[1].transpose(1, 2) @ wide[2]).sum(0), BOUND)
    text = kernel.asm["ttgir"]
    loop = text.partition("scf.for")[2].partition("scf.yield")[0]
    assert loop.count("ttng.warp_group_dot ") == dots
    assert ("#linear" in text) == (stages == 1)


@tri.jit
def states(k: Any, v: Any, out: Any, count: Any, D: tl.constexpr) -> None:
    """``out = sum of (k[i] i)^T v[i]``: (D, D) of f32, k and v: (count, D, D) of f32."""
    i = tl.arange(0, D)
    along, across = i[:, None] * D + i[None, :], i[None, :] * D + i[:, None]
    total = tl.zeros([D, D], tl.float32)
    for step in range(count):
        total += tl.dot(tl.load(k + step * D * D + across) * step, tl.load(v + step * D * D + along))
    tl.store(out + along, total)


@pytest.mark.parametrize(("stages", "dots"), [(1, 1), (2, 0)])
def test_the_only_dot_of_a_loop_of_one_stage_reads_memory(stages: int, dots: int) -> None:
    """Threads write both operands in any case: along k is as well, and each is read once, not by every warp."""
    k, v = (values(3 * SIZE, SIZE, dtype=torch.float32, seed=i).view(3, SIZE, SIZE) for i in (0, 1))
    out = poisoned(SIZE, SIZE, dtype=torch.float32)
    with tri.target(SIMULATED):
        kernel = states[(1,)](k, v, out, 3, SIZE, num_warps=4, num_stages=stages)
    close(out, sum(i * k[i].double().t() @ v[i].double() for i in range(3)), BOUND)
    assert kernel.asm["ttgir"].count("ttng.warp_group_dot ") == dots


def test_bytes_are_written_along_k_as_well() -> None:
    a, b, c = (values(SIZE, SIZE, dtype=torch.int8, seed=i) for i in range(3))
    out = poisoned(SIZE, SIZE, dtype=torch.int32)
    with tri.target(SIMULATED):
        kernel = bytes_of_sums[(1,)](a, b.t().contiguous().t(), c, out, SIZE, num_warps=4)
    inner = a.long() @ b.long()
    assert torch.equal(out.long(), (inner & 127) @ c.long())
    assert kernel.asm["ttgir"].count("ttng.warp_group_dot ") == 2


def test_a_small_dot_of_its_own_is_left_to_registers() -> None:
    """Writing the operand across its rows is no gain where no other result is waiting for its layout."""
    a, b = values(SIZE, SIZE, dtype=torch.float32), values(SIZE, 32, dtype=torch.float32, seed=1)
    out = poisoned(SIZE, 32, dtype=torch.float32)
    with tri.target(SIMULATED):
        kernel = single[(1,)](a, b, out, SIZE, 32, num_warps=4)
    close(out, a.double() @ b.double(), BOUND)
    assert "warp_group_dot" not in kernel.asm["ttgir"]
