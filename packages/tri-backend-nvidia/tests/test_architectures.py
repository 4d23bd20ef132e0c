from __future__ import annotations

import json
from itertools import pairwise

import pytest

from tri_backend_nvidia.architectures import ARCHITECTURES, architecture_of_device, target
from tri_backend_nvidia.options import NvidiaOptions
from tri_core.api import DeviceInfo, OptionError, TargetError, TargetKey


def of(text, device=None):
    return target(TargetKey.parse(text), device)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_row_makes_a_consistent_target(name):
    made = of(f"nvidia:{name}")
    spec = made.spec
    assert str(made.key) == f"nvidia:{name}"
    assert spec.llvm.cpu == name
    (shared,) = [m for m in spec.memories if m.name == "shared"]
    assert shared.capacity == spec.limits["shared"]
    assert 48 << 10 <= spec.limits["shared"] <= 227 << 10
    assert not spec.dtypes & spec.emulated_dtypes
    assert {"bf16", "fp8e4nv"} <= spec.dtypes | spec.emulated_dtypes
    json.dumps(spec.to_json())


def test_features_grow_with_age():
    ages = [("sm_75", 0), ("sm_80", 1), ("sm_89", 2), ("sm_90", 3), ("sm_90a", 4)]
    sets = [of(f"nvidia:{name}").spec.features - {"mma"} for name, _ in ages]
    assert all(a < b for a, b in pairwise(sets))
    assert of("nvidia:sm_90a").has("wgmma")
    assert not of("nvidia:sm_90").has("wgmma")
    assert of("nvidia:sm_100f").has("tcgen05")
    assert of("nvidia:sm_120a").has("mma-block-scale")
    assert not of("nvidia:sm_120").has("mma-block-scale")


@pytest.mark.parametrize("text", ["nvidia:90a", "nvidia:sm90a", "nvidia:sm_90a"])
def test_spellings(text):
    assert of(text).key == TargetKey("nvidia", "sm_90a")


def test_the_device_names_the_architecture():
    device = DeviceInfo("cuda", 0, "sm_89")
    assert of("nvidia", device).key.arch == "sm_89"


def test_unknown_architectures():
    with pytest.raises(TargetError, match="unknown NVIDIA architecture 'sm_91a'") as caught:
        of("nvidia:sm_91a")
    assert "sm_90a" in caught.value.remedy
    with pytest.raises(TargetError, match="no NVIDIA device") as caught:
        of("nvidia")
    assert "nvidia:sm_90a" in caught.value.remedy
    with pytest.raises(TargetError, match="no optional features"):
        of("nvidia:sm_90+tma")


@pytest.mark.parametrize(
    ("capability", "expected"),
    [((9, 0), "sm_90a"), ((8, 6), "sm_86"), ((12, 1), "sm_121a"), ((8, 8), "sm_87"), ((13, 0), "sm_130")],
)
def test_what_a_device_runs(capability, expected):
    assert architecture_of_device(*capability) == expected


@pytest.mark.parametrize("given", [{"num_warps": 64}, {"maxnreg": 8}, {"maxnreg": 300}, {"ptx_version": 8}])
def test_option_ranges(given):
    with pytest.raises(OptionError) as caught:
        NvidiaOptions.parse(given)
    assert caught.value.remedy


def test_an_unknown_option_names_the_near_one():
    with pytest.raises(OptionError, match="maxnregs") as caught:
        NvidiaOptions.parse({"maxnregs": 64})
    assert "maxnreg" in caught.value.remedy
