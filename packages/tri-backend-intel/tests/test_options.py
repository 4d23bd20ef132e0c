"""Options of a launch as the backend's own."""

from __future__ import annotations

from tri_backend_intel.options import IntelOptions, intel_options
from tri_core.api import CommonOptions


def test_own_options_stay_as_they_are() -> None:
    options = IntelOptions(num_warps=8, grf_mode="large")
    assert intel_options(options) is options


def test_common_options_get_the_defaults_of_the_others() -> None:
    common = CommonOptions(num_warps=2, num_stages=4)
    assert intel_options(common) == IntelOptions(
        num_warps=2, num_stages=4, sanitize_overflow=common.sanitize_overflow
    )
