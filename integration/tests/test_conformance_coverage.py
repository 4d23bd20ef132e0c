"""Every name that kernels use is reached by a row of the conformance kit, or has a reason; the document says which."""

from __future__ import annotations

import pytest

from integration.language import coverage


@pytest.fixture(scope="module")
def unreached() -> list[str]:
    return [name for name in coverage.wanted() if name not in coverage.reached()]


def test_every_name_is_reached_or_has_a_reason(unreached: list[str]) -> None:
    unexplained = [name for name in unreached if not coverage.reason(name)]
    assert unexplained == []


def test_no_reason_is_left_over(unreached: list[str]) -> None:
    """Neither for a name that is reached, nor for one that is not there."""
    used = {name for name in coverage.reasons() if not name.endswith(".*")}
    assert used <= set(unreached)


def test_what_only_the_language_calls_does_not_count() -> None:
    """A row reaches what its own kernel says: softmax is made of exp, and its row is none of exp's."""
    rows = coverage.reached()
    assert "methods-mathematics" in rows["tl.tensor.softmax"]
    assert "operators-reflected" in rows["tl.tensor.__rsub__"]
    assert "operators-reflected" not in rows["tl.exp"]
    assert rows["tl.extra.libdevice.tgamma"] == ("libdevice/tgamma",)


def test_the_document_is_up_to_date() -> None:
    assert coverage.DOCUMENT.read_text() == coverage.render(), "run python -m integration.language coverage"
