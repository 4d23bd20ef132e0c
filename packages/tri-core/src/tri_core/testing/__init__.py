"""Helpers for the tests of all packages."""

from __future__ import annotations

from tri_core.testing.filecheck import FileCheckError, filecheck
from tri_core.testing.names import renamed

__all__ = ["FileCheckError", "filecheck", "renamed"]
