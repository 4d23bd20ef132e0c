"""Planted faults of each layer are found by `tri verify`, and it says where they are."""

from __future__ import annotations

import pytest

from integration.verify.__main__ import alarms, found, is_named, seconds
from integration.verify.faults import FAULTS, Fault

#: the rest are run by ``python -m integration.verify``
_SOME = FAULTS[::3]


@pytest.mark.parametrize("fault", _SOME, ids=lambda fault: f"{fault.layer}, {fault.kernel}: {fault.name}")
def test_a_fault_is_found_and_named(fault: Fault) -> None:
    finding = found(fault)
    assert finding is not None
    assert is_named(fault, finding), finding


def test_there_are_faults_in_each_layer() -> None:
    assert {fault.layer for fault in FAULTS} == {"ttir", "ttgir", "text"}
    assert {fault.layer for fault in _SOME} == {"ttir", "ttgir", "text"}


def test_right_kernels_are_right() -> None:
    assert alarms(["nvidia:sm_80", "cpu"]) == []


def test_the_cost_is_that_of_a_cold_cache() -> None:
    assert seconds("matmul") > 0
