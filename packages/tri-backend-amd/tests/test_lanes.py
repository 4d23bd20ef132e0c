"""The exchanges between lanes, by what their instructions are documented to do."""

from __future__ import annotations

import numpy as np
import pytest

from tri_backend_amd.dialect.machine import dpp_source
from tri_backend_amd.lowering.lanes import dpp_control


@pytest.mark.parametrize("rdna", [False, True])
@pytest.mark.parametrize("mask", range(1, 16))
def test_a_dpp_move_is_the_xor_of_its_mask(mask: int, rdna: bool) -> None:
    control = dpp_control(mask, rdna)
    if control is None:
        assert not rdna
        assert mask in (4, 5, 6, 9, 10, 11, 12, 13, 14)
        return
    lanes = np.arange(64)
    np.testing.assert_array_equal(dpp_source(control, lanes), lanes ^ mask)


@pytest.mark.parametrize("rdna", [False, True])
@pytest.mark.parametrize("mask", [16, 24, 32, 63])
def test_dpp_stays_in_its_row(mask: int, rdna: bool) -> None:
    assert dpp_control(mask, rdna) is None
