"""The modules of the MLIR Python bindings, as they are; :mod:`tri_core.mlir` is their door to everything else.

``torch-mlir`` carries current upstream bindings; where the wheel named ``mlir`` is installed, it is preferred.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING

from tri_core.interrupts import deferred
from tri_core.lazy_modules import lazy_module

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
    "translate_module_to_llvmir",
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
    from torch_mlir.dialects.llvm import translate_module_to_llvmir
else:
    # what defines itself here drops an exception of a signal's handler, or ends the process by it
    with deferred():
        ir = importlib.import_module(f"{ROOT}.ir")
        passmanager = importlib.import_module(f"{ROOT}.passmanager")
        rewrite = importlib.import_module(f"{ROOT}.rewrite")
        arith, builtin, cf, ext, func, math, scf, ub = (
            importlib.import_module(f"{ROOT}.dialects.{name}")
            for name in ("arith", "builtin", "cf", "ext", "func", "math", "scf", "ub")
        )
        # its classes take longer than all else here, and passes go by the names of its ops
        llvm = lazy_module(f"{ROOT}.dialects.llvm", deferred)
        translate_module_to_llvmir = importlib.import_module(
            f"{ROOT}._mlir_libs._mlirDialectsLLVM"
        ).translate_module_to_llvmir
