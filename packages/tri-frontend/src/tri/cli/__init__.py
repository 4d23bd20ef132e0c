"""The ``tri`` command."""

from __future__ import annotations

from tri.cli.app import main

__all__ = ["main"]
