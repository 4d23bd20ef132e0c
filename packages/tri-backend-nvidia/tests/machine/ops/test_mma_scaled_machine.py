"""Block-scaled ``mma.sync`` as a machine op: against sums over the manual's places one by one, and the layouts that feed it."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from machine_cases import CASES, Kernel, MachineCase, scaled_mma
from machine_runs import ptx_text, simulated
from nvidia_support import after_pass, assembled, known_to_ptxas, target
from tri_backend_nvidia.machine.simulation.matrix_fragments import A, B, C, places
from tri_backend_nvidia.mma import NvidiaMma
from tri_backend_nvidia.mma.mma_scales import THREADS, WORD, lane_of, scale_layout
from tri_backend_nvidia.scaled_dots import AccelerateDotScaled, scaled_dots
from tri_core.testing import filecheck
from tri_gpu_dialect.encodings import Blocked, DotScale

SCALED = [name for name, case in CASES.items() if case.op == "nvm.mma_scaled"]
NUMBERS = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "ue4m3": ml_dtypes.float8_e4m3fn}
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
#: kind -> k, scales of a row
SHAPES = {"mxf8f6f4": (32, 1), "mxf4": (64, 2), "mxf4nvf4": (64, 4)}


def _values(kind: str, words: np.ndarray) -> np.ndarray:
    """A lane's words as its numbers, the lowest bits first."""
    raw = np.ascontiguousarray(words).view("u1")
    if kind == "e2m1":
        return E2M1[np.stack([raw & 15, raw >> 4], axis=-1)].reshape(len(words), -1)
    if kind == "ue8m0":
        return 2.0 ** (raw.astype(int) - 127)
    return raw.view(NUMBERS[kind]).astype("f8")


