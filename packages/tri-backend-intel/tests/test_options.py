"""Options of a launch as the backend's own."""

from __future__ import annotations

import pytest

from intel_support import target_of
from tri_backend_intel.options import IntelOptions, intel_options
from tri_backend_intel.pipeline import pipeline
from tri_core.api import CommonOptions, OutOfResources


def test_own_options_stay_as_they_are() -> None:
    options = IntelOptions(num_warps=8, grf_mode="large")
    assert intel_options(options) is options


def test_common_options_get_the_defaults_of_the_others() -> None:
    common = CommonOptions(num_warps=2, num_stages=4)
    assert intel_options(common) == IntelOptions(
        num_warps=2, num_stages=4, sanitize_overflow=common.sanitize_overflow
    )


@pytest.mark.parametrize(("arch", "size", "most"), [("pvc", 16, 32), ("bmg", 16, 32), ("dg2", 8, 64)])
def test_large_registers_halve_the_warps_of_a_core(arch: str, size: int, most: int) -> None:
    target = target_of(arch)
    pipeline(target, IntelOptions(warp_size=size, num_warps=most, grf_mode="large"))
    pipeline(target, IntelOptions(warp_size=size, num_warps=2 * most))
    with pytest.raises(OutOfResources, match=f"num_warps is {2 * most}.*runs {most} warps") as caught:
        pipeline(target, IntelOptions(warp_size=size, num_warps=2 * most, grf_mode="large"))
    assert f"num_warps={most}" in str(caught.value.remedy)


def test_a_cpu_has_no_registers_to_choose() -> None:
    pipeline(target_of("opencl-cpu"), IntelOptions(num_warps=64, grf_mode="large"))
