"""The core of tri: hook contract, plugin manager, targets, the Triton dialect, compile driver and cache."""

from __future__ import annotations

__version__ = "0.4.0"
__all__ = ["__version__"]
