from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from level_zero_fake import FakeLevelZero
from tri_backend_intel.runtime.level_zero.api import REQUIRED, Result
from tri_backend_intel.runtime.level_zero.errors import error, name_of
from tri_backend_intel.runtime.level_zero.loader import Loader, open_library
from tri_core import knobs
from tri_core.api import DeviceError, KernelFault


def test_a_missing_loader_is_named_with_a_remedy(tmp_path: Path) -> None:
    path = str(tmp_path / "libze_loader.so.1")
    with knobs.scope(INTEL_LEVEL_ZERO=path), pytest.raises(DeviceError) as caught:
        open_library()
    assert path in str(caught.value)
    assert "libze1" in str(caught.value.remedy)
    assert "TRI_INTEL_LEVEL_ZERO" in str(caught.value.remedy)


def test_what_is_no_loader_is_refused() -> None:
    fake = FakeLevelZero({})
    fake.without = {"zeInit"}
    with pytest.raises(DeviceError, match="not Level Zero's loader"):
        Loader(fake)


@pytest.mark.parametrize("name", REQUIRED)
def test_an_old_loader_is_refused_by_what_it_lacks(name: str) -> None:
    fake = FakeLevelZero({})
    fake.without = {name}
    with pytest.raises(DeviceError, match=f"too old: it has no {name}") as caught:
        Loader(fake)
    assert REQUIRED[name] in str(caught.value.remedy)


def test_a_loader_without_a_driver() -> None:
    fake = FakeLevelZero({})
    fake.fails["zeInit"] = Result.ERROR_UNINITIALIZED
    with pytest.raises(DeviceError, match="no driver") as caught:
        Loader(fake).drivers()
    assert "libze-intel-gpu1" in str(caught.value.remedy)


def test_another_failure_of_the_start_says_which() -> None:
    fake = FakeLevelZero({})
    fake.fails["zeInit"] = Result.ERROR_INSUFFICIENT_PERMISSIONS
    with pytest.raises(
        DeviceError, match="zeInit failed with ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS"
    ) as caught:
        Loader(fake).drivers()
    assert "/dev/dri" in str(caught.value.remedy)


def test_a_function_that_the_loader_lacks_is_an_unsupported_feature() -> None:
    loader = Loader(FakeLevelZero({}))
    assert loader.status("zeFenceCreate", None, None, None) == Result.ERROR_UNSUPPORTED_FEATURE
    with pytest.raises(DeviceError, match="has no zeFenceCreate"):
        loader.address("zeFenceCreate")


@pytest.mark.parametrize("status", [Result.ERROR_DEVICE_LOST, Result.ERROR_DEVICE_REQUIRES_RESET])
def test_a_lost_device_is_a_fault_of_a_kernel(status: Result) -> None:
    made = error("zeCommandListHostSynchronize", status)
    assert isinstance(made, KernelFault)
    again = pickle.loads(pickle.dumps(made))
    assert (str(again), again.kernels) == (str(made), ())


def test_names_of_results() -> None:
    assert name_of(0x70000001) == "ZE_RESULT_ERROR_DEVICE_LOST"
    assert "0x12345678" in name_of(0x12345678)
