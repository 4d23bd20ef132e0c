"""The first stage of every pipeline."""

from __future__ import annotations

from collections.abc import Container, Sequence

from tri_core.ir.markers import EXPLICIT
from tri_core.ir.regions import verify_regions
from tri_core.mlir import ir
from tri_core.passes.base import Pass
from tri_core.passes.canonicalize import Canonicalize
from tri_core.passes.cf_to_scf import CfToScf
from tri_core.passes.combine import Combine
from tri_core.passes.cse import CSE
from tri_core.passes.decompose_dot_scaled import DecomposeDotScaled
from tri_core.passes.inline import Inline
from tri_core.passes.licm import LICM
from tri_core.passes.loop_unroll import LoopUnroll
from tri_core.passes.reorder_broadcast import ReorderBroadcast
from tri_core.passes.rewrite_tensor_descriptors import RewriteTensorDescriptors
from tri_core.passes.symbol_dce import SymbolDCE
from tri_core.pipeline import Anchor, PassList, Stage, StageContext, StageResult

__all__ = ["ttir_stage"]


def ttir_stage(
    native: Container[str] = (), rewrites: Sequence[Pass] = (), finals: Sequence[Pass] = ()
) -> Stage:
    """Stage ``ttir``: the kernel as one function, in its simplest form.

    ``native`` names what the target does itself and is left as it is: ``"descriptors"``, ``"dot_scaled"``;
    ``rewrites`` are passes that the target wants before canonicalization, ``finals`` those after it, followed by CSE.
    """
    rewrites = list(rewrites)
    if "descriptors" not in native:
        rewrites.append(RewriteTensorDescriptors())
    if "dot_scaled" not in native:
        rewrites.append(DecomposeDotScaled())
    passes = PassList(
        [
            Anchor("ttir.begin"),
            CfToScf(),  # what comes as text may branch; our frontend's functions have one block
            Inline(),  # early: everything else sees one function at a time
            SymbolDCE(),  # what was inlined everywhere need not be optimised
            *rewrites,  # what they make is canonicalized
            LoopUnroll(),  # early: what iterations share is found by all that follows
            CSE(),  # before rules, which ask whether two operands are the same value
            Combine(),
            ReorderBroadcast(),  # what it makes scalar may be folded
            Canonicalize(),
            CSE(),  # again: rules make constants and splats where they need them
            LICM(),  # last: what is folded need not be moved
            *finals,
            *([CSE()] if finals else []),  # what they make is merged, and what they leave behind goes
            Anchor("ttir.end"),
        ]
    )

    def run(module: ir.Module, context: StageContext) -> StageResult:
        if EXPLICIT in module.operation.attributes:
            return StageResult(artifact=module)
        passes.run("ttir", module, context)
        # a pass of its owner's may have rewritten what declares nothing
        verify_regions(module.operation)
        return StageResult(artifact=module)

    return Stage(name="ttir", kind="module", run=run, passes=passes)
