"""Commands for the conformance kit in documents and generated projects select cases."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tri_conformance import Selection, cases
from tri_conformance.cli import arguments_for, command_line

ROOT = Path(__file__).parents[2]
_FILES = ("README.md", "docs", "packages", "integration/toy_backend", "noxfile.py")
_SUFFIXES = {".md", ".jinja", ".toml", ".py", ".yml", ".yaml"}
_SELECT = re.compile(r"--(?:tri-)?select[= ]+(['\"]?)([^'\"\s`]+/[^'\"\s`]+)\1")
_LEVEL = re.compile(r"--(?:tri-)?level[= ]+(['\"]?)([a-z,]+)\1")


def _texts() -> list[tuple[str, str]]:
    """Line by line, what documents, help and generated files say of the kit: place and text."""
    listed = subprocess.run(
        ["git", "ls-files", *_FILES], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = [n for n in listed.stdout.splitlines() if Path(n).suffix in _SUFFIXES and "/tests/" not in n]
    lines = [(n, line) for n in names for line in (ROOT / n).read_text(encoding="utf-8").splitlines()]
    return [*lines, ("--help", " ".join(command_line().format_help().split()))]


def _examples() -> list[tuple[str, str, tuple[str, ...]]]:
    """Place, levels (may be empty) and globs of each example."""
    found = []
    for place, text in _texts():
        globs = tuple(m[2] for m in _SELECT.finditer(text))
        levels = ",".join(m[2] for m in _LEVEL.finditer(text))
        if globs or levels:
            found.append((place, levels, globs))
    return found


EXAMPLES = _examples()


@cache
def _selected(levels: str, globs: tuple[str, ...]) -> int:
    return len(cases(Selection.of(levels, globs, 1))[0])


def test_there_are_examples() -> None:
    places = {place for place, _, _ in EXAMPLES}
    assert {"--help", "docs/backends.md", "packages/tri-conformance/README.md"} <= places
    assert any("scaffolding" in place for place in places)


@pytest.mark.parametrize(("place", "levels", "globs"), EXAMPLES)
def test_an_example_selects_cases(place: str, levels: str, globs: tuple[str, ...]) -> None:
    assert _selected(levels, globs), place


def test_the_command_passes_on_what_it_was_given() -> None:
    given = command_line().parse_args(
        ["--target", "cpu", "--level", "language", "--select", "language/exp/*"]
    )
    assert {"--tri-level=language", "--tri-select=language/exp/*"} <= set(arguments_for(given))
