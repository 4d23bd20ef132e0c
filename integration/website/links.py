"""Links of Markdown pages: which there are, and as what they stand in the site."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

__all__ = ["for_site", "linked", "targets"]

_FENCED = re.compile(r"^( *)```.*?^\1```", flags=re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def _prose(text: str) -> str:
    """``text`` with code blanked out, places kept."""
    for code in (_FENCED, _INLINE):
        text = code.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    return text


def targets(text: str) -> Iterator[str]:
    """Link targets of a page of ``text``, without code, and without places within pages."""
    for found in _LINK.finditer(_prose(text)):
        if "://" not in found[2] and not found[2].startswith(("#", "mailto:")):
            yield found[2].partition("#")[0]


def linked(pages: list[Path]) -> set[Path]:
    """Files and folders that ``pages`` link to, other than themselves."""
    return {
        file
        for page in pages
        for link in targets(page.read_text())
        if (file := Path(os.path.normpath(page.parent / link))) != page
    }


def for_site(text: str, page: Path, docs: Path) -> str:
    """``text`` of ``page`` as it stands in a site made from ``docs``: a tutorial's script is its page there.

    Of what lies elsewhere outside of ``docs`` the words stay, without the link.
    """
    prose = _prose(text)

    def place(found: re.Match[str]) -> str:
        link, mark, anchor = found[2].partition("#")
        blank = prose[found.start() : found.end()].find("](") < 0
        if blank or "://" in found[2] or not link:
            return found[0]
        file = Path(os.path.normpath(page.parent / link))
        if file.is_relative_to(docs.parent / "tutorials") and file.suffix == ".py":
            there = os.path.relpath(docs / "tutorials" / f"{file.stem}.md", page.parent)
            return f"[{found[1]}]({there}{mark}{anchor})"
        if file.is_relative_to(docs) and file.is_dir():
            return f"[{found[1]}]({link.rstrip('/')}/README.md)"
        return found[0] if file.is_relative_to(docs) else found[1]

    return _LINK.sub(place, text)
