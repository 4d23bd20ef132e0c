"""Options that other backends tune by are accepted to no effect; misspelt ones are not."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tri_core import target_options
from tri_core.api import CommonOptions, OptionError
from tri_core.compiler import compile as compile_kernel
from tri_core.target_options import ignored_options, parse_options
from tri_core.target_selection import resolve

TUNED = """
@hookimpl
def tri_backends():
    return [BackendInfo(name="tuned", device_kinds=("tuned",), runtime="tuned", tuning_options=frozenset({"gears"}))]
"""


@pytest.fixture
def both(make_plugin: Any, activate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend without options of its own beside one that has ``gears``."""
    monkeypatch.setattr(target_options, "_noted", set())
    activate(make_plugin("toy", backend=True), make_plugin("tuned", TUNED, backend=True))


@pytest.mark.usefixtures("both")
def test_what_others_tune_by_is_left_out_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    target = resolve("toy:one")
    assert ignored_options(target) == {"gears"}
    with caplog.at_level(logging.WARNING):
        assert parse_options(target, {"gears": 3, "num_warps": 2}) == CommonOptions(num_warps=2)
        parse_options(target, {"gears": 4})
    assert [record.getMessage() for record in caplog.records] == [
        "option gears has no effect on toy:one: other targets have it"
    ]


@pytest.mark.usefixtures("both")
def test_it_is_the_same_kernel(source: Any) -> None:
    given = source()
    made = compile_kernel(given, "toy:one", {"gears": 3})
    assert compile_kernel(given, "toy:one") is made
    assert given.builds == 1


@pytest.mark.usefixtures("both")
def test_misspelt_ones_are_refused_with_the_near_one() -> None:
    with pytest.raises(OptionError, match="unknown option 'gear'") as caught:
        parse_options(resolve("toy:one"), {"gear": 3})
    assert caught.value.remedy == "did you mean gears?"


def test_without_that_backend_they_are_unknown(toy: Any) -> None:
    with pytest.raises(OptionError, match="unknown option 'gears'"):
        parse_options(resolve("toy:one"), {"gears": 3})
