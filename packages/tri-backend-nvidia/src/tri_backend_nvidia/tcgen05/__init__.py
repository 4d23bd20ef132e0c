"""Dots whose accumulators are in tensor memory (``tcgen05``): encodings, ops, the passes that place them, lowering rules."""

from __future__ import annotations
