"""Pictures of layouts, for people: text, SVG and an interactive page."""

from __future__ import annotations

from tri_gpu_dialect.drawing.bases import LayoutBases, bases_of
from tri_gpu_dialect.drawing.ownership import Owner, Ownership, ownership_of, parse_encoding
from tri_gpu_dialect.drawing.page import draw_page
from tri_gpu_dialect.drawing.svg import draw_svg
from tri_gpu_dialect.drawing.text import WHATS, draw_text

__all__ = [
    "WHATS",
    "LayoutBases",
    "Owner",
    "Ownership",
    "bases_of",
    "draw_page",
    "draw_svg",
    "draw_text",
    "ownership_of",
    "parse_encoding",
]
