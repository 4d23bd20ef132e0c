"""Every name that kernels use is reached by a row of the conformance kit, or has a reason; the document says which."""

from __future__ import annotations

import pytest

import tri.language as tl
from integration.language import coverage, oracles


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


@pytest.mark.parametrize("name", oracles.public())
def test_every_name_has_an_oracle_over_every_type_that_it_takes(name: str) -> None:
    """A name is in the table of types or has a reason there, not both; a new name of the language is in neither."""
    types, reason = oracles.accepted(name), oracles.untyped().get(name)
    assert types or reason, f"{name} is not in integration/language/dtypes.toml: which types does it take?"
    assert not (types and reason)
    missing = sorted(types - oracles.tried(name))
    assert not missing, f"no row of the kit tries {name} with {', '.join(missing)}"


def test_no_type_is_given_for_a_name_that_is_not_there() -> None:
    known = set(oracles.public()) | {"tl.make_block_ptr"}
    assert set(oracles.table_names()) <= known


def test_types_are_those_of_the_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither an offset nor a mask counts, and a name that only the language calls does not either."""
    tried = oracles.tried("tl.tensor.__lshift__")
    assert "fp32" not in tried
    assert "fp8e5" not in oracles.tried("tl.tensor.__add__")  # pointers to fp8 are moved, not fp8 added
    assert "int1" not in oracles.tried("tl.fma")
    monkeypatch.setattr(tl, "__all__", [*tl.__all__, "new_function"])
    assert oracles.accepted("tl.new_function") == frozenset()
    assert "tl.new_function" in oracles.public()
    assert "tl.new_function" not in oracles.untyped()
