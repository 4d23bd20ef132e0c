"""Random kernels give the same with each pass over TTIR on, off, or put in."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from integration.changes import Change, changed
from integration.random_kernels.program import RandomKernel, Stored
from integration.random_kernels.running import Disagreement, agree, run
from integration.random_kernels.strategy import random_kernels
from tri_core.api import Pass, StageContext
from tri_core.ir.markers import FACTOR
from tri_core.ir.regions import loops_in
from tri_core.mlir import ir
from tri_core.passes import LICM, LoopAwareCSE, LoopPeel, LoopUnroll

_FEW = settings(
    max_examples=8,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@dataclass(frozen=True)
class UnrollAll(Pass):
    """Every loop by ``factor``."""

    name = "unroll-all"
    factor: int = 2

    def apply(self, module: ir.Module, context: StageContext) -> None:
        for loop in loops_in(module.operation):
            loop.attributes[FACTOR] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), self.factor)
        LoopUnroll().apply(module, context)


#: passes put in at the end of the stage
_MORE: dict[str, Pass] = {
    "unrolled by two": UnrollAll(2),
    "unrolled by three": UnrollAll(3),
    "peeled": LoopPeel(first=1, last=1),
    "peeled at the end": LoopPeel(last=2),
    "loop-aware-cse": LoopAwareCSE(),
    "again licm": LICM(),
}
_OFF = ("combine", "reorder-broadcast", "canonicalize", "cse", "licm", "symbol-dce")


def _same(kernel: RandomKernel, without: str = "", more: Pass | None = None) -> None:
    expected = run(kernel, "interpreter")
    with changed("cpu", Change("ttir", without, more)):
        found = run(kernel, "cpu")
    for output, left, right in zip(kernel.outputs, expected, found, strict=True):
        if not agree(output, left, right):
            raise Disagreement(f"{output.name} differs without {without!r}, with {more}\n{kernel.source}")


@pytest.mark.parametrize("name", _OFF)
@seed(20261121)
@_FEW
@given(random_kernels())
def test_without(name: str, kernel: RandomKernel) -> None:
    _same(kernel, without=name)


@pytest.mark.parametrize("name", _MORE)
@seed(20261122)
@_FEW
@given(random_kernels())
def test_with(name: str, kernel: RandomKernel) -> None:
    _same(kernel, more=_MORE[name])


def test_a_pass_that_is_wrong_is_seen() -> None:
    """Unrolling that forgets what is left over would be."""

    class Wrong(Pass):
        name = "wrong"

        def apply(self, module: ir.Module, context: StageContext) -> None:
            for loop in loops_in(module.operation):
                loop.operands[0] = loop.operands[1]

    kernel = RandomKernel(
        "import tri\nimport tri.language as tl\n\n\n@tri.jit\ndef kernel(x0, out0, n, flag):\n"
        "    total = 0\n    for i in range(n):\n        total += i\n"
        "    tl.store(out0 + tl.arange(0, 16), tl.arange(0, 16) + total)\n",
        ("int32",),
        (Stored("out0", "int32", 16, 0.0),),
        5,
        0,
        1,
        0,
    )
    _same(kernel)
    with pytest.raises(Disagreement):
        _same(kernel, more=Wrong())
