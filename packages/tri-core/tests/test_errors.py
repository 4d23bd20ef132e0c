"""Errors: every one says what to do, and crosses processes whole."""

from __future__ import annotations

import copy
import pickle

import pytest

from tri_core import errors
from tri_core.errors import OutOfResources, SourceLocation, ToolchainError, TriError

CLASSES = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, TriError)]
PLACE = SourceLocation("k.py", 3, 4, "    x = y", (SourceLocation("main.py", 9),))


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("cross", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
def test_every_error_pickles(kind: type[TriError], cross: object) -> None:
    error = kind(
        "went wrong", remedy="do this", location=PLACE, need=3, log="text", plugin="p", returncode=None
    )
    error.during = "stage 'x'"
    error.add_note("a note")
    assert callable(cross)
    thawed = cross(error)
    assert type(thawed) is kind
    assert str(thawed) == str(error)
    assert thawed.args == ("went wrong",)
    assert vars(thawed) == vars(error)
    assert thawed.__notes__ == ["a note"]


def test_every_error_is_in_the_api() -> None:
    from tri_core import api

    assert {c.__name__ for c in CLASSES} <= set(api.__all__)
    assert {c.__name__ for c in CLASSES} <= set(errors.__all__)


def test_an_error_reads_from_what_to_what_to_do() -> None:
    error = OutOfResources("too much", remedy="less", location=PLACE, need=3)
    error.during = "stage 'x' of kernel 'k' for t"
    assert str(error).splitlines() == [
        "too much",
        "  at k.py:3:5",
        "        x = y",
        "        ^",
        "  called from main.py:9:1",
        "  in stage 'x' of kernel 'k' for t",
        "  remedy: less",
    ]


def test_the_least_error_is_its_message() -> None:
    assert str(ToolchainError("no tool")) == "no tool"


def test_a_cause_is_not_needed_to_pickle() -> None:
    error = ToolchainError("outer")
    error.__cause__ = ValueError("inner")
    assert str(pickle.loads(pickle.dumps(error))) == "outer"
