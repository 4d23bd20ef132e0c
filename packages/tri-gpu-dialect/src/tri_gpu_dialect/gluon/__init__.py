"""Gluon: the language of kernels that say layouts, shared memory and barriers by hand.

It builds on :mod:`tri.language`, and is imported by :mod:`tri.experimental.gluon` only; see ``docs/design/gluon.md``.
"""

from __future__ import annotations
