"""Arrays that go to a device and back."""

from __future__ import annotations

import numpy as np
import pytest

from integration.device_arrays import device_of, to_device, to_host
from integration.random_kernels.values import DTYPES, numpy_dtype


@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_and_types_come_back(dtype: str) -> None:
    pytest.importorskip("torch")
    array = np.random.default_rng(0).integers(0, 256, 64 * 8, dtype=np.uint8).view(numpy_dtype(dtype))
    tensor = to_device(array, "cpu")
    assert str(tensor.dtype) == f"torch.{array.dtype.name}"
    back = to_host(tensor, array)
    assert back.dtype == array.dtype
    assert back.tobytes() == array.tobytes()


def test_targets_whose_memory_is_the_host_s() -> None:
    assert [device_of(t) for t in ("cpu", "sim:nvidia:sm_90a", "intel:opencl-cpu")] == [None] * 3
    assert [device_of(t) for t in ("nvidia", "nvidia:sm_90a", "amd:gfx942")] == ["cuda"] * 3
