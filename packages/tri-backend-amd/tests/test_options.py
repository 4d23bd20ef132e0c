"""Options of a launch as the backend's own."""

from __future__ import annotations

import pytest

from tri_backend_amd.options import AmdOptions, amd_options
from tri_core.api import CommonOptions, OptionError


def test_own_options_stay_as_they_are() -> None:
    options = AmdOptions(num_warps=8, waves_per_eu=2)
    assert amd_options(options) is options


def test_common_options_get_the_defaults_of_the_others() -> None:
    common = CommonOptions(num_warps=2, num_stages=4)
    assert amd_options(common) == AmdOptions(
        num_warps=2, num_stages=4, sanitize_overflow=common.sanitize_overflow
    )


@pytest.mark.parametrize("given", [{"matrix_instr_nonkdim": 8}, {"kpack": 3}])
def test_sizes_that_no_instruction_has_are_refused(given: dict[str, int]) -> None:
    with pytest.raises(OptionError, match=next(iter(given))):
        AmdOptions(**given)
