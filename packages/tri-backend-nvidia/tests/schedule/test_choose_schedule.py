"""The choice of a schedule where the passes that prepare it leave nothing to schedule."""

from __future__ import annotations

from typing import ClassVar

import tri_gpu_dialect.text  # noqa: F401  registers the text of ttg
from tri_backend_nvidia.schedule import ChooseSchedule
from tri_core import mlir, text
from tri_core.api import Pass, StageContext
from tri_core.ir.walking import collect
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir

LOOP = """
module {
  tt.func public @f(%n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = arith.constant dense<1.0> : tensor<64x64xf16>
    %c = arith.constant dense<0.0> : tensor<64x64xf32>
    %r = scf.for %i = %zero to %n step %one iter_args(%s = %c) -> (tensor<64x64xf32>) : i32 {
      %d = tt.dot %a, %a, %s, inputPrecision = ieee : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    tt.return
  }
}
"""


@dataclass(frozen=True)
class EraseLoops(Pass):
    """As passes that find that nobody needs what a loop computes."""

    name: ClassVar[str] = "erase-loops"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        for op in collect(module.operation):
            if op.name == "scf.for":
                op.erase()


def test_a_kernel_whose_loops_nobody_needs() -> None:
    with mlir.session():
        module = text.parse_module(LOOP)
        before = str(module)
        ChooseSchedule(partitions=(EraseLoops(),)).apply(module, None)  # type: ignore[arg-type]
        reason = module.operation.attributes["tt.schedule"]
        assert "no loop has a dot whose result is used" in str(reason)
        del module.operation.attributes["tt.schedule"]
        assert str(module) == before
