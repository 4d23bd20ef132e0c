"""The checks of modules that no op can do alone: dialects register them (:meth:`tri_core.mlir.IRRegistry.add_check`).

They run where text is parsed, after each pass of ``tri opt``, and after each pass of a compile under ``TRI_VERIFY``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tri_core.ir.markers import verify_markers
from tri_core.ir.regions import verify_regions

if TYPE_CHECKING:
    from tri_core.bindings import ir
    from tri_core.target import Target

__all__ = ["check_module", "verify_module"]


def check_module(module: ir.Module, target: Target | None = None) -> None:
    """Run the registered checks; VerificationError for what one of them refuses.  ``target``: that it is compiled for, if known."""
    from tri_core import mlir

    for place in mlir.registry.checks:
        name, _, function = place.partition(":")
        getattr(importlib.import_module(name), function)(module, target)


def verify_module(module: ir.Module, target: Target | None = None) -> None:
    """Check all that is to hold of a module between passes: MLIR's rules, control flow, markers, and what dialects registered.

    MLIRError or VerificationError.
    """
    from tri_core import mlir

    mlir.verify(module)
    verify_regions(module.operation)
    verify_markers(module)
    check_module(module, target)
