"""The judge: nothing but a declaration excuses a case, and a declaration must hold."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tri_conformance.case import Case, Needs
from tri_conformance.contracts import Inaccurate
from tri_conformance.judge import Declaration, faults_of, judge, unused
from tri_conformance.subject import Subject
from tri_core.api import Accuracy, ConformanceProfile, DeviceError, Gap, KnownFailure, Unsupported

LATER, BEFORE = "2999-01-01", "2020-01-01"


NOTHING = Needs()


def gap(**changes: str) -> Gap:
    return Gap(**{"test": "language/*", "reason": "no", "remedy": "do else", "expires": LATER, **changes})


def failure(**changes: str) -> KnownFailure:
    return KnownFailure(**{"test": "language/*", "reason": "wrong", "expires": LATER, **changes})


def accuracy(ulp: float = 16, **changes: str) -> Accuracy:
    return Accuracy(**{"test": "language/*", "reason": "fast", **changes}, ulp=ulp)


def verdict(raised: BaseException | None, *entries: Declaration, needs: Needs = NOTHING) -> tuple[str, str]:
    def run(subject: Subject) -> None:
        if raised is not None:
            raise raised

    subject = Subject("cpu")
    profile = ConformanceProfile(
        gaps=[e for e in entries if isinstance(e, Gap)],
        known_failures=[e for e in entries if isinstance(e, KnownFailure)],
        accuracy=[e for e in entries if isinstance(e, Accuracy)],
    )
    vars(subject)["profile"] = profile
    result = judge(Case("language", "feature", "point", run, needs), subject)
    return result.verdict, result.detail


def skips() -> BaseException:
    with pytest.raises(pytest.skip.Exception) as caught:
        pytest.skip("I would rather not")
    return caught.value


@pytest.mark.parametrize(
    ("raised", "declared", "expected"),
    [
        (None, [], "passed"),
        (AssertionError("wrong"), [], "failed"),
        (Unsupported("cannot"), [], "failed"),  # an undeclared refusal
        (skips(), [], "failed"),
        (Unsupported("cannot"), [gap()], "gap"),
        (AssertionError("wrong"), [gap()], "failed"),  # a gap is no licence for wrong results
        (DeviceError("crashed"), [gap()], "failed"),
        (None, [gap()], "failed"),  # closed: the declaration must go
        (AssertionError("wrong"), [failure()], "known-failure"),
        (None, [failure()], "failed"),
        (Unsupported("cannot"), [gap(expires=BEFORE)], "failed"),
        (AssertionError("wrong"), [failure(expires=BEFORE)], "failed"),
        (AssertionError("wrong"), [failure(expires="someday")], "failed"),
        (AssertionError("wrong"), [failure(reason=" ")], "failed"),
        (Unsupported("cannot"), [gap(remedy="")], "failed"),
        (AssertionError("wrong"), [failure(test="static/*")], "failed"),
        (Inaccurate("far", 12.9), [], "failed"),
        (Inaccurate("far", 12.9), [accuracy()], "passed"),
        (Inaccurate("far", 16.1), [accuracy()], "failed"),
        (None, [accuracy()], "failed"),  # not needed: the declaration must go
        (AssertionError("wrong"), [accuracy()], "failed"),  # no licence for wrong results
        (Unsupported("cannot"), [accuracy()], "failed"),
        (Inaccurate("far", 12.9), [accuracy(reason="")], "failed"),
        (Inaccurate("far", 12.9), [accuracy(float("inf"))], "failed"),
        (Inaccurate("far", 12.9), [accuracy(-1)], "failed"),
    ],
)
def test_verdicts(raised: Any, declared: Any, expected: str) -> None:
    found, detail = verdict(raised, *declared)
    assert found == expected, detail


def test_what_the_spec_does_not_declare_is_not_asked() -> None:
    assert verdict(AssertionError("asked"), needs=Needs(dtypes=("fp128",)))[0] == "not-applicable"
    assert verdict(None, needs=Needs(dtypes=("fp32", "int32")))[0] == "passed"
    assert verdict(AssertionError("asked"), needs=Needs(limits=("registers",)))[0] == "not-applicable"
    assert verdict(AssertionError("asked"), needs=Needs(encodings=True))[0] == "not-applicable"


def test_declarations_for_no_case_are_found() -> None:
    case = Case("language", "dot", "fp32", lambda subject: None)
    profile = ConformanceProfile(gaps=[gap(), gap(test="language/dott/*")], accuracy=[accuracy(test="x")])
    assert unused(profile, [case]) == ["language/dott/*", "x"]


def test_a_declaration_holds_on_its_last_day() -> None:
    import datetime as dt

    entry = dataclasses.replace(failure(), expires="2026-11-21")
    assert not faults_of(entry, dt.date(2026, 11, 21))
    assert "expired" in faults_of(entry, dt.date(2026, 11, 22))
