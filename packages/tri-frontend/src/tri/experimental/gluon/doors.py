"""The one door to the package that has the language: :func:`part`."""

from __future__ import annotations

import importlib
from types import ModuleType

from tri_core.errors import OptionError

__all__ = ["part"]


def part(name: str) -> ModuleType:
    """Module ``name`` of the language; OptionError that says what to install where it is missing."""
    try:
        return importlib.import_module(f"tri_gpu_dialect.gluon.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("tri_gpu_dialect"):
            raise
        raise OptionError(
            "Gluon is the language of GPUs' layouts, and tri-gpu-dialect is not installed",
            remedy="install tri-gpu-dialect, or a backend that needs it",
        ) from error
