"""``docs/published-operators.md`` is what its generator writes of the verdicts that were kept."""

from __future__ import annotations

import json

from integration.published.operators import page
from integration.published.operators.packages import DEFECTS, PACKAGES

RECORDS = json.loads(page.RESULTS.read_text())


def test_the_page_is_what_the_generator_writes() -> None:
    assert page.PAGE.read_text() == page.page(RECORDS), "run python -m integration.published.operators --save"


def test_three_hundred_operators_are_right_and_each_other_one_has_its_reason() -> None:
    assert {r["package"] for r in RECORDS} == set(PACKAGES)
    assert sum(r["state"] == "right" for r in RECORDS) >= 300
    assert len({(r["package"], r["name"]) for r in RECORDS}) == len(RECORDS)
    assert not [r for r in RECORDS if r["state"] != "right" and not r["reason"]]


def test_defects_are_of_operators_that_are_not_right() -> None:
    wrong = {f"{r['package']}/{r['name']}" for r in RECORDS if r["state"] != "right"}
    assert set(DEFECTS) <= wrong


def test_operators_that_are_no_longer_right_are_named() -> None:
    right = {"package": "p", "name": "a", "state": "right", "reason": ""}
    now = right | {"state": "wrong", "reason": "out"}
    assert page.worse([right], [right]) == []
    assert page.worse([now], [right]) == ["p/a: wrong: out"]
    assert page.worse([now], [now]) == []
