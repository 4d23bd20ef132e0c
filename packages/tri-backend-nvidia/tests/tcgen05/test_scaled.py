"""Block-scaled dots by ``tcgen05`` in the simulator, against float64; what does not suit is decomposed, and says why."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import scaled_data
from nvidia_support import known_to_ptxas
from scaled_data import close
from tri_backend_nvidia.tcgen05.completion import Completion
from tri_core import knobs
from tri_core.errors import SimulationError
from tri_core.mlir import ir
from tri_gpu_dialect.edit import constant

torch = pytest.importorskip("torch")

SIMULATED = "sim:nvidia:sm_100a"
matmul = partial(scaled_data.matmul, where=SIMULATED)
tiled = partial(scaled_data.tiled, where=SIMULATED)


def is_placed(kernel) -> bool:
    return "nvm.tcgen05_mma_scaled" in kernel.asm["llir"]


def kind(kernel) -> str:
    (found,) = set(re.findall(r'kind = "(mx\w+)"', kernel.asm["llir"]))
    return found


#: (kind, formats, elements per scale, type of scales)
FORMATS = [
    *(("mxf8f6f4", (a, b), 32, "ue8m0") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")),
    *(("mxf8f6f4", pair, 32, "ue8m0") for pair in (("e2m1", "e4m3"), ("e5m2", "e2m1"))),
    ("mxf4", ("e2m1", "e2m1"), 32, "ue8m0"),
    ("mxf4nvf4", ("e2m1", "e2m1"), 16, "ue8m0"),
    ("mxf4nvf4", ("e2m1", "e2m1"), 16, "ue4m3"),
]
SHAPES = [(128, 32, 128), (128, 256, 128), (256, 64, 256)]


@pytest.mark.parametrize("shape", [SHAPES[0], *(pytest.param(s, marks=pytest.mark.slow) for s in SHAPES[1:])])
@pytest.mark.parametrize(("name", "formats", "group", "scale"), FORMATS)
def test_formats(name, formats, group, scale, shape) -> None:
    kernel, c, exact = matmul(shape, *formats, group, scale)
    assert kind(kernel) == name
    close(c, exact)


@pytest.mark.parametrize(
    ("shape", "formats", "warps", "columns"),
    [
        ((128, 256, 256), ("e4m3", "e2m1"), 8, 512),  # scales of several blocks of rows and of k
        ((256, 128, 512), ("e2m1", "e2m1"), 4, 512),
        ((128, 64, 128), ("e5m2", "e4m3"), 8, 128),
        ((256, 32, 128), ("e2m1", "e5m2"), 16, 128),
    ],
)
def test_sizes_and_warps(shape, formats, warps, columns) -> None:
    kernel, c, exact = matmul(shape, *formats, adds=True, warps=warps)
    assert is_placed(kernel)
    assert kernel.resources.tensor_memory == columns
    close(c, exact)


@pytest.mark.parametrize("formats", [("e4m3", "e5m2"), ("e2m1", "e2m1"), ("e4m3", "e2m1")])
def test_columns_of_b(formats) -> None:
    """8-bit elements are read across; e2m1 is transposed on its way to shared memory."""
    kernel, c, exact = matmul((128, 64, 128), *formats, transposed=False)
    assert is_placed(kernel)
    close(c, exact)


def test_two_numbers_of_a_nan_scale() -> None:
    kernel, c, _ = matmul((128, 32, 128), "e4m3", "e4m3")
    assert is_placed(kernel)
    assert np.isfinite(c).all()
    assert is_placed(scaled_data.check_scales_that_are_no_numbers(SIMULATED))


@given(
    formats=st.sampled_from(FORMATS),
    n=st.sampled_from([32, 64]),
    steps=st.sampled_from([1, 2]),
    seed=st.integers(0, 2**32 - 1),
    scales=st.sampled_from([(0, 255), (0, 20), (120, 135)]),
)
@example(("mxf4", ("e2m1", "e2m1"), 32, "ue8m0"), 64, 1, 2603, (0, 255))  # one sum's terms cancel
@settings(deadline=None, max_examples=8)
def test_any_numbers_with_any_scales(formats, n, steps, seed, scales) -> None:
    """Any bytes that are finite numbers, scales down to 2 ** -127 and up to 2 ** 127; accumulators that overflow are infinite."""
    _, (left, right), group, scale = formats
    k = steps * 4 * group
    rng = np.random.default_rng(seed)
    a, b = (
        scaled_data.Operand.of_bytes(rng, rows, k, kind, group, scale, scales)
        for rows, kind in ((128, left), (n, right))
    )
    c = np.full((128, n), np.nan, np.float32)
    assert is_placed(scaled_data.launched(c, a, b, left, right, where=SIMULATED))
    scaled_data.check_any_numbers(c, a, b, k)


# --- what does not suit -----------------------------------------------------------------------------------

REFUSED = {
    "rows": ({"shape": (64, 64, 128)}, "64 x 64 x 128 is less than 128 x 32 x 128"),
    "columns": ({"shape": (128, 16, 128)}, "128 x 16 x 128 is less than"),
    "depth": ({"shape": (128, 64, 64)}, "which kind::mxf8f6f4 takes with four scales of each row at once"),
    "warps": ({"warps": 2}, "a multiple of 4 warps"),
    "one scale": ({"scaled": (False, True)}, "both operands need scales"),
    "no scale": ({"scaled": (False, False)}, "both operands need scales"),
    "scales of fp8": ({"group": 16, "scale": "ue4m3"}, "no instruction has e4m3 and e4m3 with scales"),
    "tensor memory": ({"shape": (256, 256, 128), "warps": 8}, "columns of tensor memory; there are 512"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_suit_is_decomposed_and_said(name: str) -> None:
    given, reason = REFUSED[name]
    given = {"shape": (128, 64, 128), **given}
    kernel, c, exact = matmul(given.pop("shape"), "e4m3", "e4m3", **given)
    assert not is_placed(kernel)
    scaled_data.check_decomposed(kernel, c, exact, reason)


def test_targets_without_tensor_memory_say_nothing() -> None:
    kernel, c, exact = matmul((128, 32, 128), "e4m3", "e2m1", where="sim:nvidia:sm_90a")
    assert "remarks" not in kernel.metadata.attrs
    close(c, exact)


# --- loops ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formats", "group", "scale", "stages"),
    [
        (("e4m3", "e4m3"), 32, "ue8m0", 1),
        (("e4m3", "e2m1"), 32, "ue8m0", 3),
        (("e2m1", "e2m1"), 16, "ue4m3", 2),
        pytest.param(("e2m1", "e2m1"), 32, "ue8m0", 3, marks=pytest.mark.slow),
    ],
)
def test_loops_over_k(formats, group, scale, stages) -> None:
    """More dots than barriers; scales of neighbouring ones lie in different columns."""
    kernel, c, exact = tiled((128, 128, 1280), (128, 128, 128), *formats, group, scale, stages=stages)
    loop = kernel.asm["ttgir"].partition("scf.for")[2].partition("scf.yield")[0]
    assert is_placed(kernel)
    assert loop.count("ttng.tmem_index") == 2
    assert ("pendings = 1" in loop) == (stages > 1)
    if stages > 1:  # operands and scales come by copies ahead, with one barrier
        assert loop.count("ttg.async_copy_global_to_local") == 4
        # and another where they follow the dots: a fourth stage would cost a CTA
        assert loop.count("ttg.barrier") == (2 if stages == 3 else 1)
    close(c, exact)


def test_scales_that_all_lie_in_the_same_columns_are_seen(monkeypatch, tmp_path) -> None:
    """A planted bug: the next dot's scales are copied over those that the one under way reads."""

    def same(self, dot, count) -> None:
        with ir.InsertionPoint(dot), dot.location:
            zero = constant(32, 0)
            for i in (6, 7):
                columns = {"columns": dot.attributes["scale_columns"]}
                view = dot.operands[i]
                made = ir.Operation.create("ttng.tmem_index", [view.type], [view, zero], columns)
                dot.operands[i] = made.results[0]

    monkeypatch.setattr(Completion, "_take_turns", same)
    shape = (128, 128, 768), (128, 128, 128)  # of no other test: nothing planted may stay in a cache
    with knobs.scope(CACHE_DIR=tmp_path), pytest.raises(SimulationError, match="copies to tensor memory"):
        tiled(*shape, "e5m2", "e5m2", stages=3)


