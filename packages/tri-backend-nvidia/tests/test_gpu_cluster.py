"""Programs run by clusters of CTAs on a GPU: ``python -m pytest -m gpu packages/tri-backend-nvidia/tests/test_gpu_cluster.py``."""

from __future__ import annotations

import pytest

from cluster_runs import RUNS, Arrays
from seeds import seeded

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.gpu


def on_gpu() -> Arrays:
    return Arrays(lambda a: torch.from_numpy(a.copy()).cuda(), lambda t: t.cpu().numpy())


@pytest.mark.parametrize("ctas", [1, 2, 4, 8])
@pytest.mark.parametrize("name", RUNS)
def test_kernels_are_right(name: str, ctas: int) -> None:
    device, rng = on_gpu(), seeded(name, ctas)
    for _ in range(3):
        RUNS[name](device, rng, num_ctas=ctas)


@pytest.mark.parametrize("ctas", [2, 4, 8])
@pytest.mark.parametrize("name", ["gemm", "attention"])
def test_blocks_that_several_ctas_need_are_copied_once(name: str, ctas: int) -> None:
    device, rng = on_gpu(), seeded(name, ctas)
    for _ in range(3):
        RUNS[name](device, rng, num_ctas=ctas, warp_specialize=True)
