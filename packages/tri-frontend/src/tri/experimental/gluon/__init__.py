"""Gluon, the explicit level: kernels that say layouts, shared memory and barriers by hand.

The language, ``tri.experimental.gluon.language``, needs the package ``tri-gpu-dialect``, which has the layouts.
"""

from __future__ import annotations

import importlib.util
from typing import Any

from tri.experimental.gluon.kernel import GluonASTSource, GluonJITFunction, jit
from tri.language.aggregate import aggregate
from tri.language.builtin import constexpr_function
from tri.language.elementwise import must_use_result
from tri_core.plugins import manager

__all__ = [
    "GluonASTSource",
    "GluonJITFunction",
    "aggregate",
    "constexpr_function",
    "jit",
    "must_use_result",
]


def __getattr__(name: str) -> Any:
    """A vendor's names for host code: ``gluon.VENDOR``."""
    if not name.startswith("__"):
        for extension in manager().languages():
            if extension.namespace == f"gluon.{name}" and importlib.util.find_spec(
                f"{extension.module}.host"
            ):
                return importlib.import_module(f"{extension.module}.host")
    raise AttributeError(f"module 'tri.experimental.gluon' has no attribute {name!r}")
