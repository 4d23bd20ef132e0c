"""Kernels on the machine itself: what the machine ops are emitted as is what they do in the simulator."""

from __future__ import annotations

import numpy as np
import pytest
import tri
from tri_runtime import registry

import kernels


@pytest.fixture(autouse=True)
def _own_runtime() -> None:
    """A runtime with the machine, whatever other tests connected."""
    registry.forget()


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("level", [0, 3])
def test_softmax(warps: int, level: int) -> None:
    x = np.random.default_rng(1).standard_normal((3, 100), dtype=np.float32)
    out, simulated = np.full_like(x, np.nan), np.full_like(x, np.nan)
    with tri.target("toy"):
        kernels.softmax[(3,)](out, x, 100, BLOCK=128, num_warps=warps, opt_level=level)
    with tri.target("sim:toy:t1"):
        kernels.softmax[(3,)](simulated, x, 100, BLOCK=128, num_warps=warps)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(axis=1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(out, simulated, rtol=1e-6)


def test_matmul_of_matrices_through_shared_memory() -> None:
    random = np.random.default_rng(2)
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((32, 64), (64, 32)))
    out = np.full((32, 32), np.nan, np.float32)
    with tri.target("toy"):
        kernels.matmul[(1,)](out, a, b, 64, BLOCK=32)
    np.testing.assert_allclose(out, a.astype(np.float64) @ b.astype(np.float64), atol=1e-4)


def test_arguments_of_several_sizes_arrive() -> None:
    x = np.random.default_rng(3).random(300, dtype=np.float32)
    out = np.full_like(x, np.nan)
    with tri.target("toy"):
        kernels.scale[(3,)](out, x, 0.5, 300, BLOCK=128, num_warps=1)
    np.testing.assert_array_equal(out, x * np.float32(0.5))


def test_the_tuner_is_given_configurations_and_tries_none_of_many_warps() -> None:
    x = np.random.default_rng(4).random(128, dtype=np.float32)
    out = np.full_like(x, np.nan)
    tried: list[object] = []

    def bench(call: object, quantiles: object) -> list[float]:
        del quantiles
        tried.append(call)
        call()  # type: ignore[operator]
        return [1.0, 1.0, 1.0]

    with tri.target("toy"):
        offered = tri.autotune(configs=[], key=["n"], do_bench=bench)(kernels.scale)
        offered[(1,)](out, x, 3.0, 128, BLOCK=128)
        assert len(tried) == 2
        assert offered.best_config.num_warps == 1
        np.testing.assert_array_equal(out, x * np.float32(3))
        tried.clear()
        configs = [tri.Config({"BLOCK": 128}, num_warps=warps) for warps in (4, 1, 2)]
        pruned = tri.autotune(configs=configs, key=["n"], do_bench=bench)(kernels.scale)
        pruned[(1,)](out, x, 2.0, 128)
        assert pruned.best_config.num_warps == 1
    assert not tried  # one was left, which has nothing to be compared with
    np.testing.assert_array_equal(out, x * np.float32(2))
