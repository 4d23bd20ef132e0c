"""Block-scaled dots by ``mma.sync`` in the simulator, against float64; what does not suit is decomposed, and says why."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scaled_data
from nvidia_support import known_to_ptxas
from scaled_data import close
from tri_backend_nvidia.mma import encoding
from tri_backend_nvidia.mma.mma_scales import scale_layout
from tri_core import knobs
from tri_core.errors import Unsupported
from tri_gpu_dialect.layouts import LANE, LinearLayout
from tri_gpu_dialect.layouts.encoding import layout_for

torch = pytest.importorskip("torch")

SIMULATED = "sim:nvidia:sm_120a"
matmul = partial(scaled_data.matmul, where=SIMULATED)
tiled = partial(scaled_data.tiled, where=SIMULATED)
EIGHT = [(a, b) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
#: (kind, formats, elements per scale, type of scales)
FORMATS = [
    *(("mxf8f6f4", pair, 32, "ue8m0") for pair in EIGHT),
    ("mxf4", ("e2m1", "e2m1"), 32, "ue8m0"),
    ("mxf4nvf4", ("e2m1", "e2m1"), 16, "ue4m3"),
]


def kinds(kernel) -> set[str]:
    """The kinds of all scaled instructions; nothing else multiplies matrices."""
    text = kernel.asm["llir"]
    assert '"nvm.mma"' not in text
    assert "nvm.mma " not in text
    return set(re.findall(r'nvm\.mma_scaled.*?kind = "(mx\w+)"', text))


@pytest.mark.parametrize("shape", [(128, 128, 128), (64, 32, 256), (16, 8, 64)])
@pytest.mark.parametrize(("name", "formats", "group", "scale"), FORMATS)
def test_formats(name, formats, group, scale, shape) -> None:
    kernel, c, exact = matmul(shape, *formats, group, scale)
    assert kinds(kernel) == {name}
    close(c, exact)


@pytest.mark.parametrize(
    ("shape", "warps"),
    [
        ((16, 8, 32), 1),  # one instruction
        ((16, 64, 32), 1),  # scales of eight instructions: two registers of four threads each
        ((64, 16, 32), 2),
        ((32, 32, 64), 8),  # more warps than tiles
        ((128, 64, 256), 8),
    ],
)
def test_sizes_and_warps(shape, warps) -> None:
    kernel, c, exact = matmul(shape, "e4m3", "e5m2", adds=True, warps=warps)
    assert kinds(kernel) == {"mxf8f6f4"}
    close(c, exact)


@pytest.mark.parametrize(("left", "right"), [("e4m3", "e5m2"), ("e2m1", "e2m1")])
def test_columns_of_b(left, right) -> None:
    """Neighbours of memory along n."""
    kernel, c, exact = matmul((64, 64, 128), left, right, transposed=False)
    assert kinds(kernel)
    close(c, exact)


def test_a_scale_that_is_no_number() -> None:
    assert kinds(scaled_data.check_scales_that_are_no_numbers(SIMULATED)) == {"mxf8f6f4"}


@given(
    formats=st.sampled_from(FORMATS),
    m=st.sampled_from([16, 64]),
    n=st.sampled_from([8, 32]),
    steps=st.sampled_from([1, 2, 4]),
    warps=st.sampled_from([1, 4]),
    seed=st.integers(0, 2**32 - 1),
    scales=st.sampled_from([(0, 255), (0, 20), (120, 135)]),
)
@settings(deadline=None, max_examples=10)
def test_any_numbers_with_any_scales(formats, m, n, steps, warps, seed, scales) -> None:
    """Any bytes that are finite numbers, scales down to 2 ** -127 and up to 2 ** 127; accumulators that overflow between are infinite."""
    _, (left, right), group, scale = formats
    k = 64 * steps
    rng = np.random.default_rng(seed)
    a, b = (
        scaled_data.Operand.of_bytes(rng, rows, k, kind, group, scale, scales)
        for rows, kind in ((m, left), (n, right))
    )
    c = np.full((m, n), np.nan, np.float32)
    kernel = scaled_data.launched(c, a, b, left, right, where=SIMULATED, warps=warps)
    assert kinds(kernel) == {formats[0]}
    scaled_data.check_any_numbers(c, a, b, 64 if left == "e2m1" else 32)  # each instruction rounds


# --- what does not suit -----------------------------------------------------------------------------------

REFUSED = {
    "columns": ({"shape": (64, 4, 64)}, "64 x 4 x 64 is less than 16 x 8 x 32"),
    "one scale": ({"scaled": (False, True)}, "both operands need scales"),
    "no scale": ({"scaled": (False, False)}, "both operands need scales"),
    "scales of fp8": ({"group": 16, "scale": "ue4m3"}, "no instruction has e4m3 and e4m3 with scales"),
    "e2m1 beside 8 bits": ({"right": "e2m1"}, "no instruction has e4m3 and e2m1 with scales"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_suit_is_decomposed_and_said(name: str) -> None:
    changed, reason = REFUSED[name]
    changed = {"shape": (64, 64, 128), "right": "e4m3", **changed}
    kernel, c, exact = matmul(changed.pop("shape"), "e4m3", changed.pop("right"), **changed)
    assert "nvm.mma_scaled" not in kernel.asm["llir"]
    scaled_data.check_decomposed(kernel, c, exact, reason)


def test_the_plain_architecture_has_no_such_instruction() -> None:
    kernel, c, exact = matmul((64, 64, 64), "e4m3", "e4m3", where="sim:nvidia:sm_120")
    assert "nvm.mma_scaled" not in kernel.asm["llir"]
    assert "remarks" not in kernel.metadata.attrs
    close(c, exact)


# --- planted bugs -----------------------------------------------------------------------------------------


@pytest.fixture
def planting(monkeypatch):
    """A monkeypatch for layouts: those known by now are computed anew, and nothing planted is known to later tests."""
    monkeypatch.setattr("tri_gpu_dialect.layouts.encoding._layouts", {})
    layout_for.cache_clear()
    yield monkeypatch
    layout_for.cache_clear()


def _exchanged(monkeypatch, one: int, other: int) -> None:
    """Layouts of scales in which two bits of the lane's number have changed places."""

    def layout(operand: int, shape: tuple[int, ...], warps: tuple[int, ...]) -> LinearLayout:
        right = scale_layout(operand, shape, warps)
        lanes = list(right.bases[LANE])
        lanes[one], lanes[other] = lanes[other], lanes[one]
        return LinearLayout.from_bases({**right.bases, LANE: lanes}, right.out_sizes)

    monkeypatch.setattr(encoding, "scale_layout", layout)


