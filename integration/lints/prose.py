"""Prose of the documentation has at most 110 columns: ``python -m integration.lints.prose`` wraps what is longer.

Tables, headings, code and pictures stay as they are, and so do pages that are generated.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

__all__ = ["WIDTH", "long_lines", "pages", "reflow"]

WIDTH = 110
#: pages and folders that programs write
_GENERATED = re.compile(r"docs/(passes|conformance)/|docs/(walk|language|compat)[^/]*\.md$")
_ITEM = re.compile(r"^(\s*)([-*]|\d+\.) +")
_NO_PROSE = ("|", "#", "<", "![")
_STARTS = re.compile(r"^\s*([-*+]|\d+\.|#+|>|\|)(\s|$)")


def pages(top: Path) -> list[Path]:
    """The pages of the repository at ``top`` that people write."""
    found = [top / "README.md", *sorted((top / "docs").rglob("*.md"))]
    return [page for page in found if not _GENERATED.match(page.relative_to(top).as_posix())]


def long_lines(text: str) -> Iterator[tuple[int, str]]:
    """Number and text of lines that :func:`reflow` would break."""
    kept = set(reflow(text).split("\n"))
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > WIDTH and line not in kept:
            yield number, line


def reflow(text: str) -> str:
    """``text`` with paragraphs and items that have a line over :data:`WIDTH` wrapped; the words stay the same."""
    done: list[str] = []
    for block, prose in _blocks(text.split("\n")):
        too_long = prose and any(len(line) > WIDTH for line in block)
        done += _wrapped(block) if too_long else block
    return "\n".join(done)


def _blocks(lines: list[str]) -> Iterator[tuple[list[str], bool]]:
    """Runs of lines, and whether they are one paragraph or item of prose."""
    paragraph: list[str] = []
    fenced = False
    for line in lines:
        fence = line.lstrip().startswith("```")
        indented = not paragraph and line.startswith("    ")
        if fence or fenced or indented or not line.strip() or line.lstrip().startswith(_NO_PROSE):
            yield paragraph, True
            yield [line], False
            paragraph = []
            fenced ^= fence
            continue
        if _ITEM.match(line):
            yield paragraph, True
            paragraph = []
        paragraph.append(line)
    yield paragraph, True


def _wrapped(lines: list[str]) -> list[str]:
    """One paragraph or item; as it was where a break would begin an item or a heading."""
    item = _ITEM.match(lines[0])
    first = item[0] if item else lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    text = " ".join([lines[0][len(first) :].strip(), *(line.strip() for line in lines[1:])])
    # code and links are not broken
    text = re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)", lambda found: found[0].replace(" ", "\0"), text)
    wrapped = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
    if any(_STARTS.match(line) for line in wrapped[1:]):
        return lines
    return [line.replace("\0", " ") for line in wrapped]


def main() -> None:
    """Wrap the pages of this repository."""
    for page in pages(Path(__file__).resolve().parents[2]):
        page.write_text(reflow(page.read_text()))


if __name__ == "__main__":
    main()
