"""Docstrings of public functions give shapes, dtypes and errors; those of classes their arguments."""

from __future__ import annotations

import ast

import pytest

from integration.lints.docstrings import NOT_ASKED, documented, findings, lacking, lacks, unnamed

ALL = ("shapes", "dtypes", "errors")


def test_every_public_name_says_them() -> None:
    assert findings() == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["shapes", "dtypes", "errors"]),
        ("The sum.", ["shapes", "dtypes", "errors"]),
        ("The sum of ``x`` and ``y``, of one shape.", ["dtypes", "errors"]),
        ("The fp32 sum along ``axis``.", ["errors"]),
        ("The fp32 sum along ``axis``; CompilationError where there is none.", []),
        ("The fp32 sum along ``axis``; Unsupported where there is none.", []),  # an error of tri_core.errors
        ("Reshaped, printed, terror.", ["shapes", "dtypes", "errors"]),  # parts of words
    ],
)
def test_what_a_docstring_lacks(text: str, expected: list[str]) -> None:
    assert lacking(text, ALL) == expected


def test_only_what_is_asked_for() -> None:
    assert lacking("The sum.", ("errors",)) == ["errors"]


def test_what_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("integration.lints.docstrings.NOT_ASKED", {"tri.no_such_function": ("errors",)})
    found = findings()
    assert "tri.no_such_function: in NOT_ASKED, but no public function" in found
    assert {name for name, _ in lacks()} == set(NOT_ASKED)  # each of them is needed


def test_all_names_are_counted() -> None:
    complete, count = documented()
    assert complete == count > 300
    assert not lacks()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class A:\n    'The ``x``.'\n    def __init__(self, x, *, y): ...", ["y"]),
        ("class A:\n    'Made elsewhere, made by :func:`a`.'\n    def __init__(self, x): ...", []),
        (
            "@dataclass(frozen=True)\nclass A:\n    'A.'\n    x: int\n    _y: int\n    z: ClassVar[int] = 3",
            ["x"],
        ),
        ("class A:\n    'No record.'\n    x: int", []),
    ],
)
def test_arguments_that_a_class_does_not_name(text: str, expected: list[str]) -> None:
    (definition,) = ast.parse(text).body
    assert isinstance(definition, ast.ClassDef)
    assert unnamed([definition]) == expected
