from __future__ import annotations

import importlib.util
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tri_backend_intel.knobs import parse_drivers
from tri_backend_intel.runtime import devices, drivers
from tri_backend_intel.runtime.found import FoundDevice
from tri_core import knobs
from tri_core.api import DeviceError, DeviceInfo

CPU = FoundDevice(DeviceInfo("sycl", 0, "opencl-cpu", "a CPU"), None, driver="opencl")
GPU = FoundDevice(DeviceInfo("sycl", 0, "pvc", "a GPU"), None, driver="level_zero")


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Drivers by name: devices, or the error that they raise."""
    found: dict[str, Any] = {}

    def named(name: str) -> Any:
        def listed() -> tuple[FoundDevice, ...]:
            if isinstance(found[name], DeviceError):
                raise found[name]
            return found[name]  # type: ignore[no-any-return]

        return SimpleNamespace(devices=listed)

    monkeypatch.setattr(drivers, "driver_named", named)
    monkeypatch.setattr(drivers, "_reasons", {})
    drivers.found_devices.cache_clear()
    monkeypatch.setattr(devices, "found_devices", drivers.found_devices.__wrapped__)
    return found


def without_dpctl(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "dpctl" else find(name, *a)
    )


def test_dpctl_decides_unless_the_user_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: object())
    assert drivers.driver_names() == ("sycl",)
    without_dpctl(monkeypatch)
    assert drivers.driver_names() == ("level_zero", "opencl")
    with knobs.scope(INTEL_DRIVER=("opencl",)):
        assert drivers.driver_names() == ("opencl",)


def test_names_of_drivers() -> None:
    assert parse_drivers("level_zero, opencl") == ("level_zero", "opencl")
    assert parse_drivers("auto") == ()
    for wrong in ("cuda", "", "sycl,auto"):
        with pytest.raises(ValueError, match="write auto, or names of sycl, level_zero, opencl"):
            parse_drivers(wrong)


def test_devices_of_several_drivers_are_numbered_gpus_first(made_up: dict[str, Any]) -> None:
    made_up.update(opencl=(CPU,), level_zero=(GPU, GPU))
    found = drivers.found_devices.__wrapped__(("opencl", "level_zero"), True)
    assert [(f.info.index, f.info.arch, f.driver) for f in found] == [
        (0, "pvc", "level_zero"),
        (1, "pvc", "level_zero"),
        (2, "opencl-cpu", "opencl"),
    ]
    assert [f.host_memory for f in found] == ["staged", "staged", "direct"]


def test_a_driver_that_is_missing_is_passed_over_unless_named(made_up: dict[str, Any]) -> None:
    why = DeviceError("Level Zero's loader is missing")
    made_up.update(opencl=(CPU,), level_zero=why)
    assert len(drivers.found_devices.__wrapped__(("level_zero", "opencl"), False)) == 1
    assert drivers.reasons() == (why,)
    with pytest.raises(DeviceError, match="loader is missing"):
        drivers.found_devices.__wrapped__(("level_zero", "opencl"), True)


def test_no_device_says_why_there_is_none(made_up: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from tri_backend_intel.runtime import IntelRuntime

    without_dpctl(monkeypatch)
    made_up.update(
        level_zero=DeviceError("Level Zero's loader is missing"),
        opencl=DeviceError("OpenCL's loader is missing"),
    )
    with pytest.raises(DeviceError, match="no sycl device is present") as caught:
        IntelRuntime().current_device()
    remedy = str(caught.value.remedy)
    assert "tri-backend-intel[cpu]" in remedy
    assert "Level Zero's loader is missing; OpenCL's loader is missing" in remedy


def test_arrays_of_sycl_need_sycl(made_up: dict[str, Any]) -> None:
    made_up.update(level_zero=(GPU,))
    with knobs.scope(INTEL_DRIVER=("level_zero",)), pytest.raises(DeviceError) as caught:
        devices.sycl_devices()
    assert "SYCL" in str(caught.value) or "sycl" in str(caught.value.remedy)
    assert caught.value.remedy


def test_nothing_of_sycl_is_imported_by_the_others() -> None:
    script = (
        "import sys; sys.modules['dpctl'] = None\n"
        "from tri_backend_intel.runtime.devices import probe\n"
        "from tri_backend_intel import adapters\n"
        "print([d.arch for d in probe()])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
