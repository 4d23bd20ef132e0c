"""Parts of the language that may still change."""

from __future__ import annotations
