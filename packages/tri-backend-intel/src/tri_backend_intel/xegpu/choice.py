"""``path="auto"``: the stages of both paths as one, which take the cheaper path of a kernel with dots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tri_backend_intel.xegpu.cost import step_cost
from tri_backend_intel.xegpu.stage import kernel_of, lowered, to_llvm, to_xegpu
from tri_core.api import PassList, Stage, StageContext, StageResult, Unsupported
from tri_core.ir.markers import EXPLICIT
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir, parse
from tri_gpu_dialect.edit import all_ops, functions

__all__ = ["chosen_stages"]

#: the op around a kernel of the SIMD path
_GPU_MODULE = "gpu.module"

#: a TTGIR module as machine ops: what it costs on the SIMT path is counted there
Lower = Callable[[ir.Module, StageContext], ir.Module]


def chosen_stages(ttgir: Stage, llir: Stage, lower: Lower) -> tuple[Stage, Stage]:
    """``ttgir`` and ``llir`` of the SIMT path, or what the SIMD path has in their places, kernel by kernel."""
    passes = llir.passes or PassList()

    def to_text(module: ir.Module, context: StageContext) -> StageResult:
        if _is_simd(module):
            return to_llvm(module, context, passes=passes, simulated=llir.final)
        return llir.run(module, context)

    return replace(ttgir, run=_Choice(ttgir, lower)), replace(llir, run=to_text)


def _is_simd(module: ir.Module) -> bool:
    return any(view.operation.name == _GPU_MODULE for view in module.body.operations)


@dataclass(frozen=True)
class _Choice:
    """Action of the first of the stages."""

    simt: Stage
    lower: Lower

    def __call__(self, module: ir.Module, context: StageContext) -> StageResult:
        if EXPLICIT in module.operation.attributes:
            said = "path: simt, for the kernel's author chose its layouts"
            return _on_path(self.simt.run(module, context), "simt", said)
        (kernel,) = functions(module)
        if not any(op.name == "tt.dot" for op in all_ops(kernel)):
            return _on_path(self.simt.run(module, context), "simt", "path: simt, for the kernel has no dot")
        text = module.operation.get_asm(enable_debug_info=True)
        simt = self.simt.run(module, context)
        try:
            simd, cost = self._simd(text, context)
        except Unsupported as error:
            return _on_path(simt, "simt", f"path: simt, for {error.args[0]}{_place(error)}")
        other = _cost(self.lower(simt.artifact, context), context)
        said = f"of a step of the kernel's loop: simd {cost}, simt {other} instructions, as estimated"
        if cost < other:
            return _on_path(simd, "simd", f"path: simd, {said}")
        return _on_path(simt, "simt", f"path: simt, {said}")

    @staticmethod
    def _simd(text: str, context: StageContext) -> tuple[StageResult, int]:
        made = to_xegpu(parse(text), context)
        copy = parse(made.artifact.operation.get_asm(enable_debug_info=True))
        return made, _cost(lowered(copy, context), context)


def _cost(module: ir.Module, context: StageContext) -> int:
    return step_cost(kernel_of(module, context.kernel_name))


def _place(error: Unsupported) -> str:
    where = error.location
    return "" if where is None else f" ({where.file}:{where.line})"


def _on_path(result: StageResult, path: str, why: str) -> StageResult:
    remarks = [*result.attrs.get("remarks", ()), why]  # type: ignore[misc]
    return replace(result, attrs={**result.attrs, "path": path, "remarks": remarks})
