"""The door to the package that has layouts: :func:`require_layouts`."""

from __future__ import annotations

import importlib.util

from tri_core.errors import OptionError

__all__ = ["require_layouts"]


def require_layouts() -> None:
    """OptionError that says what to install where the package of layouts is missing."""
    if importlib.util.find_spec("tri_gpu_dialect") is None:
        raise OptionError(
            "Gluon is the language of GPUs' layouts, and tri-gpu-dialect is not installed",
            remedy="install tri-gpu-dialect, or a backend that needs it",
        )
