"""PyTorch's tensors, of a PyTorch that is made up."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tri_backend_amd import adapters
from tri_core.api import DeviceError, DeviceInfo

DEVICE = DeviceInfo("hip", 0, "gfx942", "made up")


def tensor(kind: str, index: int | None = None) -> SimpleNamespace:
    return SimpleNamespace(
        device=SimpleNamespace(type=kind, index=index, __str__=lambda self: kind),
        dtype="torch.float16",
        shape=(4,),
        stride=lambda: (1,),
        data_ptr=lambda: 4096,
        element_size=lambda: 2,
    )


@pytest.fixture(autouse=True)
def _torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(version=SimpleNamespace(hip="6.4")))
    monkeypatch.setattr(adapters, "probe", lambda: (DEVICE,))


def test_a_tensor_on_a_gpu() -> None:
    found = adapters.describe_torch(tensor("cuda"))
    assert found is not None
    assert (found.pointer, found.dtype, found.nbytes, found.device) == (4096, "fp16", 8, DEVICE)


def test_tensors_elsewhere_are_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    assert adapters.describe_torch(tensor("cpu")) is None
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(version=SimpleNamespace(hip=None)))
    assert adapters.describe_torch(tensor("cuda")) is None


def test_a_device_that_hip_does_not_show() -> None:
    with pytest.raises(DeviceError, match="1 devices"):
        adapters.describe_torch(tensor("cuda", 3))
