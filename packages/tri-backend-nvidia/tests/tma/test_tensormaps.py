"""Descriptors that kernels make, because only they know the tensor: in the simulator, as machine code, and at a launch."""

from __future__ import annotations

import ctypes
import re
import subprocess
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import tri
from tensormap_kernels import (
    copied_groups,
    groups_of_descriptors,
    groups_of_pointers,
    once,
)
from tri_backend_nvidia.disassembly import NVDISASM
from tri_backend_nvidia.ptxas import ptxas
from tri_backend_nvidia.tools import find
from tri_core import knobs
from tri_core.api import HiddenParameters
from tri_core.errors import SimulationError
from tri_gpu_dialect.async_units.producer_consumer import Producer

TARGET = "sim:nvidia:sm_90a"
SERIALISED = re.compile(r"\bC75(?:0[5-9]|1\d)\b")


def values(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(dtype)


# --- in the simulator ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("nan", [False, True])
@pytest.mark.parametrize("sizes", [(5, 0, 16, 1, 20), (0, 0), (8,), (0, 9, 0)])
def test_groups_are_copied(sizes: tuple[int, ...], nan: bool) -> None:
    """Each group's descriptor is made where the one before was; blocks past an end, or of an empty group, write nothing."""
    rows, columns, stride = sum(sizes), 40, 48
    x, out = values(rows + 3, stride), np.full((rows + 3, stride), -7, np.float32)
    with tri.target(TARGET):
        kernel = copied_groups[(1,)](
            x, np.array(sizes, np.int32), out, columns, stride, len(sizes), NAN=nan, B=8, C=32, num_warps=4
        )
    assert kernel.asm["ttgir"].count("ttng.tensormap_create") == 2
    np.testing.assert_array_equal(out[:rows, :columns], x[:rows, :columns] + 1)
    assert (out[rows:] == -7).all()
    assert (out[:, columns:] == -7).all()


STARTS = [(0, 0, 100, 100, 101, 230), (0, 64, 128), (0, 7, 7)]


def matmul(kernel, starts, n, k, block, **options):
    """The kernel on random values, compared in float64; gives what was compiled."""
    groups, rows = len(starts) - 1, starts[-1]
    a, b = values(rows, k, dtype=np.float16), values(groups, k, n, dtype=np.float16)
    # rows behind the last group's belong to nobody
    c = np.full((rows + 5, n), np.nan, np.float16)
    with tri.target(TARGET):
        made = kernel[(3,)](
            a,
            b,
            c,
            np.array(starts, np.int32),
            groups,
            n,
            k,
            k,
            k * n,
            n,
            n,
            3,
            *block,
            num_warps=4,
            **options,
        )
    expected = [a[i:j].astype(float) @ b[g].astype(float) for g, (i, j) in enumerate(pairwise(starts))]
    wanted = np.concatenate(expected)
    assert np.abs(c[:rows] - wanted).max() <= 2e-3 * np.abs(wanted).max()
    assert np.isnan(c[rows:]).all()
    return made


@pytest.mark.parametrize("starts", STARTS)
@pytest.mark.parametrize(("kernel", "maps"), [(groups_of_descriptors, 3), (groups_of_pointers, 2)])
def test_a_producer_makes_descriptors(kernel, maps: int, starts: tuple[int, ...]) -> None:
    """Of one depth step a tile and a group too: the next descriptor waits for copies that are under way."""
    for n, k in ((160, 80), (64, 32)):
        made = matmul(kernel, starts, n, k, (64, 64, 32), num_stages=3, warp_specialize=True)
        text = made.asm["ttgir"]
        assert "ttg.warp_specialize(" in text
        assert text.count("ttng.tensormap_create") == maps
        producer = text[text.index("partition0(") :]
        # both descriptors are read by copies to the same three stages, which are waited for once
        assert producer.count("ttng.tensormap_create") == 2
        assert producer.count("ttng.wait_barrier") == 3 + 1
        if kernel is groups_of_pointers:  # nothing is made for a group of which this program has no tile
            made_at = producer.index("ttng.tensormap_create")
            assert producer.rindex("scf.for", 0, made_at) < producer.rindex("scf.if", 0, made_at)


def test_a_descriptor_that_is_made_too_early_is_found(monkeypatch, tmp_path: Path) -> None:
    """What the producer waits for is what makes the kernel right."""
    monkeypatch.setattr(Producer, "drain", lambda *_: None)
    with (
        knobs.scope(CACHE_DIR=tmp_path),
        pytest.raises(SimulationError, match="a tensor map is written while"),
    ):
        # four stages: nobody else has the kernel with this one's options
        matmul(groups_of_pointers, (0, 64, 128), 64, 32, (64, 64, 32), num_stages=4, warp_specialize=True)


@pytest.mark.parametrize("options", [{"warp_specialize": False}, {"tma_copies": False}], ids=str)
def test_without_a_producer_matmuls_go_by_pointers(options) -> None:
    made = matmul(groups_of_descriptors, (0, 30, 64), 64, 64, (64, 64, 32), **options)
    text = made.asm["ttgir"]
    assert text.count("ttng.tensormap_create") == int("tma_copies" not in options)  # that of what is stored
    assert "ttng.async_copy_descriptor_to_local" not in text


def test_one_access_goes_by_pointers() -> None:
    x, out = values(8, 32), np.zeros((8, 32), np.float32)
    with tri.target(TARGET):
        kernel = once[(1,)](x, np.array([5], np.int32), out, 32, B=8, C=32, num_warps=4)
    np.testing.assert_array_equal(out[:5], x[:5])
    assert not out[5:].any()
    assert "would make the descriptor for each access anew" in kernel.asm["ttgir"]


# --- machine code -------------------------------------------------------------------------------------------


@cache
def compiled(kernel, **options):
    constants = {"PROGRAMS": 132, "BM": 128, "BN": 256, "BK": 64}
    types = {**dict.fromkeys("abc", "*fp16"), "starts": "*i32"}
    names = kernel.arg_names
    signature = {n: "constexpr" if n in constants else types.get(n, "i32") for n in names}
    aligned = {(i,): [["tt.divisibility", 16]] for i, n in enumerate(names) if signature[n] != "constexpr"}
    source = tri.ASTSource(kernel, signature, constants, aligned)
    given = {"num_warps": 8, "num_stages": 4, "warp_specialize": True, **options}
    return tri.compile(source, target="nvidia:sm_90a", options=given)


@pytest.mark.parametrize("kernel", [groups_of_descriptors, groups_of_pointers], ids=lambda k: k.__name__)
def test_nothing_is_serialised_or_spilled(kernel, tmp_path: Path) -> None:
    made = compiled(kernel)
    assert made.metadata.resources["spills"] == 0
    assert "memdesc<4x128x64x" in made.asm["ttgir"]
    # two maps in the producer; that of the out tensor in the consumers
    maps = 2 if kernel is groups_of_pointers else 3
    assert HiddenParameters.from_attrs(made.metadata.attrs).scratch == 256 * maps
    assert made.asm["ptx"].count("tensormap.cp_fenceproxy") == maps
    (tmp_path / "k.ptx").write_text(made.asm["ptx"])
    command = [str(ptxas()), "-v", "-arch=sm_90a", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert SERIALISED.findall(said.stdout + said.stderr) == []


@pytest.mark.skipif(find(NVDISASM, knobs.get("NVIDIA_NVDISASM")) is None, reason="nvdisasm is not installed")
def test_tiles_are_copied_by_the_accelerator() -> None:
    """A's panel and B's four; what is inside of a group leaves in two halves of two panels, the rest in masked stores."""
    names = re.findall(
        r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_.]+)", compiled(groups_of_pointers).asm["sass"]
    )
    found = {n: names.count(n) for n in ("UTMALDG.2D", "UTMASTG.2D", "UTMACCTL.IV")}
    assert found == {"UTMALDG.2D": 5, "UTMASTG.2D": 4, "UTMACCTL.IV": 2}
    assert not [n for n in names if n.startswith("LDGSTS")]


