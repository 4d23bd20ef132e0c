"""The first levels of tri's conformance kit, by its pytest plugin; pyproject.toml names target and levels."""

from __future__ import annotations

from tri_conformance.suite import test_conformance, test_declarations

__all__ = ["test_conformance", "test_declarations"]
