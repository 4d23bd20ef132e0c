"""The stages of the SIMD path: ``xegpu`` in place of ``ttgir``, and its ``llir``."""

from __future__ import annotations

from functools import partial

from tri_backend_intel.lowering import make_primitives
from tri_backend_intel.transforms import PrefetchTiles
from tri_backend_intel.xegpu.convert import HOLDS, convert
from tri_backend_intel.xegpu.layouts import LANES
from tri_backend_intel.xegpu.machine import machine_level
from tri_backend_intel.xegpu.passes import lower_to_xevm
from tri_backend_intel.xegpu.surfaces import ask, with_tiles
from tri_backend_intel.xegpu.versions import with_versions
from tri_core.api import Anchor, PassList, Stage, StageContext, StageResult
from tri_core.llvm_text import to_llvm_text
from tri_core.mlir import ir, run_passes
from tri_gpu_dialect.edit import functions
from tri_gpu_dialect.lowering import EmitMachineOps

__all__ = ["simd_stages"]

#: how upstream's lowering calls devices; all that came after pvc are as bmg to it
_CHIPS = {"pvc": "pvc"}
_LATER = "bmg"
#: what takes the branches of accesses by elements apart
_FLATTEN = (
    "convert-scf-to-cf",
    "convert-arith-to-llvm",
    "convert-cf-to-llvm",
    "reconcile-unrealized-casts",
    "canonicalize",
    "cse",
)
_LINE_INFO = "ensure-debug-info-scope-on-llvm-func"


def simd_stages(*, simulated: bool) -> list[Stage]:
    """Between ``ttir`` and ``spv``; the last one of a simulated target."""
    passes = PassList(
        [Anchor("llir.machine"), *([] if simulated else [EmitMachineOps()]), Anchor("llir.end")]
    )
    run = partial(_to_llvm, passes=passes, simulated=simulated)
    return [
        Stage(name="xegpu", kind="module", run=to_xegpu),
        Stage(name="llir", kind="text", run=run, passes=passes, final=simulated),
    ]


def to_xegpu(module: ir.Module, context: StageContext) -> StageResult:
    """A module of XeGPU; ``module`` is no more what it was.  Unsupported, located, for what the path cannot carry."""
    (kernel,) = functions(module)
    name = ir.StringAttr(kernel.attributes["sym_name"]).value
    with kernel.location:
        with_tiles(kernel)
        PrefetchTiles().apply(module, context)
        chip = _CHIPS.get(context.target.key.arch, _LATER)
        made = convert(kernel, name, chip, context.options.num_warps, ask(kernel))
    return StageResult(
        artifact=made,
        resources={"shared": 0},
        entry_points=(name,),
        attrs={
            "num_warps": context.options.num_warps,
            "threads_per_warp": LANES,
            "num_ctas": 1,
            "path": "simd",
        },
    )


def _to_llvm(module: ir.Module, context: StageContext, *, passes: PassList, simulated: bool) -> StageResult:
    target, options = context.target, context.options
    lower_to_xevm(module)
    if context.on_pass is not None:
        context.on_pass("llir", "lower-to-xevm", module)
    words = make_primitives(target, options, LANES, options.num_warps)
    name = context.kernel_name
    with module.operation.location:
        lowered = machine_level(module, words, name)
        with_versions(lowered, _kernel(lowered, name), HOLDS)
    run_passes(lowered, _FLATTEN)
    _drop_unused(lowered)
    if not simulated and target.spec.llvm is not None:
        lowered.operation.attributes["llvm.target_triple"] = ir.StringAttr.get(target.spec.llvm.triple)
        lowered.operation.attributes["llvm.data_layout"] = ir.StringAttr.get(target.spec.llvm.data_layout)
    passes.run("llir", lowered, context)
    if simulated:
        text: str = lowered.operation.get_asm(enable_debug_info=True, assume_verified=True)
        return StageResult(artifact=text)
    if context.knobs.get("LINE_INFO"):
        run_passes(lowered, f"{_LINE_INFO}{{emission-kind={words.line_info}}}")
    return StageResult(artifact=to_llvm_text(lowered))


def _kernel(module: ir.Module, name: str) -> ir.Operation:
    return next(
        view.operation
        for view in module.body.operations
        if ir.StringAttr(view.operation.attributes["sym_name"]).value == name
    )


def _drop_unused(module: ir.Module) -> None:
    """Declarations of builtins that machine ops stand for."""
    text = str(module)
    for view in list(module.body.operations):
        symbol = ir.StringAttr(view.operation.attributes["sym_name"]).value
        if not len(view.operation.regions[0].blocks) and text.count(f"@{symbol}(") == 1:
            view.operation.erase()
