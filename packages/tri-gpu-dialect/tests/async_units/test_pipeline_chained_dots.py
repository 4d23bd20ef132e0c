"""``pipeline-chained-dots`` on random chains of dots: the same results, every dot waited for, every stage held while it is read."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import tri_gpu_dialect.text  # noqa: F401  registers the text of ttg
from tri_core import mlir, text
from tri_core.mlir import ir
from tri_gpu_dialect.async_units.analysis.dot_stages import DotStages, dot_stages
from tri_gpu_dialect.async_units.analysis.slicing import Refusal
from tri_gpu_dialect.passes import PipelineChainedDots, VerifyLayouts
from tri_gpu_dialect.policies.gpu import AsyncPolicy, DefaultPolicy
from tri_gpu_dialect.testing.dot_chains import (
    BARRIER,
    STAGE,
    Dot,
    Machine,
    chains,
    program,
    the_function,
    the_loop,
    two,
)

POLICY = AsyncPolicy(pipeline_chained_dots=True)


def delayed(source: str) -> ir.Module:
    module = text.parse_module(source)
    PipelineChainedDots(policy=DefaultPolicy(async_units=POLICY)).apply(module, None)  # type: ignore[arg-type]
    VerifyLayouts().apply(module, None)  # type: ignore[arg-type]
    mlir.verify(module)
    return module


@settings(max_examples=40)
@given(chains(), st.integers(0, 4))
def test_the_same_is_computed(dots: list[Dot], n: int) -> None:
    source = program(dots)
    module, made = text.parse_module(source), delayed(source)
    before, after = Machine(), Machine()
    assert before.run(the_function(module), n) == after.run(the_function(made), n)
    assert not after.held
    assert not after.under_way
    assert sorted(map(str, before.started)) == sorted(map(str, after.started))
    module = text.parse_module(source)
    stages = dot_stages(the_loop(module))
    event(type(stages).__name__)
    if isinstance(stages, DotStages) and n > 1:
        assert after.most > 1


@settings(max_examples=40)
@given(chains(), st.integers(0, 3), st.integers(0, 5))
def test_two_loops_compute_the_same(dots: list[Dot], n: int, m: int) -> None:
    source = two(program(dots))
    module, made = text.parse_module(source), delayed(source)
    before, after = Machine(), Machine()
    assert before.run(the_function(module), n, m) == after.run(the_function(made), n, m)
    assert not after.held
    assert not after.under_way
    assert sorted(map(str, before.started)) == sorted(map(str, after.started))


def changed(source: str) -> bool:
    return "pendings = 1" in str(delayed(source))


CHAIN = program([Dot(None, 0, None, False), Dot(0, 1, 1, True)])


def test_a_chain_is_delayed() -> None:
    assert changed(CHAIN)
    assert changed(program([Dot(None, 0, None, False), Dot(0, 0, 1, False)]))
    assert not changed(program([Dot(None, 0, None, False), Dot(None, 1, 1, False)]))


def beside(source: str, n: int, m: int) -> int:
    """How often a dot is started beside another."""
    machine, made = Machine(), delayed(source)
    machine.run(the_function(made), n, m)
    return machine.beside


@pytest.mark.parametrize(("n", "m"), [(1, 2), (3, 4), (2, 5), (0, 3), (3, 3), (3, 1), (0, 0)])
def test_the_second_loop_begins_beside_the_end_of_the_first(n: int, m: int) -> None:
    assert beside(two(CHAIN), n, m) == max(n + max(m - n, 0) - 1, 0)
    moved = "    %more = arith.addi %n, %m : i32\n"
    assert beside(two(CHAIN, between=moved), n, m) == beside(two(CHAIN), n, m)


@pytest.mark.parametrize("between", [
    "    ttg.barrier local\n",
    "    %more = arith.addi %out#2, %n : i32\n",
])  # fmt: skip
def test_what_stands_between_keeps_them_apart(between: str) -> None:
    assert beside(two(CHAIN, between=between), 3, 6) == 2 + 2


def test_other_late_stages_keep_them_apart() -> None:
    """The second loop adds to its accumulator without scaling it."""
    first, loop, second = two(CHAIN).rpartition("scf.for")
    assert "%m1 = arith.mulf %acc1, %top0" in second
    other = second.replace("%m1 = arith.mulf %acc1, %top0", "%m1 = arith.addf %acc1, %top0")
    assert beside(first + loop + other, 3, 6) == 2 + 2


FREE = "ttg.arrive_barrier %b1 deps %v1"
REFUSED = {
    "it is unknown what a barrier guards": (
        f"{FREE} : {BARRIER}, {STAGE}",
        f"ttg.arrive_barrier %b1 : {BARRIER}",
    ),
    "every dot of an iteration needs": ("%qs, %v0, %zero", "%qs, %v0, %acc1"),
    "scf.if may not move across a dot": ("%next = ", "scf.if %flag {\n}\n%next = "),
    "a dot is under way when its iteration ends": ("scf.yield %w1", "scf.yield %d1"),
    "tt.store needs the accumulator of a dot": (
        FREE,
        f"tt.store %p, %w1 : tensor<32x32x!tt.ptr<f32>, #acc>\n{FREE}",
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_why_not(reason: str, caplog: pytest.LogCaptureFixture) -> None:
    old, new = REFUSED[reason]
    assert old in CHAIN
    source = CHAIN.replace(old, new).replace(
        "%n: i32", "%n: i32, %flag: i1, %p: tensor<32x32x!tt.ptr<f32>, #acc>"
    )
    module = text.parse_module(source)
    found = dot_stages(the_loop(module))
    assert isinstance(found, Refusal)
    assert found.reason.startswith(reason)
    caplog.set_level(logging.INFO, "tri_gpu_dialect.async_units.pipeline_chained_dots")
    assert not changed(source)
    assert f"dots are not delayed: {reason}" in caplog.text


def test_a_slot_that_both_dots_read_must_not_be_the_only_one() -> None:
    source = program([Dot(None, 0, None, False), Dot(0, 0, 1, False)]).replace("<3x32x32", "<1x32x32")
    module = text.parse_module(source)
    found = dot_stages(the_loop(module))
    assert isinstance(found, Refusal)
    assert found.reason == "early and late dots read the one stage there is"


def test_registers_decide() -> None:
    """Two accumulators and a maximum of 8 registers each; a factor of 16 bits that 8 threads have copies of, 16 registers."""
    module = text.parse_module(CHAIN)
    stages = dot_stages(the_loop(module))
    assert isinstance(stages, DotStages)
    for registers, expected in ((stages.registers, True), (stages.registers - 1, False)):
        module = text.parse_module(CHAIN)
        PipelineChainedDots(policy=DefaultPolicy(async_units=replace(POLICY, registers=registers))).apply(
            module, None
        )  # type: ignore[arg-type]
        assert ("pendings = 1" in str(module)) == expected


@pytest.mark.parametrize("wanted", [None, False])
def test_who_is_not_asked_for_it(wanted: bool | None) -> None:
    module = text.parse_module(CHAIN)
    PipelineChainedDots(policy=DefaultPolicy(async_units=AsyncPolicy(pipeline_chained_dots=wanted))).apply(
        module, None
    )  # type: ignore[arg-type]
    assert "pendings = 1" not in str(module)
