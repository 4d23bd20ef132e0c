from __future__ import annotations

import json
import re

import pytest

from tri_backend_amd.architectures import ARCHITECTURES, target
from tri_backend_amd.options import AmdOptions
from tri_backend_amd.processors import GONE
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
        ("gfx1102", 4, 128, 0, 8, "registers"),
        ("gfx906", 4, 64, 0, 4, "registers"),
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
    for name, spec in facts.items():
        wavefront = 64 if name.startswith("gfx9") else 32
        assert spec.threads_per_warp == (wavefront,), name
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
    assert not by_name["gfx1030"] | by_name["gfx906"]
    assert len({frozenset(by_name[n]) for n in by_name if n.startswith("gfx11")}) == 1


def test_a_bare_vendor_means_the_device() -> None:
    device = DeviceInfo("hip", 0, "gfx942:sramecc+:xnack-", "MI300X")
    assert target(TargetKey("amd"), device).key == TargetKey("amd", "gfx942")


def test_no_device_and_no_name() -> None:
    with pytest.raises(TargetError, match="no AMD GPU is present"):
        target(TargetKey("amd"), None)


def test_an_unknown_name_tells_the_near_ones() -> None:
    with pytest.raises(TargetError) as caught:
        target(TargetKey("amd", "gfx924"), None)
    assert "gfx942" in str(caught.value.remedy)


@pytest.mark.parametrize("name", GONE)
def test_what_llvm_has_no_more_says_so(name: str) -> None:
    with pytest.raises(TargetError, match=f"{name} is an early stepping") as caught:
        target(TargetKey("amd", name), None)
    assert caught.value.remedy == "compile for amd:gfx942"


def test_modes_are_part_of_the_key() -> None:
    made = target(TargetKey.parse("amd:gfx942:xnack-:sramecc+"), None)
    assert str(made.key) == "amd:gfx942:sramecc+:xnack-"
    assert TargetKey.parse(str(made.key)) == made.key
    assert made.spec.llvm is not None
    assert made.spec.llvm.features == "+sramecc,-xnack"


@pytest.mark.parametrize(
    ("text", "said", "remedy"),
    [
        ("amd:gfx942+xnack", "neither on nor off", "amd:gfx942:xnack+"),
        ("amd:gfx942:tgsplit+", "gfx942 has no feature 'tgsplit'", "sramecc and xnack"),
        ("amd:gfx1100:xnack-", "gfx1100 has no feature 'xnack'", "write amd:gfx1100"),
        ("amd:gfx942:xnack+:xnack-", "xnack is both on and off", "write one of"),
    ],
)
def test_features_that_are_none_are_refused(text: str, said: str, remedy: str) -> None:
    with pytest.raises(TargetError, match=re.escape(text) + ".*" + said) as caught:
        target(TargetKey.parse(text), None)
    assert remedy in str(caught.value.remedy)


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
