"""Exact passes: right kernels are equal to the last bit, and small faults that values hide are found, with their pass."""

from __future__ import annotations

from typing import Any

import pytest

import tri
import tri.language as tl
from integration.verify.kernels import TRIALS
from integration.verify.small_faults import SMALL_FAULTS
from tri.verifying import trial_of, verify

TARGETS = ("nvidia:sm_90a", "amd:gfx942", "intel:pvc")


@pytest.mark.parametrize("name", ["gather", "softmax", "attention"])
def test_right_kernels_are_equal(name: str) -> None:
    report = verify(TRIALS[name], TARGETS, exact=True)
    assert [each.verdict for each in report.findings] == ["equal"] * 3, list(map(str, report.findings))
    assert report.findings[0].level == "sim:nvidia:sm_90a:level=exact"


@pytest.mark.parametrize("place", [0, -1])
def test_a_fault_that_values_hide_is_found(place: int) -> None:
    fault = SMALL_FAULTS[place]
    with fault.planted():
        by_value = verify(TRIALS[fault.kernel], ["nvidia:sm_80"])
        exactly = verify(TRIALS[fault.kernel], ["nvidia:sm_80"], exact=True)
    assert not by_value.having("wrong")
    (wrong,) = exactly.having("wrong")
    assert wrong.difference is not None
    assert (f"pass {fault.step!r}" if fault.step else "the lowering") in wrong.step


@tri.jit
def eight_bits(x: Any, out: Any) -> None:
    i = tl.arange(0, 64)
    tl.store(out + i, tl.load(x + i).to(tl.float8e5).to(tl.float32))


@tri.jit
def added(x: Any, out: Any, half: Any) -> None:
    i = tl.arange(0, 64)
    tl.atomic_add(out + i % 8, tl.load(x + i) * half)
    tl.store(out + 64 + i, (tl.load(x + i) / 3.0).to(tl.bfloat16).to(tl.float32) + (i * 0.5))


def test_what_has_no_meaning_is_refused() -> None:
    report = verify(trial_of(eight_bits, "*fp32:16, *fp32:16"), TARGETS[:1], exact=True)
    (finding,) = report.findings
    assert finding.verdict == "refused"
    assert "no exact arithmetic" in finding.reason


@pytest.mark.parametrize(
    ("target", "verdict"), list(zip(TARGETS, ("equal", "refused", "equal"), strict=True))
)
def test_atomics_divisions_and_casts_are_equal_or_refused(target: str, verdict: str) -> None:
    report = verify(trial_of(added, "*fp32:16, *fp32:16, fp32", values={"half": 0.5}), [target], exact=True)
    (finding,) = report.findings
    assert finding.verdict == verdict, str(finding)
    assert verdict == "equal" or "amdg.raw_buffer_atomic" in finding.reason
