"""Passes over TTIR, and the stage that runs them."""

from __future__ import annotations

import warnings
from typing import Any

from tri_core.mlir import registry
from tri_core.passes.base import Pass
from tri_core.passes.canonicalize import Canonicalize
from tri_core.passes.cf_to_scf import CfToScf
from tri_core.passes.combine import Combine
from tri_core.passes.cse import CSE
from tri_core.passes.decompose_dot_scaled import DecomposeDotScaled
from tri_core.passes.decompose_ops import DecomposeOps
from tri_core.passes.inline import Inline
from tri_core.passes.licm import LICM
from tri_core.passes.loop_aware_cse import LoopAwareCSE
from tri_core.passes.loop_peel import LoopPeel
from tri_core.passes.loop_unroll import LoopUnroll
from tri_core.passes.promote_pointer_tiles import PromotePointerTiles
from tri_core.passes.remove_dead_iter_args import RemoveDeadIterArgs
from tri_core.passes.reorder_broadcast import ReorderBroadcast
from tri_core.passes.rewrite_tensor_descriptors import RewriteTensorDescriptors
from tri_core.passes.scalarize_packed_ops import ScalarizePackedOps
from tri_core.passes.stage import ttir_stage
from tri_core.passes.symbol_dce import SymbolDCE

__all__ = [
    "CSE",
    "LICM",
    "Canonicalize",
    "CfToScf",
    "Combine",
    "DecomposeDotScaled",
    "DecomposeOps",
    "Inline",
    "LoopAwareCSE",
    "LoopPeel",
    "LoopUnroll",
    "Pass",
    "PromotePointerTiles",
    "RemoveDeadIterArgs",
    "ReorderBroadcast",
    "RewriteTensorDescriptors",
    "ScalarizePackedOps",
    "SymbolDCE",
    "ttir_stage",
]

for _pass in (
    CfToScf,
    Inline,
    Canonicalize,
    Combine,
    ReorderBroadcast,
    CSE,
    LICM,
    LoopAwareCSE,
    LoopPeel,
    LoopUnroll,
    SymbolDCE,
    PromotePointerTiles,
    RemoveDeadIterArgs,
    RewriteTensorDescriptors,
    DecomposeDotScaled,
    DecomposeOps,
    ScalarizePackedOps,
):
    registry.add_pass(_pass)

#: what passes were called in the version before
_FORMER = {
    "DeadCarried": "RemoveDeadIterArgs",
    "LiftControlFlow": "CfToScf",
    "Unpack": "ScalarizePackedOps",
}


def __getattr__(name: str) -> Any:
    if name not in _FORMER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{__name__}.{name} is called {_FORMER[name]}", DeprecationWarning, stacklevel=2)
    return globals()[_FORMER[name]]
