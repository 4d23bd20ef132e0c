"""The stages of the SIMD path: ``xegpu`` in place of ``ttgir``, and its ``llir``."""

from __future__ import annotations

from functools import partial

from tri_backend_intel.lowering import make_primitives
from tri_backend_intel.transforms import PrefetchTiles
from tri_backend_intel.xegpu.conversion import HOLDS
from tri_backend_intel.xegpu.convert import convert
from tri_backend_intel.xegpu.layouts import LANES
from tri_backend_intel.xegpu.machine import machine_level
from tri_backend_intel.xegpu.passes import lower_to_xevm
from tri_backend_intel.xegpu.simt_ops import remark_of
from tri_backend_intel.xegpu.surfaces import ask, with_tiles
from tri_backend_intel.xegpu.versions import with_versions
from tri_core.api import Anchor, PassList, Stage, StageContext, StageResult
from tri_core.llvm_text import to_llvm_text
from tri_core.mlir import ir, run_passes
from tri_gpu_dialect.edit import functions
from tri_gpu_dialect.lowering import EmitMachineOps

__all__ = ["kernel_of", "lowered", "simd_stages", "to_llvm", "to_xegpu"]

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


def simd_stages(*, simulated: bool) -> tuple[Stage, Stage]:
    """Between ``ttir`` and ``spv``; the last one of a simulated target."""
    passes = PassList(
        [Anchor("llir.machine"), *([] if simulated else [EmitMachineOps()]), Anchor("llir.end")]
    )
    run = partial(to_llvm, passes=passes, simulated=simulated)
    return (
        Stage(name="xegpu", kind="module", run=to_xegpu),
        Stage(name="llir", kind="text", run=run, passes=passes, final=simulated),
    )


def to_xegpu(module: ir.Module, context: StageContext) -> StageResult:
    """A module of XeGPU; ``module`` is no more what it was.  Unsupported, located, for what the path cannot carry."""
    (kernel,) = functions(module)
    name = ir.StringAttr(kernel.attributes["sym_name"]).value
    with kernel.location:
        with_tiles(kernel)
        PrefetchTiles().apply(module, context)
        chip = _CHIPS.get(context.target.key.arch, _LATER)
        made = convert(kernel, name, chip, context.options.num_warps, ask(kernel))
    return _result(made, context, said=remark_of(made.operation))


def _result(artifact: object, context: StageContext, shared: int = 0, said: str = "") -> StageResult:
    return StageResult(
        artifact=artifact,
        resources={"shared": shared},
        entry_points=(context.kernel_name,),
        attrs={
            "num_warps": context.options.num_warps,
            "threads_per_warp": LANES,
            "num_ctas": 1,
            "path": "simd",
            **({"remarks": [said]} if said else {}),
        },
    )


def lowered(module: ir.Module, context: StageContext) -> ir.Module:
    """A module of XeGPU as the ``llvm`` dialect with machine ops; a new one, and ``module`` is no more what it was."""
    return _lowered(module, context)[0]


def _lowered(module: ir.Module, context: StageContext) -> tuple[ir.Module, int]:
    """That, and the bytes of shared memory."""
    lower_to_xevm(module)
    if context.on_pass is not None:
        context.on_pass("llir", "lower-to-xevm", module)
    name = context.kernel_name
    words = make_primitives(context.target, context.options, LANES, context.options.num_warps)
    with module.operation.location:
        made, shared = machine_level(module, words, name, context)
        with_versions(made, kernel_of(made, name), HOLDS)
    run_passes(made, _FLATTEN)
    _drop_unused(made)
    return made, shared


def to_llvm(module: ir.Module, context: StageContext, *, passes: PassList, simulated: bool) -> StageResult:
    """LLVM IR text of a module of XeGPU; what a simulator runs, where ``simulated``."""
    target = context.target
    made, shared = _lowered(module, context)
    if not simulated and target.spec.llvm is not None:
        made.operation.attributes["llvm.target_triple"] = ir.StringAttr.get(target.spec.llvm.triple)
        made.operation.attributes["llvm.data_layout"] = ir.StringAttr.get(target.spec.llvm.data_layout)
    passes.run("llir", made, context)
    if simulated:
        text: str = made.operation.get_asm(enable_debug_info=True, assume_verified=True)
        return _result(text, context, shared)
    if context.knobs.get("LINE_INFO"):
        words = make_primitives(target, context.options, LANES, context.options.num_warps)
        run_passes(made, f"{_LINE_INFO}{{emission-kind={words.line_info}}}")
    return _result(to_llvm_text(made), context, shared)


def kernel_of(module: ir.Module, name: str) -> ir.Operation:
    """The function ``name`` of ``module``."""
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
