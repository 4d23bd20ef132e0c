"""Dots whose sums are f16 by the instruction: which instructions, in which registers, against sums in exact arithmetic.

The PTX ISA leaves open in which order an instruction adds, with half precision at least; so the bound is that of adding in any
order and rounding after each instruction of 16 along k.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pytest

import tri
import tri.language as tl
from matrix_kernels import matmul, tiles
from nvidia_support import target
from tri_backend_nvidia.mma import matrix_instructions

Array = npt.NDArray[np.float16]

#: products of an instruction along k; the half of f16's distance between neighbours, relative
DEPTH, ROUNDING = 16, 2.0**-11
ARCHITECTURES = ("sm_80", "sm_90a")
#: what the instructions are called in PTX
NAMES = {
    "sm_80": "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
    "sm_90a": "wgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16",
}


def halves(*shape: int, seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


def exact(a: Array, b: Array) -> npt.NDArray[np.float64]:
    """Products and sums of f16 as integers, of 2**-48: no rounding before the last one, to double precision."""
    scaled = [(x.astype(np.float64) * 2.0**24).astype(object) for x in (a, b)]
    left, right = (np.vectorize(int, otypes=[object])(x) for x in scaled)
    return np.asarray((left @ right).astype(np.float64)) * 2.0**-48


def bound(a: Array, b: Array) -> npt.NDArray[np.float64]:
    """Of the error of each sum: a rounding of what is added up so far, at most, after each instruction; twice it for any order."""
    sizes = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    return 2 * (a.shape[1] / DEPTH + 1) * ROUNDING * sizes


def multiplied(
    arch: str, shape: tuple[int, int, int], *, columns: tuple[bool, bool] = (False, False), warps: int = 4
) -> tuple[tri.CompiledKernel, Array, Array, Array]:
    m, n, k = shape
    a, b, c = halves(m, k, seed=m), halves(k, n, seed=n), np.full((m, n), np.nan, np.float16)
    given = [np.ascontiguousarray(x.T) if by else x for x, by in zip((a, b), columns, strict=True)]
    with tri.target(f"sim:nvidia:{arch}"):
        kernel = matmul[(1,)](*given, c, m, n, k, *columns, tl.float16, "tf32", num_warps=warps)
    return kernel, a, b, c


@pytest.mark.parametrize("columns", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_sums_against_exact_ones(arch: str, columns: tuple[bool, bool]) -> None:
    kernel, a, b, c = multiplied(arch, (64, 64, 64), columns=columns)
    assert "f16 f16 f16" in kernel.asm["llir"]
    assert (np.abs(c - exact(a, b)) <= bound(a, b)).all()


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(("shape", "warps"), [((64, 8, 16), 4), ((128, 32, 32), 8), ((64, 256, 16), 4)])
def test_sizes_and_warps(arch: str, shape: tuple[int, int, int], warps: int) -> None:
    _, a, b, c = multiplied(arch, shape, warps=warps)
    assert (np.abs(c - exact(a, b)) <= bound(a, b)).all()


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_integers_are_added_exactly(arch: str) -> None:
    """Sums that f16 has: no order and no rounding changes them, so every element is where it belongs."""
    m, n, k = 64, 64, 32
    rows, columns = np.arange(m)[:, None], np.arange(n)[None, :]
    a = np.where(np.arange(k) == rows % k, 1 + rows // k, 0).astype(np.float16)
    b = (np.arange(k)[:, None] * 32 + columns % 32).astype(np.float16)
    c = np.full((m, n), np.nan, np.float16)
    with tri.target(f"sim:nvidia:{arch}"):
        matmul[(1,)](a, b, c, m, n, k, False, False, tl.float16, "tf32", num_warps=4)
    np.testing.assert_array_equal(c, a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_sums_are_rounded_after_each_instruction(arch: str) -> None:
    """2048 and a one of each instruction: f16 has no 2049, so none of the ones is kept, where f32 keeps all of them."""
    a, b = np.zeros((64, 64), np.float16), np.ones((64, 64), np.float16)
    a[:, ::DEPTH] = 1
    a[:, 0] = 2048
    c = np.full((64, 64), np.nan, np.float16)
    with tri.target(f"sim:nvidia:{arch}"):
        matmul[(1,)](a, b, c, 64, 64, 64, False, False, tl.float16, "tf32", num_warps=4)
    assert (c == 2048).all()


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_loops(arch: str, stages: int) -> None:
    """Sums that are carried around a loop: each iteration waits for its own, since two share a register."""
    (m, n, k), block = (80, 48, 176), (64, 64, 32)
    a, b, c = halves(m, k, seed=1), halves(k, n, seed=2), np.full((m, n), np.nan, np.float16)
    with tri.target(f"sim:nvidia:{arch}"):
        kernel = tiles[(2, 1)](a, b, c, m, n, k, k, 1, n, 1, *block, tl.float16, stages, num_warps=4)
    assert ("nvm.wgmma" if arch == "sm_90a" else "nvm.mma") in kernel.asm["llir"]
    assert set(re.findall(r"warp_group_dot_wait .*pendings = (\d)", kernel.asm["ttgir"])) <= {"0"}
    assert (np.abs(c - exact(a, b)) <= bound(a, b)).all()


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_the_instruction_in_ptx(arch: str) -> None:
    """Two sums in a register; f32 sums are as they were."""
    types = dict.fromkeys(("a", "b", "c"), "*fp16")
    found = {}
    for out in (tl.float16, tl.float32):
        signature = {n: types.get(n, "constexpr") for n in matmul.arg_names}
        types["c"] = "*fp32"
        values = {
            "M": 64,
            "N": 64,
            "K": 16,
            "A_COLUMNS": False,
            "B_COLUMNS": False,
            "OUT": out,
            "PRECISION": "tf32",
        }
        source = tri.ASTSource(matmul, signature, values)
        found[out] = tri.compile(source, target=f"nvidia:{arch}", options={"num_warps": 4}).asm["ptx"]
    name = NAMES[arch]
    assert name in found[tl.float16]
    assert name not in found[tl.float32]
    (sums,) = {len(s.split(",")) for s in re.findall(re.escape(name) + r"\s*\{([^}]*)\}", found[tl.float16])}
    assert sums == (64 // 4 if arch == "sm_90a" else 2)


@pytest.mark.parametrize("arch", ["sm_80", "sm_89", "sm_90a", "sm_120a"])
def test_f32_sums_have_the_rows_that_they_had(arch: str) -> None:
    rows = matrix_instructions(target(arch))
    halves_ = [row for row in rows if row.accumulator == "f16"]
    assert {(row.a, row.b) for row in halves_} == {("f16", "f16")}
    for row in halves_:  # each right before the one that would give f16 by rounding
        after = rows[rows.index(row) + 1]
        assert (after.a, after.b, after.accumulator, after.shape) == ("f16", "f16", "f32", row.shape)
