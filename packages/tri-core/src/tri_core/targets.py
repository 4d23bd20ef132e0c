"""The former name of :mod:`tri_core.target_selection`."""

from __future__ import annotations

from tri_core.target_selection import Spec, default, for_device, for_host, resolve

__all__ = ["Spec", "default", "for_device", "for_host", "resolve"]
