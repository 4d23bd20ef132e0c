from __future__ import annotations

import json

import pytest

from tri_backend_amd.architectures import ARCHITECTURES, target
from tri_backend_amd.options import AmdOptions
from tri_core.api import DeviceInfo, OptionError, TargetError, TargetKey
from tri_core.occupancy import occupancy
from tri_gpu_dialect.stage import threads_per_warp


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_spec_is_data(name: str) -> None:
    spec = target(TargetKey("amd", name), None).spec
    assert json.loads(json.dumps(spec.to_json())) == spec.to_json()
    assert spec.llvm is not None
    assert spec.llvm.cpu == name


@pytest.mark.parametrize(
    ("name", "waves", "registers", "shared", "groups", "limit"),
    [
        # registers of a SIMD by the table of LLVM's AMDGPU target: 512, 1024 or 1536 per lane
        ("gfx942", 4, 64, 0, 8, "warps"),
        ("gfx942", 4, 128, 0, 4, "registers"),
        ("gfx942", 4, 129, 0, 3, "registers"),
        ("gfx942", 4, 64, 33 * 1024, 1, "shared"),
        ("gfx950", 4, 64, 33 * 1024, 4, "shared"),
        ("gfx1030", 4, 128, 0, 8, "registers"),
        ("gfx1100", 4, 120, 0, 12, "registers"),
        ("gfx1100", 1, 32, 0, 32, "blocks"),
    ],
)
def test_occupancy(name: str, waves: int, registers: int, shared: int, groups: int, limit: str) -> None:
    unit = target(TargetKey("amd", name), None).spec.unit
    assert unit is not None
    found = occupancy(unit, warps=waves, registers=registers, shared=shared)
    assert (found.blocks, found.limit) == (groups, limit)


def test_wavefronts_and_local_memory() -> None:
    facts = {n: (target(TargetKey("amd", n), None).spec) for n in ARCHITECTURES}
    assert {n: s.threads_per_warp[0] for n, s in facts.items()} == {
        "gfx908": 64, "gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1030": 32, "gfx1100": 32, "gfx1200": 32, "gfx1201": 32,
        "gfx1250": 32,
    }  # fmt: skip
    assert facts["gfx950"].limits["shared"] == 160 * 1024
    assert facts["gfx942"].limits["shared"] == 64 * 1024
    assert facts["gfx1250"].limits["shared"] == 320 * 1024


def test_matrix_shapes_follow_the_generation() -> None:
    by_name = {n: {d.name for d in target(TargetKey("amd", n), None).spec.dot} for n in ARCHITECTURES}
    assert "mfma.16x16x16.fp16" in by_name["gfx942"]
    assert "mfma.16x16x32.fp8e4b8" in by_name["gfx942"]
    assert "mfma.16x16x128.fp8e4nv" in by_name["gfx950"]
    assert "wmma.16x16x16.bf16" in by_name["gfx1100"]
    assert {"wmma.16x16x32.bf16", "wmma.16x16x128.fp8e4nv.fp8e5", "wmma.16x16x4.fp32"} <= by_name["gfx1250"]
    assert not by_name["gfx1030"]


def test_a_bare_vendor_means_the_device() -> None:
    device = DeviceInfo("hip", 0, "gfx942:sramecc+:xnack-", "MI300X")
    assert target(TargetKey("amd"), device).key == TargetKey("amd", "gfx942")


def test_no_device_and_no_name() -> None:
    with pytest.raises(TargetError, match="no AMD GPU is present"):
        target(TargetKey("amd"), None)


def test_an_unknown_name_tells_the_near_ones() -> None:
    with pytest.raises(TargetError) as caught:
        target(TargetKey("amd", "gfx940"), None)
    assert "gfx942" in str(caught.value.remedy)


def test_features_are_refused() -> None:
    with pytest.raises(TargetError, match="no optional features"):
        target(TargetKey.parse("amd:gfx942+xnack"), None)


def test_wave_sizes() -> None:
    made = target(TargetKey("amd", "gfx1100"), None)
    assert threads_per_warp(made, AmdOptions()) == 32
    with pytest.raises(OptionError, match="warp_size is 64"):
        threads_per_warp(made, AmdOptions(warp_size=64))


def test_options_are_checked() -> None:
    with pytest.raises(OptionError, match="waves_per_eu"):
        AmdOptions(waves_per_eu=17)
    with pytest.raises(OptionError, match="waves_per_eu"):
        AmdOptions.parse({"wave_per_eu": 2})
