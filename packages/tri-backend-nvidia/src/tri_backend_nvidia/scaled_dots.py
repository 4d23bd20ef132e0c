"""Gives block-scaled dots to the target's instruction: tensors or buffers where it reads operands and scales.

    c = dot_scaled(a, sa, b, sb, c0)

becomes, by ``tcgen05.mma``, which reads memory,

    c = warp_group_dot(alloc a, alloc b, c0, use_c, scales alloc sa, alloc sb); wait

and by ``mma.sync``, which reads registers, the same op in the layouts of its fragments.  What the instruction does not do is
gone by now: ``decompose-dot-scaled`` has asked :func:`scaled_dots`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from tri_backend_nvidia.mma.scaled import warp_dot
from tri_backend_nvidia.mma.scaled_table import WarpScaledDots
from tri_backend_nvidia.tcgen05.scaled import group_dot
from tri_backend_nvidia.tcgen05.scaled_table import ScaledDots
from tri_core.api import Pass, StageContext, Target
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis import AxisInfos, axis_info
from tri_gpu_dialect.edit import all_ops, functions, module_int

__all__ = ["AccelerateDotScaled", "scaled_dots"]

Dots = ScaledDots | WarpScaledDots


@dataclass(frozen=True)
class _Unit:
    """A target's ``feature``: what its instruction does, and how a dot (of so many warps) is given to it."""

    feature: str
    matmuls: Callable[..., Dots | None]
    give: Callable[[ir.Operation, int, AxisInfos], None]


_UNITS = (
    _Unit("tcgen05", ScaledDots.of, group_dot),
    _Unit("mma-block-scale", WarpScaledDots.of, warp_dot),
)


def _unit(target: Target) -> _Unit | None:
    return next((unit for unit in _UNITS if target.has(unit.feature)), None)


def scaled_dots(target: Target, num_warps: int, num_ctas: int, *, specialize: bool | None) -> Dots | None:
    """Block-scaled dots of ``target`` in kernels of these options; None if it has no instruction with block
    scales.
    """
    unit = _unit(target)
    return None if unit is None else unit.matmuls(target, num_warps, num_ctas, specialize=specialize)


@dataclass(frozen=True)
class AccelerateDotScaled(Pass):
    """See the module; runs behind ``accelerate-matmul``."""

    name: ClassVar[str] = "accelerate-dot-scaled"
    required: ClassVar[bool] = True

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the scaled dots of every function of ``module``."""
        unit = _unit(context.target)
        if unit is None:
            return
        for function in functions(module):
            dots = [op for op in all_ops(function) if op.name == "tt.dot_scaled"]
            if not dots:
                continue
            axes = axis_info(function)
            for op in dots:
                unit.give(op, module_int(module, "ttg.num-warps"), axes)
