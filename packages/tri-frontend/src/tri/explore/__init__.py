"""``tri explore``: a kernel's source, IR after each pass and machine code on one page, with linked lines."""

from __future__ import annotations

from tri.explore.making import explore
from tri.explore.records import Column, Excerpt, Fact, Page, Picture, Tab, Version
from tri.explore.rendering import render

__all__ = ["Column", "Excerpt", "Fact", "Page", "Picture", "Tab", "Version", "explore", "render"]
