"""PyTorch's tensors, of a PyTorch that is made up."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tri_backend_intel import adapters
from tri_core.api import DeviceError, DeviceInfo

CPU, GPU = (DeviceInfo("sycl", i, arch, "made up") for i, arch in enumerate(("opencl-cpu", "bmg")))


def tensor(kind: str, index: int | None = None) -> SimpleNamespace:
    return SimpleNamespace(
        device=SimpleNamespace(type=kind, index=index),
        dtype="torch.bfloat16",
        shape=(4,),
        stride=lambda: (1,),
        data_ptr=lambda: 4096,
        element_size=lambda: 2,
    )


@pytest.fixture(autouse=True)
def _devices(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        SimpleNamespace(info=info, sycl_device=SimpleNamespace(is_gpu=info is GPU)) for info in (CPU, GPU)
    ]
    monkeypatch.setattr(adapters, "devices", lambda: found)


def test_a_tensor_on_a_gpu() -> None:
    found = adapters.describe_torch(tensor("xpu"))
    assert found is not None
    assert (found.pointer, found.dtype, found.nbytes, found.device) == (4096, "bf16", 8, GPU)


def test_tensors_elsewhere() -> None:
    assert adapters.describe_torch(tensor("cuda")) is None
    with pytest.raises(DeviceError, match="1 Intel GPUs"):
        adapters.describe_torch(tensor("xpu", 1))
