"""``docs/compat-names.md`` is what the layer has of Triton's names."""

from __future__ import annotations

import json

import pytest

import tri.compat.triton as compat
from integration.triton_names import page as pages

WHEEL = json.loads((pages.PAGE.parents[1] / "integration" / "triton_names" / "names.json").read_text())
#: what programs take from Triton: complete, or with a reason
WHOLE = (
    "triton",
    "triton.language",
    "triton.language.math",
    "triton.language.random",
    "triton.runtime",
    "triton.testing",
    "triton.knobs",
)


def test_the_page_is_what_is_there() -> None:
    assert pages.PAGE.read_text() == pages.page(), "run python -m integration.triton_names"


def test_it_is_of_the_version_that_stands_in() -> None:
    assert WHEEL["version"] == compat.VERSION


@pytest.mark.parametrize("module", WHOLE)
def test_public_modules_are_whole(module: str) -> None:
    with compat.installed():
        states = {
            name: pages.status(module, name, entry)
            for name, entry in WHEEL["modules"][module].items()
            if not name.startswith("_")
        }
    unexplained = {
        name: what for name, (word, what) in states.items() if word == "absent" and "tri has no" in what
    }
    assert not unexplained


def test_what_is_missing_is_seen() -> None:
    entry = {"kind": "class", "parameters": [], "attributes": ["no_such_attribute"]}
    with compat.installed():
        assert pages.status("triton", "jit", entry) == ("in part", "without `.no_such_attribute`")
        word, what = pages.status("triton.profiler", "start", {"kind": "function", "parameters": []})
    assert word == "absent"
    assert "profiler" in what
