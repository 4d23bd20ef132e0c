"""Check of a device's capabilities: an op without instructions is refused at its place in the source."""

from __future__ import annotations

from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.errors import Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops, functions

__all__ = ["RefuseFp64"]


@dataclass(frozen=True)
class RefuseFp64(Pass):
    """For devices without 64-bit floats; raises Unsupported, located, at the first op that gives one."""

    name: ClassVar[str] = "refuse-fp64"
    required: ClassVar[bool] = True

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Look at all functions; changes nothing."""
        for function in functions(module):
            for op in all_ops(function):
                if any(isinstance(_element(r.type), ir.F64Type) for r in op.results):
                    raise Unsupported(
                        f"the kernel uses 64-bit floats, which {context.target} lacks",
                        location=source_location(op.location),
                        remedy="use fp32: cast with .to(tl.float32)",
                    )


def _element(type_: ir.Type) -> ir.Type:
    return type_.element_type if isinstance(type_, ir.ShapedType) else type_
