"""``hoist-async-dots`` on random chains of dots, alone and with the passes around it: the same results, waits and stages in order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import tri_gpu_dialect.text  # noqa: F401  registers the text of ttg
from tri_core import mlir, text
from tri_core.api import Pass
from tri_core.mlir import ir
from tri_gpu_dialect.passes import HoistAsyncDots, PipelineChainedDots, SinkDotWaits, VerifyLayouts
from tri_gpu_dialect.policies.gpu import AsyncPolicy, DefaultPolicy
from tri_gpu_dialect.testing.dot_chains import BARRIER, STAGE, Dot, Machine, chains, program, the_function

POLICY = AsyncPolicy(pipeline_chained_dots=True)
INDEPENDENT = [Dot(None, 0, None, False), Dot(None, 1, None, False), Dot(0, 1, 2, False), Dot(1, 0, 3, False)]
CHOICES: dict[str, list[Pass]] = {
    "alone": [HoistAsyncDots()],
    "then overlapped": [HoistAsyncDots(), SinkDotWaits()],
    "after pipeline-chained-dots": [
        PipelineChainedDots(policy=DefaultPolicy(async_units=POLICY)),
        HoistAsyncDots(),
        SinkDotWaits(),
    ],
}


def after(source: str, passes: list[Pass]) -> ir.Module:
    module = text.parse_module(source)
    for each in [*passes, VerifyLayouts()]:
        each.apply(module, None)  # type: ignore[arg-type]
    mlir.verify(module)
    return module


@settings(max_examples=60)
@given(chains(), st.integers(0, 3), st.sampled_from(sorted(CHOICES)))
def test_the_same_is_computed(dots: list[Dot], n: int, passes: str) -> None:
    source = program(dots)
    module, made = text.parse_module(source), after(source, CHOICES[passes])
    before, then = Machine(), Machine()
    assert before.run(the_function(module), n) == then.run(the_function(made), n)
    assert not then.held
    assert not then.under_way
    assert sorted(map(str, before.started)) == sorted(map(str, then.started))
    event("several under way" if then.most > 1 else "one at a time")


def most_under_way(source: str, passes: list[Pass]) -> int:
    machine, module = Machine(), after(source, passes)
    machine.run(the_function(module), 2)
    return machine.most


def test_dots_that_need_each_other_alone_run_together() -> None:
    source = program(INDEPENDENT)
    assert most_under_way(source, []) == 1
    assert most_under_way(source, [HoistAsyncDots()]) == 2


def waits(module: ir.Module) -> list[str]:
    return [line.split("pendings = ")[1][0] for line in str(module).splitlines() if "pendings" in line]


def test_each_wait_leaves_what_was_started_behind_its_dot() -> None:
    """As attention's gradients: both scores, then a dot of either; the last two are waited for at the end."""
    assert waits(after(program(INDEPENDENT), [HoistAsyncDots(), SinkDotWaits()])) == ["1", "1", "1", "0"]


@pytest.mark.parametrize(("registers", "together"), [(111, False), (112, True)])
def test_registers_decide(registers: int, together: bool) -> None:
    """Tensors take 96 registers of a thread, operands of blocked dots with their copies most of them; 16 are for numbers."""
    policy = DefaultPolicy(async_units=replace(POLICY, registers=registers))
    assert (most_under_way(program(INDEPENDENT), [HoistAsyncDots(policy=policy)]) > 1) == together


def test_a_wait_does_not_pass_an_arrival() -> None:
    source = program(INDEPENDENT)
    marked = f"%top0 = arith.maximumf %top, %w0 : {'tensor<32x32xf32, #acc>'}"
    early = source.replace(marked, f"{marked}\n      ttng.arrive_barrier %b9 deps %v9 : {BARRIER}, {STAGE}")
    early = early.replace(
        "%out:", "%v9 = ttg.memdesc_index %r0[%c1] : !ttg.memdesc<3x32x32xf16, #shared, #smem, mutable> -> "
        f"{STAGE}\n    %b9 = ttg.memdesc_index %b[%c1] : !ttg.memdesc<3x1xi64, #bar, #smem, mutable> -> {BARRIER}\n    %out:", 1,
    )  # fmt: skip
    assert "pendings = 1" in str(after(source, [HoistAsyncDots()]))
    assert "pendings = 1" not in str(after(early, [HoistAsyncDots()]))
