"""Errors of Triton's that have no place in tri's own tree."""

from __future__ import annotations

from tri_core.errors import TriError

__all__ = ["InterpreterError"]


class InterpreterError(TriError):
    """A kernel failed in the interpreter."""
