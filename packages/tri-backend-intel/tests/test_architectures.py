from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tri_backend_intel.architectures import ARCHITECTURES, target
from tri_backend_intel.knobs import parse_names
from tri_backend_intel.options import IntelOptions
from tri_backend_intel.pipeline import pipeline, policy
from tri_backend_intel.runtime.architecture import architecture_of
from tri_backend_intel.spirv.extensions import check_extensions
from tri_core import knobs
from tri_core.api import DeviceInfo, OptionError, TargetError, TargetKey
from tri_core.occupancy import occupancy
from tri_gpu_dialect.stage import threads_per_warp


def test_occupancy_without_registers() -> None:
    unit = target(TargetKey("intel", "pvc"), None).spec.unit
    assert unit is not None
    found = occupancy(unit, warps=8, registers=None, shared=48 * 1024)
    assert (found.blocks, found.max_warps, found.limit, found.unknown) == (2, 64, "shared", ("registers",))
    assert target(TargetKey("intel", "opencl-cpu"), None).spec.unit is None


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_spec_is_data(name: str) -> None:
    spec = target(TargetKey("intel", name), None).spec
    assert json.loads(json.dumps(spec.to_json())) == spec.to_json()
    assert spec.llvm is not None
    assert spec.llvm.triple.startswith("spirv64")
    assert spec.limits["shared"] >= 65536


def test_what_sets_the_architectures_apart() -> None:
    made = {n: target(TargetKey("intel", n), None) for n in ARCHITECTURES}
    assert {n for n, t in made.items() if t.has("dpas")} == {"pvc", "bmg", "lnl", "ptl", "dg2"}
    assert {d.n for d in made["pvc"].spec.dot} == {16}
    assert {d.n for d in made["dg2"].spec.dot} == {8}
    assert "fp64" not in made["dg2"].spec.dtypes
    assert made["bmg"].has("2d-block-io")
    assert not made["arl-h"].has("2d-block-io")
    assert made["opencl-cpu"].spec.threads_per_warp == (16, 8, 4, 32, 64)
    assert all(t.spec.threads_per_warp[0] == 16 for t in made.values())


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_features_are_what_is_built(name: str) -> None:
    made = target(TargetKey("intel", name), None)
    assert made.has("dpas") == bool(policy(made, IntelOptions()).dots.instructions) == bool(made.spec.dot)
    stages = pipeline(made, IntelOptions()).stages
    assert made.has("2d-block-io") == any("FoldTiles(" in s.passes.text() for s in stages if s.passes)


def test_a_misspelt_extension_is_an_error() -> None:
    with pytest.raises(TargetError, match="names SPV_INTEL_2d_block_oi") as caught:
        replace(ARCHITECTURES["pvc"], extensions=("SPV_INTEL_2d_block_oi",))
    assert "SPV_INTEL_2d_block_io" in str(caught.value.remedy)
    for row in ARCHITECTURES.values():
        check_extensions(row.name, row.spirv_extensions)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_no_driver_adds_f16_in_memory(name: str) -> None:
    """No driver's compiler takes the extension, so code must not be allowed it."""
    assert not target(TargetKey("intel", name), None).has("SPV_EXT_shader_atomic_float16_add")


@pytest.mark.parametrize(
    ("extension", "lost"),
    [
        ("SPV_INTEL_subgroup_matrix_multiply_accumulate", {"dpas"}),
        ("SPV_INTEL_2d_block_io", {"2d-block-io"}),
        ("SPV_INTEL_bfloat16_conversion", set()),
        ("SPV_INTEL_cache_controls", set()),
        ("SPV_INTEL_inline_assembly", set()),
        ("SPV_INTEL_subgroups", set()),
    ],
)
def test_a_target_does_without_what_a_driver_lacks(extension: str, lost: set[str]) -> None:
    whole = target(TargetKey("intel", "pvc"), None)
    with knobs.scope(INTEL_WITHOUT=(extension,)):
        made = target(TargetKey("intel", "pvc"), None)
    assert whole.spec.features - made.spec.features >= {extension, *lost}
    assert bool(made.spec.dot) == bool(policy(made, IntelOptions()).dots.instructions) == ("dpas" not in lost)
    if extension != "SPV_INTEL_subgroup_matrix_multiply_accumulate":
        assert whole.spec.features - made.spec.features == {extension, *lost}
    else:  # operands of its instructions are all that blocks are for
        assert not made.has("2d-block-io")


def test_extensions_to_do_without_are_names_that_llvm_knows() -> None:
    assert parse_names("SPV_INTEL_subgroups, SPV_KHR_shader_clock") == (
        "SPV_INTEL_subgroups",
        "SPV_KHR_shader_clock",
    )
    assert parse_names("") == ()
    with pytest.raises(ValueError, match="SPV_INTEL_subgroups"):
        parse_names("SPV_INTEL_subgroup")


def test_a_bare_vendor_means_the_device() -> None:
    device = DeviceInfo("sycl", 0, "bmg", "Arc B580")
    assert target(TargetKey("intel"), device).key == TargetKey("intel", "bmg")


def test_no_device_and_no_name() -> None:
    with pytest.raises(TargetError, match="no Intel device is present") as caught:
        target(TargetKey("intel"), None)
    assert "tri-backend-intel[cpu]" in str(caught.value.remedy)


def test_an_unknown_name_tells_the_near_ones() -> None:
    with pytest.raises(TargetError) as caught:
        target(TargetKey("intel", "bmp"), None)
    assert "did you mean bmg" in str(caught.value.remedy)


def test_features_are_refused() -> None:
    with pytest.raises(TargetError, match="no optional features"):
        target(TargetKey.parse("intel:pvc+dpas"), None)


def test_sub_group_sizes() -> None:
    made = target(TargetKey("intel", "pvc"), None)
    assert threads_per_warp(made, IntelOptions()) == 16
    assert threads_per_warp(made, IntelOptions(warp_size=32)) == 32
    with pytest.raises(OptionError, match="warp_size is 8"):
        threads_per_warp(made, IntelOptions(warp_size=8))


def test_options_are_checked() -> None:
    with pytest.raises(OptionError, match="grf_mode"):
        IntelOptions(grf_mode="huge")


@pytest.mark.parametrize(
    ("device", "name"),
    [(0x0BD5, "pvc"), (0xE20B, "bmg"), (0x64A0, "lnl"), (0x56A0, "dg2"), (0x7D51, "arl-h"), (0x7D55, "mtl")],
)
def test_devices_are_known_by_their_pci_id(device: int, name: str) -> None:
    assert architecture_of(device, [16, 32]) == name


def test_an_unlisted_gpu_gets_the_nearest() -> None:
    assert architecture_of(0xFFFF, [8, 16, 32]) == "xe-lp"
    assert architecture_of(0xFFFF, [16, 32]) == "ptl"


def test_lanes_of_a_cpu_access_one_element_each() -> None:
    made = {n: policy(target(TargetKey("intel", n), None), IntelOptions()) for n in ("opencl-cpu", "bmg")}
    assert [made[n].vector_bits(32, "global") for n in made] == [32, 128]
    assert made["opencl-cpu"].vector_bits(8, "global") == 8
