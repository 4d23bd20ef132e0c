"""``gl.nvidia.ampere``: copies by ``cp.async``, barriers in shared memory, and dots by ``mma.sync``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.experimental.gluon.layouts import DotOperandLayout
from tri.experimental.gluon.types import layout_in
from tri.language import builtin
from tri.language.constexpr import constexpr_type
from tri.language.dot import check_operands, precision_attribute
from tri.language.tensor import dimensions, tensor
from tri_backend_nvidia.language.gluon.ampere import async_copy, mbarrier
from tri_backend_nvidia.language.gluon.cache_policies import CachePolicy, FractionalEvictionPolicy
from tri_backend_nvidia.language.gluon.checks import for_target
from tri_backend_nvidia.language.gluon.layouts import NVMMADistributedLayout
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = [
    "CachePolicy",
    "DotOperandLayout",
    "FractionalEvictionPolicy",
    "NVMMADistributedLayout",
    "async_copy",
    "builtin",
    "constexpr_type",
    "mbarrier",
    "mma_v2",
]


@builtin
def mma_v2(a: tensor, b: tensor, acc: tensor, input_precision: Any = None, *, _semantic: Builder) -> tensor:
    """``a @ b + acc`` by ``mma.sync``, in the layout of ``acc``: an NVMMADistributedLayout of version [2, 0].

    ``a`` (M x K) and ``b`` (K x N) are in its DotOperandLayouts 0 and 1; ``input_precision`` says how fp32 is read.
    CompilationError for other layouts or shapes, Unsupported before Ampere.
    """
    own = for_target(_semantic, "ampere.mma_v2", "cp-async")
    layout = layout_in(acc.type)
    if not isinstance(layout, NVMMADistributedLayout) or tuple(layout.version) != (2, 0):
        raise CompilationError(
            f"mma_v2's acc has layout {layout}",
            remedy="make acc in an NVMMADistributedLayout of version [2, 0]",
        )
    for index, operand in enumerate((a, b)):
        have = layout_in(operand.type)
        if not isinstance(have, DotOperandLayout) or (have.operand_index, have.parent) != (index, layout):
            width = 32 // operand.dtype.primitive_bitwidth
            raise CompilationError(
                f"mma_v2's operand {'ab'[index]} has layout {have}",
                remedy=f"convert it: gl.convert_layout(x, {DotOperandLayout(index, layout, width)})",
            )
    shape = (*dimensions(a)[:-1], dimensions(b)[-1])
    if dimensions(acc) != shape:
        raise CompilationError(
            f"mma_v2's acc has shape {list(dimensions(acc))}; its operands make {list(shape)}",
            remedy="use MxK, KxN and MxN",
        )
    check_operands(own, a, b)
    attributes = {"inputPrecision": precision_attribute(own, input_precision)}
    return own.value("tt.dot", acc.type, a, b, acc, attributes=attributes)