def test_tiles_of_a_grid() -> None:
    kernel, c, exact = tiled((256, 256, 256), (128, 128, 128), "e5m2", "e4m3", stages=3, warps=8)
    assert is_placed(kernel)
    close(c, exact)


def test_loops_that_warps_of_their_own_copy_for_are_decomposed() -> None:
    kernel, c, exact = scaled_data.tiled_by_warps_that_copy(128, where=SIMULATED)
    assert not is_placed(kernel)
    assert any("warps of their own" in text for text in kernel.metadata.attrs["remarks"])
    close(c, exact)


# --- machine code -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formats", "group", "scale", "warps"),
    [
        (("e4m3", "e4m3"), 32, "u8", 8),
        (("e4m3", "e2m1"), 32, "u8", 8),
        (("e2m1", "e2m1"), 32, "u8", 4),
        (("e2m1", "e2m1"), 16, "fp8e4nv", 8),
    ],
)
def test_nothing_is_spilled(formats, group, scale, warps) -> None:
    assembled("sm_100a", formats, group, scale, warps)


@pytest.mark.parametrize(
    "arch", ["sm_100f", "sm_103a", "sm_110f", pytest.param("sm_110a", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    ("formats", "group", "scale"),
    [
        (("e4m3", "e2m1"), 32, "u8"),
        (("e2m1", "e2m1"), 16, "fp8e4nv"),
        pytest.param(("e2m1", "e2m1"), 32, "u8", marks=pytest.mark.slow),
    ],
)
def test_families_of_targets_assemble(arch, formats, group, scale) -> None:
    """These name blocks of elements, not numbers of scales."""
    if not known_to_ptxas(arch):
        pytest.skip(f"{arch} needs ptxas of CUDA 13")
    ptx = assembled(arch, formats, group, scale, 8)
    assert (f".block_scale.block{group} " in ptx) == arch.endswith("f")


def assembled(arch: str, formats, group: int, scale: str, warps: int) -> str:
    """128 x 128 x 256, three stages: nothing is spilled; gives the PTX."""
    kernel = scaled_data.compiled_tiles(arch, formats, group, scale, depth=256, warps=warps)
    ptx: str = kernel.asm["ptx"]
    assert "tcgen05.cp.cta_group::1.32x128b.warpx4" in ptx
    assert ".block_scale." in ptx
    assert kernel.metadata.resources["spills"] == 0
    return ptx
