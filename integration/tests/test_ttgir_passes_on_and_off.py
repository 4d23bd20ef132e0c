"""Random kernels give the same in the simulator with each pass over TTGIR on or off, and with any warps and stages."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from integration.changes import Change, changed, optional_passes
from integration.programs.table import NUM_STAGES, NUM_WARPS
from integration.random_kernels.productions.dots import matmul_loop
from integration.random_kernels.program import RandomKernel, Stored
from integration.random_kernels.running import Disagreement, agree, run
from integration.random_kernels.strategy import random_kernels
from tri_core.api import Pass, StageContext
from tri_core.ir.walking import walk
from tri_core.mlir import ir

TARGETS = ("sim:nvidia:sm_80", "sim:nvidia:sm_90a")
_settings = partial(
    settings, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
#: kernels that begin with a loop of dots, so that every pass has something to do
_kernels = random_kernels(statements=4, first=(matmul_loop,))


def check(kernel: RandomKernel, target: str, change: Change, **options: int) -> None:
    """Disagreement when ``target`` with ``change`` and ``options`` stores something else than the interpreter."""
    expected = run(kernel, "interpreter")
    with changed(target, change):
        found = run(kernel, target, **options)
    for output, left, right in zip(kernel.outputs, expected, found, strict=True):
        if not agree(output, left, right):
            raise Disagreement(f"{output.name} differs on {target} with {change}, {options}\n{kernel.source}")


def each_optional_pass() -> list[tuple[str, str]]:
    return [(target, name) for target in TARGETS for name in optional_passes(target)]


@pytest.mark.parametrize(("target", "name"), each_optional_pass())
@seed(20261122)
@_settings(max_examples=2)
@given(_kernels)
def test_without(target: str, name: str, kernel: RandomKernel) -> None:
    check(kernel, target, Change(without=name))


@pytest.mark.slow
@pytest.mark.parametrize(("target", "name"), each_optional_pass())
@seed(20261123)
@_settings(max_examples=60)
@given(kernel=_kernels, warps=st.sampled_from(NUM_WARPS), stages=st.sampled_from(NUM_STAGES))
def test_without_many(target: str, name: str, kernel: RandomKernel, warps: int, stages: int) -> None:
    check(kernel, target, Change(without=name), num_warps=warps, num_stages=stages)


@pytest.mark.parametrize("target", ["cpu", *TARGETS])
@pytest.mark.parametrize(("warps", "stages"), list(zip(NUM_WARPS, (3, 5, 1, 2, 4), strict=True)))
@seed(20261124)
@_settings(max_examples=2)
@given(_kernels)
def test_any_warps_and_stages(target: str, warps: int, stages: int, kernel: RandomKernel) -> None:
    check(kernel, target, Change(), num_warps=warps, num_stages=stages)


class Wrong(Pass):
    """Takes sums for differences."""

    name = "wrong"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        del context

        def visit(op: ir.Operation) -> ir.WalkResult:
            if op.name == "arith.addf":
                with ir.InsertionPoint(op), op.location:
                    made = ir.Operation.create(
                        "arith.subf", results=[op.results[0].type], operands=list(op.operands)
                    )
                op.results[0].replace_all_uses_with(made.result)
            return ir.WalkResult.ADVANCE

        walk(module.operation, visit)


def test_a_pass_that_is_wrong_is_seen() -> None:
    kernel = RandomKernel(
        "import tri\nimport tri.language as tl\n\n\n@tri.jit\ndef kernel(x0, out0, n, flag):\n"
        "    x = tl.load(x0 + tl.arange(0, 64))\n"
        "    tl.store(out0 + tl.arange(0, 64), x + 1.0)\n",
        ("float32",),
        (Stored("out0", "float32", 64, 0.0),),
        0,
        0,
        1,
        0,
    )
    check(kernel, TARGETS[0], Change())
    with pytest.raises(Disagreement):
        check(kernel, TARGETS[0], Change(more=Wrong()))
    check(kernel, TARGETS[0], Change())
