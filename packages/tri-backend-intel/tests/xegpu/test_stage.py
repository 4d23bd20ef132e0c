"""The SIMD path as a whole: numbers in the simulator, which refuses surfaces that the hardware does not take; valid modules; refusals."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tri
from simd_support import compiled, matmul, placed, source
from tri_core.api import OptionError, Unsupported


def error(
    a_t: bool = False, b_t: bool = False, size: tuple[int, int, int] = (96, 80, 112),
    block: tuple[int, int, int] = (64, 32, 32), offset: int = 0, extra: int = 0, scaled: bool = False, warps: int = 4,
    out: str = "f4",
) -> float:  # fmt: skip
    """The largest error, relative to the largest number; the oracle is NumPy's in float64."""
    m, n, k = size
    make = np.random.default_rng(1)
    a, b = (make.standard_normal(s).astype("f2") for s in ((m, k), (k, n)))
    lying = [v.T if t else v for v, t in ((a, a_t), (b, b_t))]
    x, y, c = (placed(v, offset, v.shape[1] + extra) for v in (*lying, np.zeros((m, n), out)))
    strides = [v.strides[0] // v.itemsize for v in (x, y, c)]
    grid = (-(-m // block[0]), -(-n // block[1]))
    with tri.target("sim:intel:pvc"):
        matmul[grid](x, y, c, m, n, k, *strides, a_t, b_t, scaled, *block, num_warps=warps, path="simd")
    wanted = a.astype("f8") @ b.astype("f8")
    if scaled:
        wanted = np.where(wanted > 0, wanted * 2 + 1, np.exp2(np.minimum(wanted, 0)))
    return float(np.abs(c - wanted).max() / np.abs(wanted).max())


@pytest.mark.parametrize(("a_t", "b_t"), [(False, False), (False, True), (True, False), (True, True)])
def test_operands_in_any_order_are_right(a_t: bool, b_t: bool) -> None:
    assert error(a_t, b_t) <= 1e-6


@pytest.mark.parametrize(
    ("block", "warps"), [((32, 32, 32), 1), ((64, 64, 32), 8), ((128, 128, 32), 32), ((64, 128, 64), 8)]
)
def test_any_number_of_warps(block: tuple[int, int, int], warps: int) -> None:
    assert error(block=block, warps=warps) <= 1e-6


@pytest.mark.parametrize(
    ("size", "offset", "extra"),
    [
        ((96, 80, 112), 16, 0),  # dense rows from an unaligned base: the surface would be too wide
        ((96, 80, 112), 16, 32),
        ((96, 80, 112), 48, 64),
        ((96, 72, 104), 0, 0),
        ((40, 16, 24), 0, 0),  # rows of less than 64 bytes
        ((33, 40, 24), 32, 8),
    ],
)
@pytest.mark.parametrize("b_t", [False, True])
def test_what_the_hardware_does_not_take_goes_by_elements(
    size: tuple[int, int, int], offset: int, extra: int, b_t: bool
) -> None:
    assert error(size=size, offset=offset, extra=extra, b_t=b_t) <= 1e-6


def test_an_epilogue_computes_where_the_dot_left_its_result() -> None:
    assert error(scaled=True) <= 1e-6
    assert error(out="f2") <= 1e-3


def test_the_kernel_says_its_path() -> None:
    attributes = compiled().metadata.attrs
    assert (attributes["path"], attributes["threads_per_warp"], attributes["num_warps"]) == ("simd", 16, 32)


@pytest.mark.skipif(shutil.which("spirv-val") is None, reason="spirv-val is not installed")
@pytest.mark.parametrize("kind", ["fp16", "bf16"])
@pytest.mark.parametrize("target", ["intel:pvc", "intel:bmg"])
def test_modules_are_valid(kind: str, target: str, tmp_path: Path) -> None:
    place = tmp_path / "kernel.spv"
    place.write_bytes(compiled(kind, (64, 64, 32), out=kind, target=target, warps=8).asm["spv"])
    made = subprocess.run(["spirv-val", str(place)], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr


def test_nothing_goes_through_local_memory() -> None:
    text = compiled().asm["llir"]
    assert "addrspace(3)" not in text
    assert text.count("@_Z41__spirv_Subgroup2DBlockLoadTransformINTEL") > 1


def test_sub_groups_that_are_over_do_what_others_do_and_one_of_them_stores() -> None:
    assert error(block=(16, 16, 32), warps=32) <= 1e-6


def test_a_dot_that_no_instruction_computes_is_refused_with_its_precision() -> None:
    with pytest.raises(Unsupported, match=r"SIMD path has no tt\.dot: .* input_precision='ieee'") as caught:
        compiled("fp32", (64, 64, 32), warps=8)
    assert caught.value.location is not None
    assert "path='simt'" in str(caught.value.remedy)


@pytest.mark.parametrize("target", ["intel:dg2", "intel:xe-lp", "intel:opencl-cpu", "sim:intel:dg2"])
def test_targets_without_blocks_have_no_simd_path(target: str) -> None:
    with pytest.raises(OptionError, match="path is 'simd'"):
        compiled(target=target)


def test_a_path_that_is_none_is_refused() -> None:
    with pytest.raises(OptionError, match="one of"):
        tri.compile(source(), target="intel:pvc", options={"path": "vector"})
