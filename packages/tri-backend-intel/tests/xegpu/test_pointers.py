"""Epilogues by pointers on the SIMD path: masks, a residual, a bias; ``scf`` control flow around dots; refusals with their place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_core.api import Unsupported


@tri.jit
def masked(
    a_ptr, b_ptr, c_ptr, r_ptr, M, N, K, stride_a, stride_b, stride_c,
    RESIDUAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [stride_a, 1], [BLOCK_M, BLOCK_K])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [stride_b, 1], [BLOCK_K, BLOCK_N])
    row, column = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        total = tl.dot(a.load([row, k * BLOCK_K]), b.load([k * BLOCK_K, column]), total)
    rows, columns = row + tl.arange(0, BLOCK_M), column + tl.arange(0, BLOCK_N)
    places = rows[:, None] * stride_c + columns[None, :]
    # a mask of no rectangle
    mask = (rows[:, None] < M) & (columns[None, :] < N) & ((rows[:, None] + columns[None, :]) % 3 != 0)
    if RESIDUAL:
        total = total + tl.load(r_ptr + places, mask=mask & (columns[None, :] % 2 == 0), other=5.0)
    tl.store(c_ptr + places, total.to(c_ptr.dtype.element_ty), mask=mask)


def inputs(m: int, n: int, k: int) -> tuple[Any, Any, Any]:
    make = np.random.default_rng(7)
    a, b = (make.integers(-3, 4, s).astype("f2") for s in ((m, k), (k, n)))
    return a, b, make.integers(-50, 50, (m, n)).astype("f4")


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("out", ["f4", "f2"])
@pytest.mark.parametrize(("size", "warps"), [((64, 64, 64), 4), ((51, 40, 48), 8)])
def test_masks_and_residuals_are_those_of_numpy(
    residual: bool, out: str, size: tuple[int, int, int], warps: int
) -> None:
    m, n, k = size
    a, b, r = inputs(*size)
    c = np.full((m, n), 99, out)
    with tri.target("sim:intel:pvc"):
        kernel = masked[(1, 1)](
            a, b, c, r, m, n, k, k, n, n, residual, 64, 64, 32, num_warps=warps, path="simd"
        )
    assert kernel.metadata.attrs["path"] == "simd"
    i, j = np.indices((m, n))
    wanted = a.astype("f8") @ b.astype("f8") + (np.where(j % 2 == 0, r, 5.0) if residual else 0)
    np.testing.assert_array_equal(c, np.where((i + j) % 3 != 0, wanted, 99).astype(out))


@tri.jit
def branches(a_ptr, b_ptr, c_ptr, flag, STEPS: tl.constexpr):
    """A loop of dots, stored in a branch."""
    a = tl.make_tensor_descriptor(a_ptr, [64, 64], [64, 1], [64, 32])
    b = tl.make_tensor_descriptor(b_ptr, [64, 64], [64, 1], [32, 64])
    total = tl.zeros((64, 64), dtype=tl.float32)
    for k in range(STEPS):
        total = tl.dot(a.load([0, k * 32]), b.load([k * 32, 0]), total)
    if flag > 2:
        tl.store(c_ptr + tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :], total)


@pytest.mark.parametrize("flag", [2, 3])
def test_stores_in_branches(flag: int) -> None:
    a, b, c = inputs(64, 64, 64)
    wanted = a.astype("f8") @ b.astype("f8") if flag > 2 else c.copy()
    with tri.target("sim:intel:pvc"):
        branches[(1,)](a, b, c, flag, 2, num_warps=4, path="simd")
    np.testing.assert_array_equal(c, wanted)


@tri.jit
def chosen(a_ptr, b_ptr, c_ptr, flag):
    """Dots in a branch."""
    a = tl.make_tensor_descriptor(a_ptr, [64, 64], [64, 1], [64, 32])
    b = tl.make_tensor_descriptor(b_ptr, [64, 64], [64, 1], [32, 64])
    c = tl.make_tensor_descriptor(c_ptr, [64, 64], [64, 1], [64, 64])
    total = tl.dot(a.load([0, 0]), b.load([0, 0]))
    if flag > 2:
        total = tl.dot(a.load([0, 32]), b.load([32, 0]), total)
    c.store([0, 0], total)


@tri.jit
def moving(a_ptr, b_ptr, c_ptr, N):
    """The pointers of a result go through a loop."""
    a = tl.make_tensor_descriptor(a_ptr, [64, 64], [64, 1], [64, 32])
    b = tl.make_tensor_descriptor(b_ptr, [64, 64], [64, 1], [32, 64])
    places = c_ptr + tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    for _ in range(N):
        tl.store(places, tl.dot(a.load([0, 0]), b.load([0, 0])))
        places += 64 * 64


@tri.jit
def ended(a_ptr, b_ptr, c_ptr, N):
    """A loop that its own numbers end."""
    a = tl.make_tensor_descriptor(a_ptr, [64, 64], [64, 1], [64, 32])
    b = tl.make_tensor_descriptor(b_ptr, [64, 64], [64, 1], [32, 64])
    c = tl.make_tensor_descriptor(c_ptr, [64, 64], [64, 1], [64, 64])
    total = tl.zeros((64, 64), dtype=tl.float32)
    while N > 0:
        total = tl.dot(a.load([0, 0]), b.load([0, 0]), total)
        N //= 2
    c.store([0, 0], total)


@pytest.mark.parametrize("flag", [2, 3])
def test_tensors_out_of_branches(flag: int) -> None:
    a, b, c = inputs(64, 64, 64)
    depth = 64 if flag > 2 else 32
    with tri.target("sim:intel:pvc"):
        chosen[(1,)](a, b, c, flag, num_warps=4, path="simd")
    np.testing.assert_array_equal(c, a[:, :depth].astype("f8") @ b[:depth].astype("f8"))


@pytest.mark.parametrize("number", [0, 5])
def test_tensors_out_of_while_loops(number: int) -> None:
    a, b, c = inputs(64, 64, 64)
    with tri.target("sim:intel:pvc"):
        ended[(1,)](a, b, c, number, num_warps=4, path="simd")
    np.testing.assert_array_equal(c, a[:, :32].astype("f8") @ b[:32].astype("f8") * number.bit_length())


def test_pointers_go_through_loops() -> None:
    a, b, _ = inputs(64, 64, 64)
    c = np.zeros((3, 64, 64), "f4")
    with tri.target("sim:intel:pvc"):
        moving[(1,)](a, b, c, 2, num_warps=4, path="simd")
    wanted = a[:, :32].astype("f8") @ b[:32].astype("f8")
    np.testing.assert_array_equal(c, [wanted, wanted, np.zeros((64, 64))])


@tri.jit
def either(x_ptr, y_ptr, out_ptr, flag):
    """Pointers from two addresses."""
    places = tl.arange(0, 64)
    here = x_ptr + places if flag > 2 else y_ptr + places * 2
    tl.store(out_ptr + places, tl.load(here))


def test_pointers_from_two_addresses_are_refused_with_their_place() -> None:
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "flag": "i32"}
    with pytest.raises(
        Unsupported, match=r"SIMD path has no scf\.if: pointers from different addresses"
    ) as caught:
        tri.compile(tri.ASTSource(either, types, {}), target="intel:pvc", options={"path": "simd"})
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


@tri.jit
def scaled_rows(a_ptr, b_ptr, c_ptr, scale_ptr, stride, BLOCK: tl.constexpr, K: tl.constexpr):
    """A dot's result times a number of each row, which is loaded alone."""
    a = tl.make_tensor_descriptor(a_ptr, [BLOCK, K], [K, 1], [BLOCK, K])
    b = tl.make_tensor_descriptor(b_ptr, [K, BLOCK], [stride, 1], [K, BLOCK])
    total = tl.dot(a.load([0, 0]), b.load([0, 0]))
    rows = tl.arange(0, BLOCK)
    scale = tl.load(scale_ptr + rows)
    tl.store(c_ptr + rows[:, None] * stride + rows[None, :], total * scale[:, None])


@pytest.mark.parametrize(("block", "warps"), [(32, 1), (64, 16)])
def test_numbers_of_rows_are_loaded_for_all_lanes(block: int, warps: int) -> None:
    a, b, _ = inputs(block, block, 32)
    scale = np.arange(block, dtype="f4") - 3
    c = np.zeros((block, block), "f4")
    with tri.target("sim:intel:pvc"):
        scaled_rows[(1,)](a, b, c, scale, block, block, 32, num_warps=warps, path="simd")
    np.testing.assert_array_equal(c, a.astype("f8") @ b.astype("f8") * scale[:, None])
