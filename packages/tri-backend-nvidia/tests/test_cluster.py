"""Programs run by clusters of CTAs: the simulator and machine code."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tri
from cluster_kernels import added, along, gemm, softmax
from cluster_runs import RUNS, Arrays
from nvidia_support import loops
from seeds import seeded
from tri_backend_nvidia.disassembly import NVDISASM
from tri_backend_nvidia.tools import find
from tri_core import knobs
from tri_core.errors import OutOfResources, SimulationError, Unsupported
from tri_gpu_dialect.layouts.cluster import matmul_blocks, operand_blocks


@pytest.mark.parametrize("ctas", [1, 2, 4])
@pytest.mark.parametrize("name", RUNS)
def test_kernels_are_right(name: str, ctas: int) -> None:
    with tri.target("sim:nvidia:sm_90a"), tri.simulation(report=False):
        RUNS[name](Arrays(), seeded(name, ctas), num_ctas=ctas)


_SIZES = st.sampled_from([1, 2, 4, 16, 64])


@settings(max_examples=15, deadline=None)
@given(_SIZES, _SIZES, st.integers(0, 1), st.booleans(), st.sampled_from([2, 4, 8]), st.sampled_from([1, 4]))
def test_what_goes_along_an_axis(m: int, n: int, axis: int, reverse: bool, ctas: int, warps: int) -> None:
    """Whatever of the axis CTAs, lanes and warps share, or hold copies of."""
    x = np.random.default_rng(m * n).integers(-99, 99, (m, n)).astype("i4")
    y, z, w = (np.full(shape, 113, "i4") for shape in ((m, n), (n, m)[axis], (m, n)))
    with tri.target("sim:nvidia:sm_90a"), tri.simulation(report=False):
        along[(1,)](x, y, z, w, m, n, axis, reverse, num_ctas=ctas, num_warps=warps)
    transposed = np.flip(x, axis)
    sums = transposed.cumsum(axis)
    np.testing.assert_array_equal(y, np.flip(sums, axis) if reverse else x.cumsum(axis))
    np.testing.assert_array_equal(z, x.sum(axis))
    np.testing.assert_array_equal(w, transposed)


@pytest.mark.parametrize("target", ["sim:nvidia:sm_90a", "sim:nvidia:sm_100a"])
@pytest.mark.parametrize("name", ["softmax", "atomics"])
def test_a_cluster_of_eight_and_few_warps(name: str, target: str) -> None:
    with tri.target(target), tri.simulation(report=False):
        RUNS[name](Arrays(), seeded(name), num_ctas=8, num_warps=1)


def compiled(kernel, target: str, *args, **options):
    with tri.target(target):
        return kernel.warmup(*args, grid=(1,), **options)


def test_the_launch_is_reported_and_the_ptx_says_so() -> None:
    x = np.zeros(4096, "f4")
    kernel = compiled(softmax, "nvidia:sm_90a", x, x, M=1, N=4096, num_ctas=4)
    ptx = kernel.asm["ptx"]
    assert ".reqnctapercluster 4" in ptx
    assert "mapa.shared::cluster" in ptx
    assert "barrier.cluster.arrive.release.aligned" in ptx
    assert kernel.metadata.attrs["cluster"] == 4
    alone = compiled(softmax, "nvidia:sm_90a", x, x, M=1, N=4096)
    assert "cluster" not in alone.asm["ptx"]
    assert "cluster" not in alone.metadata.attrs


def test_rows_that_a_cta_has_need_no_other() -> None:
    """Elementwise code, and reductions along what is not split, never leave the CTA."""
    x = np.zeros(4096, "f4")
    for kernel, options in ((added, {"n": 4096, "BLOCK": 1024}), (softmax, {"M": 64, "N": 64})):
        args = (x, x, x) if kernel is added else (x, x)
        ptx = compiled(kernel, "nvidia:sm_90a", *args, num_ctas=2, **options).asm["ptx"]
        assert "clusterid" in ptx or kernel is softmax
        assert "mapa" not in ptx
        # two stores to one array, of different threads, are in order
        assert ptx.count("barrier.cluster.arrive") == (kernel is added)


@pytest.mark.parametrize(("target", "ctas", "have"), [("nvidia:sm_80", 2, 1), ("nvidia:sm_90a", 16, 8)])
def test_clusters_that_are_too_large_are_refused(target: str, ctas: int, have: int) -> None:
    x = np.zeros(64, "f4")
    with pytest.raises(OutOfResources) as caught:
        compiled(softmax, target, x, x, M=8, N=8, num_ctas=ctas)
    assert caught.value.nearest == {"num_ctas": have}


def test_persistent_kernels_are_refused() -> None:
    x = np.zeros(64, "f4")
    with pytest.raises(Unsupported, match="clusters of CTAs") as caught:
        compiled(softmax, "nvidia:sm_90a", x, x, M=8, N=8, num_ctas=2, persistent=True)
    assert caught.value.location is not None


# --- dots -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["sim:nvidia:sm_90", "sim:nvidia:sm_100a"])
@pytest.mark.parametrize("name", ["gemm", "attention"])
def test_matmuls_by_instructions_of_warps(name: str, target: str) -> None:
    with tri.target(target), tri.simulation(report=False):
        RUNS[name](Arrays(), seeded(name), num_ctas=2)


def tile(ctas: int, **options):
    x = np.zeros((1024, 1024), "f2")
    shape = {"BM": 256, "BN": 256, "BK": 64, "COLUMNS": False}
    return compiled(
        gemm, "nvidia:sm_90a", x, x, x, 1024, 1024, 1024, num_ctas=ctas, num_warps=8, **shape, **options
    )


@pytest.mark.parametrize(("ctas", "width", "blocks"), [(2, 256, "[[1, 0]]"), (4, 128, "[[1, 0], [0, 1]]")])
def test_a_matmul_is_split_by_rows_and_columns(ctas: int, width: int, blocks: str) -> None:
    kernel = tile(ctas)
    assert f"CGALayout = {blocks}, instrShape = [16, {width}, 16]" in kernel.asm["ttgir"]
    ptx = kernel.asm["ptx"]
    assert ptx.count(f"wgmma.mma_async.sync.aligned.m64n{width}k16") == 4
    # each CTA has what it needs
    assert "mapa" not in ptx
    assert "barrier.cluster" not in ptx
    assert kernel.resources.spills == 0
    # a stage more than asked for, where two CTAs don't have room beside each other with three
    stages = 4 if width == 256 else 3
    assert kernel.resources.shared == stages * (256 // 2 * 64 + 64 * width) * 2


# --- warps that copy, for several CTAs at once ------------------------------------------------------------


@pytest.mark.parametrize("ctas", [2, 4, 8])
@pytest.mark.parametrize("name", ["gemm", "attention", "counted_gemm"])
def test_blocks_that_several_ctas_need_are_copied_once(name: str, ctas: int) -> None:
    with tri.target("sim:nvidia:sm_90a"), tri.simulation(report=False):
        RUNS[name](Arrays(), seeded(name, ctas), num_ctas=ctas, warp_specialize=True)


def test_rings_of_a_cluster_in_machine_code() -> None:
    kernel = tile(2, warp_specialize=True, num_stages=4)
    assert "ttg.warp_specialize" in kernel.asm["ttgir"]
    ptx = kernel.asm["ptx"]
    # rows of A are each CTA's own; B, four panels wide, is copied by one of them for both
    assert ptx.count("cp.async.bulk.tensor.2d") == 5
    assert ptx.count(".multicast::cluster") == 4
    # one instruction of a warp frees the stage in all CTAs
    assert ptx.count("mbarrier.arrive.shared::cluster") == 1
    assert ptx.count("wgmma.mma_async.sync.aligned.m64n256k16") == 4
    assert kernel.resources.spills == 0
    alone = tile(1, warp_specialize=True, num_stages=4)
    assert "multicast" not in alone.asm["ptx"]


@pytest.mark.skipif(find(NVDISASM, knobs.get("NVIDIA_NVDISASM")) is None, reason="there is no nvdisasm")
def test_the_loop_of_consumers_has_no_fence() -> None:
    """What frees a stage orders reads alone: no memory barrier, no invalidation of a cache."""
    busy = loops(tile(2, warp_specialize=True, num_stages=4).asm["sass"])
    assert busy
    for line in (line for loop in busy for line in loop):
        assert not any(name in line for name in ("MEMBAR", "CCTL", "ERRBAR"))


# options that no other test has: wrong kernels are not found in a cache
@pytest.mark.parametrize(
    ("where", "name", "stages", "check"),
    [
        ("tri_gpu_dialect.lowering.specialize", "_leave", 3, "left the kernel"),
        ("tri_gpu_dialect.async_units.producer_consumer", "CLUSTER", 2, "deadlock"),
    ],
)
def test_a_ring_that_forgets_other_ctas_is_found(
    monkeypatch, where: str, name: str, stages: int, check: str
) -> None:
    """A CTA that leaves early; stages that are freed in one CTA alone."""
    wrong = (lambda ctx: None) if name == "_leave" else "ttg.forgotten"
    monkeypatch.setattr(f"{where}.{name}", wrong)
    with (
        tri.target("sim:nvidia:sm_90a"),
        tri.simulation(report=False),
        pytest.raises(SimulationError, match=check),
    ):
        RUNS["gemm"](
            Arrays(), seeded("forgotten"), num_ctas=2, warp_specialize=True, num_warps=8, num_stages=stages
        )


def test_consumers_alone_exchange_nothing() -> None:
    with (
        tri.target("sim:nvidia:sm_90a"),
        pytest.raises(Unsupported, match="by some of their warps") as caught,
    ):
        RUNS["row_sums"](Arrays(), seeded("row_sums"), num_ctas=2, warp_specialize=True)
    assert caught.value.location is not None
    assert "warp_specialize=False" in (caught.value.remedy or "")


def test_no_copies_for_others_without_dots_that_read_them() -> None:
    x = np.zeros(64, "f4")
    with pytest.raises(Unsupported, match="no dot there reads what CTAs copy for each other"):
        compiled(softmax, "nvidia:sm_100a", x, x, M=8, N=8, num_ctas=2, warp_specialize=True)


def test_shares_of_matmuls() -> None:
    assert matmul_blocks((128, 256), 2) == ((0, 1),)
    assert matmul_blocks((128, 128), 2) == ((1, 0),)
    assert matmul_blocks((128, 256), 8) == ((0, 1), (1, 0), (0, 2))
    assert matmul_blocks((128, 64), 4, whole_rows=True) == ((1, 0), (0, 0))
    assert matmul_blocks((16, 16), 2) == ((0, 0),)
    assert operand_blocks(((1, 0), (0, 1)), 0) == ((1, 0), (0, 0))
    assert operand_blocks(((1, 0), (0, 1)), 1) == ((0, 0), (0, 1))
