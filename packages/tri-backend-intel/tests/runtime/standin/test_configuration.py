"""What the stand-in's devices may be, and the knob that names them."""

from __future__ import annotations

import os

import pytest

from tri_backend_intel.architectures import ARCHITECTURES
from tri_backend_intel.knobs import GPUS, parse_gpus
from tri_backend_intel.runtime.standin import Configuration, DeviceConfiguration, announced
from tri_core import knobs
from tri_core.api import OptionError


def test_every_gpu_of_the_table_may_be_one() -> None:
    assert set(GPUS) == set(ARCHITECTURES) - {"opencl-cpu"}
    for arch in GPUS:
        assert DeviceConfiguration(arch=arch).extensions == set(ARCHITECTURES[arch].spirv_extensions)
    assert len({DeviceConfiguration(arch=arch).pci for arch in GPUS}) == len(GPUS)
    with pytest.raises(OptionError, match="opencl-cpu"):
        DeviceConfiguration(arch="opencl-cpu")


def test_what_a_device_lacks() -> None:
    lacking = DeviceConfiguration(without=frozenset({"SPV_INTEL_2d_block_io"}))
    assert DeviceConfiguration().extensions - lacking.extensions == {"SPV_INTEL_2d_block_io"}


def test_the_version_in_one_number() -> None:
    assert Configuration(version=(1, 6, 35000)).version_number == 0x010688B8


def test_the_knob_names_gpus() -> None:
    assert parse_gpus("") == ()
    assert parse_gpus(" pvc, bmg ,pvc") == ("pvc", "bmg", "pvc")
    for wrong in ("1", "pvc,cpu", "opencl-cpu"):
        with pytest.raises(ValueError, match="none of pvc"):
            parse_gpus(wrong)


def test_the_knob_makes_one_driver_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZE_ENABLE_ALT_DRIVERS", "")
    with knobs.scope(INTEL_STANDIN=()):
        assert announced() is None
        assert os.environ["ZE_ENABLE_ALT_DRIVERS"] == ""
    with knobs.scope(INTEL_STANDIN=("pvc", "bmg")):
        made = announced()
        assert made is not None
        assert announced() is made
        assert [d.configuration.arch for d in made.state.devices] == ["pvc", "bmg"]
        assert os.environ["ZE_ENABLE_ALT_DRIVERS"] == str(made.path)
