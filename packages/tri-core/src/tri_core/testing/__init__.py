"""Helpers for the tests of all packages."""

from __future__ import annotations

from tri_core.testing.filecheck import FileCheckError, filecheck
from tri_core.testing.names import renamed
from tri_core.testing.passes import check_passes

__all__ = ["FileCheckError", "check_passes", "filecheck", "renamed"]