def test_scales_of_other_rows_are_seen(planting, tmp_path) -> None:
    _exchanged(planting, 3, 4)
    with knobs.scope(CACHE_DIR=tmp_path):  # shapes of no other test: nothing planted may stay in a cache
        _, c, exact = matmul((256, 16, 64), "e4m3", "e4m3", warps=2)
    assert np.abs(c - exact).max() > 0.1 * np.abs(exact).max()


def test_scales_that_no_selector_finds_are_refused(planting, tmp_path) -> None:
    _exchanged(planting, 0, 1)
    with knobs.scope(CACHE_DIR=tmp_path), pytest.raises(Unsupported, match="scales of type") as caught:
        matmul((512, 16, 64), "e4m3", "e4m3", warps=2)
    assert "dot_scale encoding" in caught.value.remedy


# --- loops ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formats", "group", "scale", "stages"),
    [
        (("e4m3", "e5m2"), 32, "ue8m0", 1),
        (("e5m2", "e4m3"), 32, "ue8m0", 3),
        (("e2m1", "e2m1"), 32, "ue8m0", 2),
        (("e2m1", "e2m1"), 16, "ue4m3", 3),
    ],
)
def test_loops_over_k(formats, group, scale, stages) -> None:
    kernel, c, exact = tiled((64, 64, 640), (64, 64, 128), *formats, group, scale, stages=stages)
    assert kinds(kernel)
    loop = kernel.asm["ttgir"].partition("scf.for")[2].partition("scf.yield")[0]
    if (
        stages > 1
    ):  # operands and scales come by copies ahead, straight to the lanes that the selectors name; one barrier
        assert loop.count("ttg.async_copy_global_to_local") == 4
        assert loop.count("ttg.local_load") == 4
        assert "ttg.convert_layout" not in loop
        assert loop.count("ttg.barrier") == 1
    close(c, exact)


def test_tiles_of_a_grid() -> None:
    kernel, c, exact = tiled((256, 256, 256), (128, 128, 128), "e5m2", "e4m3", stages=3, warps=8)
    assert kinds(kernel) == {"mxf8f6f4"}
    close(c, exact)


def test_loops_that_warps_of_their_own_copy_for_are_decomposed() -> None:
    kernel, c, exact = scaled_data.tiled_by_warps_that_copy(64, where=SIMULATED)
    assert "nvm.mma_scaled" not in kernel.asm["llir"]
    assert any("warps of their own" in text for text in kernel.metadata.attrs["remarks"])
    close(c, exact)


# --- machine code -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ["sm_120a", "sm_120f", pytest.param("sm_121a", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("formats", "group", "scale"),
    [
        *((pair, 32, "u8") for pair in EIGHT),
        (("e2m1", "e2m1"), 32, "u8"),
        (("e2m1", "e2m1"), 16, "fp8e4nv"),
    ],
)
def test_nothing_is_spilled(arch, formats, group, scale) -> None:
    """128 x 128 x 128, three stages, 8 warps: 32 instructions of 8 bits in each warp's step, one for each tile and group."""
    if not known_to_ptxas(arch):
        pytest.skip(f"{arch} needs ptxas of CUDA 13")
    kernel = scaled_data.compiled_tiles(arch, formats, group, scale, depth=128, warps=8)
    assert kernel.asm["ptx"].count(".block_scale.scale_vec::") == (32 if "e2m1" in formats else 64)
    assert kernel.metadata.resources["spills"] == 0
