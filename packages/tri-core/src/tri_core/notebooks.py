"""Display of our objects in notebooks: pieces of HTML, with all text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["html_table"]


def html_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> str:
    """A table with a heading for each of ``columns`` (none where they are empty) and the text of each cell; ``title`` above."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in cells)}</tr>" for cells in rows)
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    heading = f"<thead><tr>{head}</tr></thead>" if columns else ""
    return f"<table>{caption}{heading}<tbody>{body}</tbody></table>"
