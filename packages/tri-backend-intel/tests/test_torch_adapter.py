"""PyTorch's tensors, of a PyTorch that is made up."""

from __future__ import annotations

from pathlib import Path
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
    found = [SimpleNamespace(info=info, is_cpu=info is CPU) for info in (CPU, GPU)]
    monkeypatch.setattr(adapters, "sycl_devices", lambda: found)


def test_a_tensor_on_a_gpu() -> None:
    found = adapters.describe_torch(tensor("xpu"))
    assert found is not None
    assert (found.pointer, found.dtype, found.nbytes, found.device) == (4096, "bf16", 8, GPU)


MAPS = """\
7f00-7f01 r--p 00000000 08:01 11 /env/lib/libsycl.so.9.0.0
7f01-7f02 r-xp 00001000 08:01 11 /env/lib/libsycl.so.9.0.0
7f03-7f04 r-xp 00000000 08:01 12 /env/lib/libsycl-devicelib-host.so
7f05-7f06 rw-p 00000000 00:00 0
7f07-7f08 r-xp 00000000 08:01 13 /env/torch files/lib/libsycl.so.8
"""


def test_two_sycl_runtimes_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the process has loaded is read when the first tensor comes."""
    text = {"maps": MAPS}
    monkeypatch.setattr(Path, "read_text", lambda self: text[self.name])
    with pytest.raises(DeviceError, match="two SYCL runtimes") as caught:
        adapters.describe_torch(tensor("xpu"))
    assert "/env/lib/libsycl.so.9.0.0 and /env/torch files/lib/libsycl.so.8" in str(caught.value)
    text["maps"] = MAPS.rpartition("7f07")[0]
    assert adapters.describe_torch(tensor("xpu")) is not None


def test_tensors_elsewhere() -> None:
    assert adapters.describe_torch(tensor("cuda")) is None
    with pytest.raises(DeviceError, match="1 Intel GPUs"):
        adapters.describe_torch(tensor("xpu", 1))
