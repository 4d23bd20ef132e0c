"""The modules of the MLIR Python bindings, as they are; :mod:`tri_core.mlir` is their door to everything else.

``torch-mlir`` carries current upstream bindings; where the wheel named ``mlir`` is installed, it is preferred.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING

from tri_core.interrupts import deferred

__all__ = [
    "ROOT",
    "arith",
    "builtin",
    "cf",
    "ext",
    "func",
    "ir",
    "llvm",
    "math",
    "passmanager",
    "rewrite",
    "scf",
    "ub",
]


def _find_root() -> str:
    """The package that holds the bindings; a stray module or an empty package named ``mlir`` does not."""
    spec = importlib.util.find_spec("mlir")
    if spec is not None and spec.submodule_search_locations and importlib.util.find_spec("mlir.ir"):
        return "mlir"
    return "torch_mlir"


#: the package that holds them
ROOT = _find_root()

if TYPE_CHECKING:
    from torch_mlir import ir, passmanager, rewrite
    from torch_mlir.dialects import arith, builtin, cf, ext, func, llvm, math, scf, ub
else:
    # what defines itself here drops an exception of a signal's handler, or ends the process by it
    with deferred():
        ir = importlib.import_module(f"{ROOT}.ir")
        passmanager = importlib.import_module(f"{ROOT}.passmanager")
        rewrite = importlib.import_module(f"{ROOT}.rewrite")
        arith, builtin, cf, ext, func, llvm, math, scf, ub = (
            importlib.import_module(f"{ROOT}.dialects.{name}")
            for name in ("arith", "builtin", "cf", "ext", "func", "llvm", "math", "scf", "ub")
        )
