"""Prose of the documentation is at most 110 columns wide, and wrapping changes nothing but breaks."""

from __future__ import annotations

from pathlib import Path

from integration.lints.prose import WIDTH, long_lines, pages, reflow

TOP = Path(__file__).resolve().parents[2]
LONG = "word " * 40


def test_pages_are_wrapped() -> None:
    found = [f"{page.relative_to(TOP)}:{n}" for page in pages(TOP) for n, _ in long_lines(page.read_text())]
    assert not found, f"run python -m integration.lints.prose: {found}"


def test_long_prose_is_found_and_wrapped() -> None:
    text = f"# Title\n\n{LONG.strip()}\n\n- {LONG.strip()}\n"
    assert [n for n, _ in long_lines(text)] == [3, 5]
    after = reflow(text)
    assert max(map(len, after.split("\n"))) <= WIDTH
    assert after.split() == text.split()
    assert not list(long_lines(after))


def test_tables_code_and_headings_stay() -> None:
    text = f"# {LONG}\n\n| {LONG} |\n\n```\n{LONG}\n```\n\n    {LONG}\n"
    assert reflow(text) == text