def test_a_persistent_kernel_makes_them_too() -> None:
    made = compiled(groups_of_pointers, persistent=True)
    hidden = HiddenParameters.from_attrs(made.metadata.attrs)
    assert hidden.grid
    assert hidden.scratch == 512


# --- at a launch --------------------------------------------------------------------------------------------


def test_a_launch_brings_memory(monkeypatch) -> None:
    """For each CTA, from a pool, given back behind the launch, all on its stream."""
    from images import ready
    from nvidia_fake_driver import forget, install
    from tri_backend_nvidia.driver import CudaRuntime
    from tri_core.errors import DeviceError, Unsupported

    fake = install(monkeypatch)
    fake.signature = (ctypes.c_uint64, ctypes.c_int32, ctypes.c_float, ctypes.c_uint64)
    try:
        _, launch = ready(CudaRuntime(), attrs={"scratch": 256})
        launch((3, 2, 1), 77, [1 << 40, -5, 0.5])
        launch((1, 1, 1), 78, [1 << 40, -5, 0.5])
        given = [seen.values[3] for seen in fake.launches]
        assert [args[::2] for args in fake.called("cuMemAllocFromPoolAsync")] == [(6 * 256, 77), (256, 78)]
        assert fake.called("cuMemFreeAsync") == [(given[0], 77), (given[1], 78)]
        assert len(fake.called("cuMemPoolCreate")) == 1
        launch((0, 1, 1), 77, [1 << 40, -5, 0.5])
        assert len(fake.launches) == 2
        fake.launch_status.append(719)
        with pytest.raises(DeviceError):
            launch((1, 1, 1), 77, [1 << 40, -5, 0.5])
        assert len(fake.called("cuMemFreeAsync")) == 3
        with pytest.raises(Unsupported, match="the next launch may use before this one has ended"):
            ready(CudaRuntime(), attrs={"scratch": 256}, options={"launch_pdl": True})
    finally:
        forget()
