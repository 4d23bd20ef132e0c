"""Tiles that leave registers by ``stmatrix``: where the layouts allow it, without conflicts, and with the right numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tri
from machine_cases import CASES
from machine_runs import simulated
from matrix_kernels import finished
from tri_backend_nvidia.mma import NvidiaMma, NvmmaShared
from tri_backend_nvidia.mma.loads import plan_rows
from tri_backend_nvidia.mma.stores import row_memory
from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.layouts import Banks, bank_conflicts, layout_for
from tri_gpu_dialect.plans import ThroughShared, plan_conversion

torch = pytest.importorskip("torch")

SUMS = [
    NvidiaMma(warps_per_cta=(2, 2)),
    NvidiaMma(3, 0, (4, 1), (16, 64, 16)),
    NvidiaMma(3, 0, (8, 1), (16, 128, 16)),
    NvidiaMma(3, 0, (4, 2), (16, 32, 16)),
]


def pieces_of_a_phase(plan) -> set[int]:
    """The banks, in groups of 16 bytes, of the rows that one matrix has."""
    return {plan.address.images("lane")[lane] * 2 // 16 % 8 for lane in range(8)}


# --- layouts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [32, 64, 128])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("sum_", SUMS, ids=str)
def test_sums_go_into_swizzled_tiles_in_rows(sum_, transposed, width) -> None:
    shape = (128, 128)
    registers = layout_for(sum_, shape)
    shared = layout_for(NvmmaShared(width, transposed, 16), shape)
    plan = plan_rows(registers, shared, 16)
    assert plan is not None
    assert plan.transposed == transposed
    assert len(plan.matrices) == 2
    assert len(pieces_of_a_phase(plan)) == 8


@pytest.mark.parametrize("bits", [8, 32])
@pytest.mark.parametrize("sum_", SUMS, ids=str)
def test_sums_of_other_widths_hold_no_rows(sum_, bits) -> None:
    shape = (128, 128)
    assert plan_rows(layout_for(sum_, shape), layout_for(NvmmaShared(128, False, bits), shape), bits) is None


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("sum_", SUMS, ids=str)
def test_memory_of_a_conversion_has_no_conflicts(sum_, order) -> None:
    shape, warps = (128, 128), 4 if sum_.warps_per_cta[0] * sum_.warps_per_cta[1] == 4 else 8
    vector = tuple(8 if d == order[0] else 1 for d in range(2))
    target = layout_for(Blocked.make(shape, vector, order, warps, 32), shape)
    plan = plan_conversion(layout_for(sum_, shape), target, 16)
    assert isinstance(plan, ThroughShared)
    found = row_memory(plan, Banks())
    assert found is not None
    shared, rows = found
    assert rows.transposed == (order[0] == 0)
    assert len(pieces_of_a_phase(rows)) == 8
    assert shared.in_bits == plan.shared.in_bits
    assert bank_conflicts(plan.destination, shared, 16, Banks()) == 1


def test_layouts_without_rows_have_no_such_memory() -> None:
    """A thread that holds one element holds no word of a row."""
    shape = (16, 16)
    one, other = (layout_for(Blocked.make(shape, (1, 1), order, 8, 32), shape) for order in ((0, 1), (1, 0)))
    plan = plan_conversion(one, other, 16)
    assert isinstance(plan, ThroughShared)
    assert row_memory(plan, Banks()) is None


# --- the op -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_elements_go_where_the_manual_says(count, transposed) -> None:
    case = CASES[f"stmatrix-x{count}{'-trans' if transposed else ''}"]
    (before, places, words), _ = case.arguments()
    (after,) = simulated(case)
    expected = before.copy().view(np.uint16).reshape(-1, 32, 8)
    halves = words.view(np.uint16).reshape(-1, 32, count, 2)
    for warp, lane, j, half in np.ndindex(halves.shape):
        row, column = lane // 4, lane % 4 * 2 + half
        if transposed:
            row, column = column, row
        place = places.reshape(-1, 32)[warp, 8 * j + row]
        expected[warp, place, column] = halves[warp, lane, j, half]
    assert after.view(np.uint16).reshape(expected.shape).tolist() == expected.tolist()


# --- kernels ----------------------------------------------------------------------------------------------

TYPES = [
    (torch.float16, torch.float16, 1e-3, True),
    (torch.float16, torch.bfloat16, 8e-3, True),
    (torch.bfloat16, torch.float32, 1e-5, False),
    (torch.int8, torch.int8, 0.0, False),
    (torch.float8_e4m3fn, torch.float16, 1e-3, True),
    (torch.float16, torch.float8_e5m2, 0.15, False),
]


def run(shape, block, dtype, out, *, warps, arch="sm_90a", transposed=False, stages=3, **options):
    m, n, k = shape
    generator = torch.Generator().manual_seed(m + n + k)
    if dtype == torch.int8:
        a, b = (torch.randint(-3, 4, (x, k), generator=generator).to(dtype) for x in (m, n))
    else:
        a, b = (torch.randn(x, k, generator=generator, dtype=torch.float64).to(dtype) for x in (m, n))
    bias = torch.randint(-4, 5, (n,), generator=generator).float()
    c = torch.full((n, m) if transposed else (m, n), 77.0).to(out)
    grid = (-(-m // block[0]), -(-n // block[1]))
    # small, so that 8-bit integers hold the results
    scale = 0.25 if dtype == torch.int8 else 0.5
    with tri.target(f"sim:nvidia:{arch}"):
        kernel = finished[grid](
            a, b, c, bias, m, n, k, c.stride(0), scale, *block, transposed, stages, num_warps=warps, **options
        )
    expected = (a.double() @ b.double().t() * scale + bias.double()).clamp(min=0)
    if out == torch.int8:
        expected = expected.trunc()
    return kernel, (c.t() if transposed else c), expected


def check(got, expected, bound) -> None:
    assert float((got.double() - expected).abs().max()) <= bound * float(expected.abs().max())


@pytest.mark.parametrize(("dtype", "out", "bound", "by_rows"), TYPES, ids=str)
def test_types_bias_and_activation(dtype, out, bound, by_rows) -> None:
    # bytes that are not known to be read in vectors along k may make a transposed dot, in which threads hold pairs of columns
    k = 48 if dtype.itemsize == 1 else 40
    kernel, c, expected = run((50, 48, k), (64, 64, 32), dtype, out, warps=4)
    assert ("nvm.stmatrix" in kernel.asm["llir"]) == by_rows
    check(c, expected, bound)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("warps", [1, 4, 16, *(pytest.param(w, marks=pytest.mark.slow) for w in (2, 8))])
def test_warps_and_orders(warps, transposed) -> None:
    kernel, c, expected = run(
        (112, 80, 16), (128, 64, 16), torch.float16, torch.float16, warps=warps, transposed=transposed
    )
    text = kernel.asm["llir"]
    assert "nvm.stmatrix" in text
    assert ("transposed = true" in text.partition("nvm.stmatrix")[2].partition("\n")[0]) == transposed
    check(c, expected, 1e-3)


@pytest.mark.parametrize(
    ("arch", "has_it"), [("sm_80", False), ("sm_90", True), ("sm_100a", True), ("sm_120", True)]
)
def test_targets(arch, has_it) -> None:
    kernel, c, expected = run((64, 64, 32), (64, 64, 32), torch.float16, torch.float16, warps=4, arch=arch)
    assert ("nvm.stmatrix" in kernel.asm["llir"]) == has_it
    check(c, expected, 1e-3)
