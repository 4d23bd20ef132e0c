"""Passes over TTIR, and the stage that runs them."""

from __future__ import annotations

from tri_core.mlir import registry
from tri_core.passes.base import Pass
from tri_core.passes.canonicalize import Canonicalize
from tri_core.passes.combine import Combine
from tri_core.passes.cse import CSE
from tri_core.passes.dead_carried import DeadCarried
from tri_core.passes.decompose_dot_scaled import DecomposeDotScaled
from tri_core.passes.inline import Inline
from tri_core.passes.licm import LICM
from tri_core.passes.lift_control_flow import LiftControlFlow
from tri_core.passes.loop_aware_cse import LoopAwareCSE
from tri_core.passes.loop_peel import LoopPeel
from tri_core.passes.loop_unroll import LoopUnroll
from tri_core.passes.promote_pointer_tiles import PromotePointerTiles
from tri_core.passes.reorder_broadcast import ReorderBroadcast
from tri_core.passes.rewrite_tensor_descriptors import RewriteTensorDescriptors
from tri_core.passes.stage import ttir_stage
from tri_core.passes.symbol_dce import SymbolDCE
from tri_core.passes.unpack import Unpack

__all__ = [
    "CSE",
    "LICM",
    "Canonicalize",
    "Combine",
    "DeadCarried",
    "DecomposeDotScaled",
    "Inline",
    "LiftControlFlow",
    "LoopAwareCSE",
    "LoopPeel",
    "LoopUnroll",
    "Pass",
    "PromotePointerTiles",
    "ReorderBroadcast",
    "RewriteTensorDescriptors",
    "SymbolDCE",
    "Unpack",
    "ttir_stage",
]

for _pass in (
    LiftControlFlow,
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
    DeadCarried,
    RewriteTensorDescriptors,
    DecomposeDotScaled,
    Unpack,
):
    registry.add_pass(_pass)
