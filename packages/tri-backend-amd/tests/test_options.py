"""Options of a launch as the backend's own."""

from __future__ import annotations

import numpy as np
import pytest

import tri
import tri.language as tl
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


@tri.jit
def double(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)


@pytest.mark.parametrize("option", ["waves_per_eu", "matrix_instr_nonkdim", "kpack"])
def test_on_other_targets_they_have_no_effect(option: str) -> None:
    x = np.arange(16, dtype=np.float32)
    with tri.target("cpu"):
        double[(1,)](x, 16, BLOCK=16, **{option: 2})
    np.testing.assert_array_equal(x, 2 * np.arange(16))


@pytest.mark.parametrize("target", ["cpu", "amd:gfx942"])
def test_misspelt_ones_are_refused_with_the_near_one(target: str) -> None:
    source = tri.ASTSource(double, {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 16})
    with pytest.raises(OptionError, match="unknown option 'wave_per_eu'") as caught:
        tri.compile(source, target=target, options={"wave_per_eu": 2})
    assert caught.value.remedy == "did you mean waves_per_eu?"
