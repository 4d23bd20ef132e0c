"""Programs run by clusters of CTAs: the simulator and machine code."""

from __future__ import annotations

import numpy as np
import pytest

tri = pytest.importorskip("tri")

from cluster_kernels import added, gemm, softmax  # noqa: E402
from cluster_runs import RUNS, Arrays  # noqa: E402
from tri_core.errors import OutOfResources, Unsupported  # noqa: E402
from tri_gpu_dialect.layouts.cluster import operand_blocks, product_blocks  # noqa: E402


def seeded(*parts) -> np.random.Generator:
    return np.random.default_rng([ord(c) for part in parts for c in str(part)])


@pytest.mark.parametrize("ctas", [1, 2, 4])
@pytest.mark.parametrize("name", RUNS)
def test_kernels_are_right(name: str, ctas: int) -> None:
    with tri.target("sim:nvidia:sm_90a"), tri.simulation(report=False):
        RUNS[name](Arrays(), seeded(name, ctas), num_ctas=ctas)


@pytest.mark.parametrize("target", ["sim:nvidia:sm_90a", "sim:nvidia:sm_100a"])
@pytest.mark.parametrize("name", ["softmax", "atomics"])
def test_a_cluster_of_eight_and_few_warps(name: str, target: str) -> None:
    with tri.target(target), tri.simulation(report=False):
        RUNS[name](Arrays(), seeded(name), num_ctas=8, num_warps=1)


def compiled(kernel, target: str, *args, **options):
    with tri.target(target):
        return kernel.warmup(*args, grid=(1,), **options)


def test_the_launch_is_told_and_the_ptx_says_so() -> None:
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
        assert "barrier.cluster" not in ptx


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


def test_warps_that_copy_are_refused() -> None:
    x = np.zeros(64, "f4")
    with pytest.raises(Unsupported, match="num_ctas=2: warps that copy are those of one CTA"):
        compiled(softmax, "nvidia:sm_90a", x, x, M=8, N=8, num_ctas=2, warp_specialize=True)


# --- products ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["sim:nvidia:sm_90", "sim:nvidia:sm_100a"])
@pytest.mark.parametrize("name", ["gemm", "attention"])
def test_products_by_instructions_of_warps(name: str, target: str) -> None:
    with tri.target(target), tri.simulation(report=False):
        RUNS[name](Arrays(), seeded(name), num_ctas=2)


def tile(ctas: int, **options):
    x = np.zeros((1024, 1024), "f2")
    shape = {"BM": 256, "BN": 256, "BK": 64, "COLUMNS": False}
    return compiled(
        gemm, "nvidia:sm_90a", x, x, x, 1024, 1024, 1024, num_ctas=ctas, num_warps=8, **shape, **options
    )


@pytest.mark.parametrize(("ctas", "width", "blocks"), [(2, 256, "[[1, 0]]"), (4, 128, "[[1, 0], [0, 1]]")])
def test_a_product_is_split_by_rows_and_columns(ctas: int, width: int, blocks: str) -> None:
    kernel = tile(ctas)
    assert f"CGALayout = {blocks}, instrShape = [16, {width}, 16]" in kernel.asm["ttgir"]
    ptx = kernel.asm["ptx"]
    assert ptx.count(f"wgmma.mma_async.sync.aligned.m64n{width}k16") == 4
    # each CTA has what it needs
    assert "mapa" not in ptx
    assert "barrier.cluster" not in ptx
    assert kernel.resources.spills == 0
    assert kernel.resources.shared == 4 * (256 // 2 * 64 + 64 * width) * 2


def test_shares_of_products() -> None:
    assert product_blocks((128, 256), 2) == ((0, 1),)
    assert product_blocks((128, 128), 2) == ((1, 0),)
    assert product_blocks((128, 256), 8) == ((0, 1), (1, 0), (0, 2))
    assert product_blocks((128, 64), 4, whole_rows=True) == ((1, 0), (0, 0))
    assert product_blocks((16, 16), 2) == ((0, 0),)
    assert operand_blocks(((1, 0), (0, 1)), 0) == ((1, 0), (0, 0))
    assert operand_blocks(((1, 0), (0, 1)), 1) == ((0, 0), (0, 1))
