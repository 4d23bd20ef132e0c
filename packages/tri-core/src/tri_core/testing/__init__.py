"""Helpers for the tests of all packages."""

from __future__ import annotations

from tri_core.testing.filecheck import FileCheckError, filecheck

__all__ = ["FileCheckError", "filecheck"]
