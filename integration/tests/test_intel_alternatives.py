"""Statements of docs/design/intel.md on instructions that the backend does not use, against the driver's
compiler.
"""

from __future__ import annotations

import pytest

from integration.bench_intel_static import igc
from integration.bench_intel_static.alternatives import ALTERNATIVES, count, reduction, scan


@pytest.fixture(autouse=True)
def _needs_ocloc() -> None:
    if igc.ocloc() is None:
        pytest.skip("no ocloc: python -m integration.bench_intel_static.fetch_ocloc")


@pytest.mark.parametrize(("device", "lanes"), [("pvc", 16), ("pvc", 32), ("bmg", 16), ("dg2", 8)])
@pytest.mark.parametrize("rows", [1, 8])
def test_the_compiler_knows_a_reduction_by_its_shuffles(device: str, lanes: int, rows: int) -> None:
    ways = reduction(lanes)
    assert count(ways["shuffles"], device, lanes, rows) == count(ways["group"], device, lanes, rows)


def test_scans_of_groups_pay_in_wide_sub_groups_only() -> None:
    narrow, wide = scan(16), scan(32)
    assert count(narrow["group"], "pvc", 16, 8) >= count(narrow["shuffles"], "pvc", 16, 8)
    assert count(wide["group"], "pvc", 32, 8) < count(wide["shuffles"], "pvc", 32, 8)


@pytest.mark.parametrize("device", ["pvc", "bmg", "dg2"])
def test_a_split_barrier_has_another_fence(device: str) -> None:
    assert count(ALTERNATIVES["split barrier"], device) == count(ALTERNATIVES["barrier"], device) + 2


@pytest.mark.parametrize("device", ["pvc", "bmg", "lnl", "ptl"])
def test_rounding_to_tf32_is_an_instruction_where_dots_are(device: str) -> None:
    assert count(ALTERNATIVES["rounded to tf32"], device) <= count(ALTERNATIVES["none"], device)
    assert count(ALTERNATIVES["rounded to tf32 by integers"], device) > count(ALTERNATIVES["none"], device)


@pytest.mark.parametrize("device", ["dg2", "arl-h", "mtl", "xe-lp"])
def test_others_refuse_it(device: str) -> None:
    with pytest.raises(igc.Refused, match="SPV_INTEL_tensor_float32_conversion"):
        count(ALTERNATIVES["rounded to tf32"], device)
