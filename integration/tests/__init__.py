"""Tests that need several packages."""
