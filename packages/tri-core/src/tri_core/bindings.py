"""The modules of the MLIR Python bindings, as they are; :mod:`tri_core.mlir` is their door to everything else.

``torch-mlir`` carries current upstream bindings; where the wheel named ``mlir`` is installed, it is preferred.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from tri_core.interrupts import deferred
from tri_core.lazy_modules import absent, lazy_module

__all__ = [
    "ROOT",
    "arith",
    "bufferization",
    "builtin",
    "cf",
    "ext",
    "func",
    "ir",
    "linalg",
    "llvm",
    "math",
    "memref",
    "passmanager",
    "rewrite",
    "scf",
    "tensor",
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
    from torch_mlir.dialects import (
        arith,
        bufferization,
        builtin,
        cf,
        ext,
        func,
        linalg,
        llvm,
        math,
        memref,
        scf,
        tensor,
        ub,
    )
    from torch_mlir.dialects.llvm import translate_module_to_llvmir
else:
    # what defines itself here drops an exception of a signal's handler, or ends the process by it
    with deferred():
        # NumPy takes longer than they do, and serves four of their builders, which are made below
        with absent("numpy"):
            ir = importlib.import_module(f"{ROOT}.ir")
        passmanager = importlib.import_module(f"{ROOT}.passmanager")
        rewrite = importlib.import_module(f"{ROOT}.rewrite")
        arith, builtin, cf, ext, func, math, scf, ub = (
            importlib.import_module(f"{ROOT}.dialects.{name}")
            for name in ("arith", "builtin", "cf", "ext", "func", "math", "scf", "ub")
        )
        # its classes take longer than all else here, and passes go by the names of its ops
        llvm = lazy_module(f"{ROOT}.dialects.llvm", deferred)
        # for who leaves TTIR for them
        bufferization, linalg, memref, tensor = (
            lazy_module(f"{ROOT}.dialects.{name}", deferred)
            for name in ("bufferization", "linalg", "memref", "tensor")
        )
        translate_module_to_llvmir = importlib.import_module(
            f"{ROOT}._mlir_libs._mlirDialectsLLVM"
        ).translate_module_to_llvmir


def _build_elements(dtype: str, type_: Any) -> Any:
    def build(values: Any, context: Any) -> ir.DenseElementsAttr:
        import numpy as np

        array = np.array(values, dtype=dtype)
        return ir.DenseElementsAttr.get(array, type=type_(context), context=context)

    return build


def _add_builders() -> None:
    """The builders of attributes by NumPy that the bindings have where it is imported already."""
    for kind, dtype, type_ in (
        ("F64ElementsAttr", "float64", lambda context: ir.F64Type.get(context=context)),
        ("I32ElementsAttr", "int32", lambda context: ir.IntegerType.get_signless(32, context=context)),
        ("I64ElementsAttr", "int64", lambda context: ir.IntegerType.get_signless(64, context=context)),
        ("IndexElementsAttr", "int64", lambda context: ir.IndexType.get(context=context)),
    ):
        if not ir.AttrBuilder.contains(kind):
            ir.AttrBuilder.insert(kind, _build_elements(dtype, type_))


_add_builders()
