"""Configurations compiled on a dask.distributed cluster."""

from __future__ import annotations

import numpy as np
import pytest

import tri
from tri_core import compiler
from tuning_kernels import grid, scale_kernel

distributed = pytest.importorskip("distributed")


@pytest.mark.usefixtures("cpu")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_cluster_compiles_configurations() -> None:
    blocks = (16, 64, 1 << 21)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        kernel = tri.autotune(
            [tri.Config({"BLOCK": b}) for b in blocks],
            key=["n"],
            warmup=0,
            rep=1,
            executor=client.get_executor(),
        )(scale_kernel())
        x = np.random.default_rng(5).standard_normal(1000).astype(np.float32)
        y = np.zeros_like(x)
        kernel[grid](x, y, 1000)
        ran = [
            key for log in client.run(lambda dask_worker: list(dask_worker.state.log)).values() for key in log
        ]
    np.testing.assert_array_equal(y, 2 * x)
    assert [c.kwargs["BLOCK"] for c in kernel.configs_timings] == [16, 64]
    assert [c.kwargs["BLOCK"] for c in kernel.failures] == [1 << 21]
    assert any("run_job" in str(entry) for entry in ran)
    compiler.forget()
    with tri.no_compile():
        for block in blocks[:2]:
            kernel.base_fn.warmup(x, y, 1000, BLOCK=block)
