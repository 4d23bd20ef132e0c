"""Programs run by clusters of CTAs: the simulator and machine code."""

from __future__ import annotations

import numpy as np
import pytest

tri = pytest.importorskip("tri")

from cluster_kernels import added, softmax  # noqa: E402
from cluster_runs import RUNS, Arrays  # noqa: E402
from tri_core.errors import OutOfResources, Unsupported  # noqa: E402


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