def _matrix(words: np.ndarray, kind: str, role: int, k: int) -> np.ndarray:
    shape = {A: (16, k), B: (k, 8), C: (16, 8)}[role]
    rows, columns = places(f"m16n8k{k}", 32 * 8 // k, role)
    made = np.full(shape, np.nan)
    made[rows, columns] = words if role == C else _values(kind, words)
    return made


@pytest.mark.parametrize("name", SCALED)
def test_matmuls_are_exact(name: str) -> None:
    """Every element and every scale is looked up by its lane, byte and selector."""
    _, kind, left, right, scale, selectors = name.split("-")
    k, count = SHAPES[kind]
    byte_a, thread_a, byte_b, thread_b = map(int, selectors)
    case = CASES[name]
    (a, b, c, sa, sb), _ = case.arguments()
    (got,) = simulated(case)
    for warp in range(case.rows // 32):
        own = slice(32 * warp, 32 * (warp + 1))
        x, y, z = (_matrix(v[own], t, r, k) for v, t, r in ((a, left, A), (b, right, B), (c, "", C)))
        factors = [_values(scale, v[own]) for v in (sa, sb)]
        expected = z.copy()
        for i in range(16):
            for j in range(8):
                for at in range(k):
                    group = at * count // k
                    s = factors[0][4 * (i % 8) + 2 * thread_a + i // 8, byte_a + group]
                    t = factors[1][4 * j + thread_b, byte_b + group]
                    expected[i, j] += x[i, at] * s * y[at, j] * t
        result = _matrix(got[own], "", C, k)
        assert np.abs(result - expected).max() <= 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("arch", ["sm_120a", "sm_120f"])
def test_every_form_assembles(name: str, arch: str) -> None:
    if not known_to_ptxas(arch):
        pytest.skip(f"{arch} needs ptxas of CUDA 13")
    usage = assembled(ptx_text(replace(CASES[name], arch=arch)), arch).usage
    assert usage.spill_stores == 0


@pytest.mark.parametrize(
    ("kind", "kinds", "selectors"),
    [
        ("mxf8f6f4", "e4m3 e4m3 ue8m0", (4, 0, 0, 0)),
        ("mxf8f6f4", "e4m3 e4m3 ue8m0", (0, 2, 0, 0)),
        ("mxf8f6f4", "e4m3 e4m3 ue8m0", (0, 0, 0, 4)),
        ("mxf4", "e2m1 e2m1 ue8m0", (1, 0, 0, 0)),
        ("mxf4nvf4", "e2m1 e2m1 ue4m3", (0, 0, 2, 0)),
    ],
)
def test_selectors_that_there_are_not(kind: str, kinds: str, selectors: tuple[int, ...]) -> None:
    given_ = CASES[SCALED[0]]

    def body(k: Kernel) -> None:
        k.write(5, *scaled_mma(k, kind, kinds, selectors, [v for i in range(5) for v in k.read(i)]))

    case = MachineCase("other", given_.op, given_.inputs, given_.outputs, body, given_.values, arch="sm_120a")
    with pytest.raises(Exception, match="selectors") as caught:
        ptx_text(case)
    assert "selectors" in str(caught.value)


# --- layouts ----------------------------------------------------------------------------------------------

POWERS = st.sampled_from([1, 2, 4])


@given(operand=st.sampled_from([0, 1]), tiles=st.sampled_from([1, 2, 4, 8, 16]), groups=st.sampled_from([1, 2, 4, 8, 16]),
       down=POWERS, across=POWERS, data=st.data())  # fmt: skip
@settings(deadline=None, max_examples=60)
def test_scales_are_in_the_lanes_that_selectors_name(operand, tiles, groups, down, across, data) -> None:
    """Any row of any instruction of any warp: some register and selector has its scale where the manual says."""
    tile, warps = (16, 8)[operand], (down, across)
    rows = tile * tiles
    layout = scale_layout(operand, (rows, groups), warps)
    result = NvidiaMma(warps_per_cta=warps).linear_layout((16 * 16, 8 * 16))
    assert layout.out_sizes == {"dim0": rows, "dim1": groups}
    assert set(layout.in_dims) == set(result.in_dims)
    warp = data.draw(st.integers(0, down * across - 1))
    row, group = data.draw(st.integers(0, tile - 1)), data.draw(st.integers(0, groups - 1))
    # a warp's own instructions begin where its first accumulators are, and every (warps * tile) rows
    first = result.apply({"register": 0, "lane": 0, "warp": warp, "block": 0})[f"dim{operand}"] % rows
    beside = tile * warps[operand]
    origin = first + beside * data.draw(st.integers(0, max(rows // beside, 1) - 1))
    found = set()
    for thread in range(THREADS[operand]):
        lane = 4 * (row % 8) + 2 * thread + row // 8 if operand == 0 else 4 * row + thread
        for register in range(layout.in_size("register")):
            at = layout.apply({"register": register, "lane": lane, "warp": warp, "block": 0})
            start = {"register": register, "lane": lane_of(operand, thread), "warp": warp, "block": 0}
            if layout.apply(start) == {"dim0": origin, "dim1": group}:
                assert at == {"dim0": origin + row, "dim1": group}
                found.add((register % WORD, thread))
    assert found
    if groups >= WORD:  # four neighbours are a word
        assert {byte for byte, _ in found} == {group % WORD}


def test_no_lane_holds_a_copy_where_there_are_rows_for_all() -> None:
    for operand, rows in ((0, 128), (1, 128)):
        layout = scale_layout(operand, (rows, 4), (2, 2))
        assert layout.in_size("register") * 32 * 2 == rows * 4


@pytest.mark.parametrize(
    "parent",
    [
        NvidiaMma(instr_shape=(8, 8)),
        NvidiaMma(version_major=3, warps_per_cta=(4, 1), instr_shape=(16, 64, 32)),
        NvidiaMma(warps_per_cta=(2, 2), cga_layout=((1, 0),)),
    ],
)
def test_instructions_without_scales(parent: NvidiaMma) -> None:
    with pytest.raises(ValueError, match="no dots with block scales"):
        DotScale(0, parent).linear_layout((64, 4))


def test_parents_of_scales() -> None:
    with pytest.raises(ValueError, match="opIdx"):
        DotScale(2, NvidiaMma())
    with pytest.raises(TypeError, match="matrix instruction"):
        DotScale(0, Blocked((1, 1), (1, 32), (4, 1), (1, 0)))


# --- the pass ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arch", "has_it"), [("sm_120a", True), ("sm_120f", True), ("sm_121a", True), ("sm_120", False), ("sm_90a", False)]
)  # fmt: skip
def test_which_targets_have_scaled_matmuls(arch: str, has_it: bool) -> None:
    assert (scaled_dots(target(arch), 4, 1, specialize=None) is not None) == has_it


MODULE = """
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%a: tensor<64x128xi8, #blocked>, %sa: tensor<64x4xi8, #blocked>, %b: tensor<128x64xf8E5M2, #blocked>, %sb: tensor<64x4xi8, #blocked>, %p: tensor<64x64x!tt.ptr<f32>, #blocked>) {
    %c = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #blocked>
    %f = tt.bitcast %a : tensor<64x128xi8, #blocked> -> tensor<64x128xf8E4M3FN, #blocked>
    %0 = tt.dot_scaled %f scale %sa, %b scale %sb, %c lhs = e4m3 rhs = e5m2 {fastMath = false} : tensor<64x128xf8E4M3FN, #blocked>, tensor<64x4xi8, #blocked> * tensor<128x64xf8E5M2, #blocked>, tensor<64x4xi8, #blocked> -> tensor<64x64xf32, #blocked>
    tt.store %p, %0 : tensor<64x64x!tt.ptr<f32>, #blocked>
    tt.return
  }
}
"""


def test_the_pass_gives_the_layouts_of_fragments() -> None:
    filecheck(
        after_pass(AccelerateDotScaled(), MODULE, "sm_120a"),
        """CHECK: #mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>
           CHECK-NOT: tt.bitcast
           CHECK: %[[A:.*]] = ttg.convert_layout %a : tensor<64x128xi8, #blocked> -> tensor<64x128xi8, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 4}>>
           CHECK: %[[B:.*]] = ttg.convert_layout %b
           CHECK-SAME: tensor<128x64xf8E5M2, #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 4}>>
           CHECK: %[[SA:.*]] = ttg.convert_layout %sa : tensor<64x4xi8, #blocked> -> tensor<64x4xi8, #ttg.dot_scale<{opIdx = 0, parent = #mma}>>
           CHECK: %[[SB:.*]] = ttg.convert_layout %sb
           CHECK-SAME: #ttg.dot_scale<{opIdx = 1, parent = #mma}>>
           CHECK: %[[C:.*]] = ttg.convert_layout
           CHECK: %[[D:.*]] = tt.dot_scaled %[[A]] scale %[[SA]], %[[B]] scale %[[SB]], %[[C]] lhs = e4m3 rhs = e5m2
           CHECK: ttg.convert_layout %[[D]]
           CHECK: tt.store""",
    )
