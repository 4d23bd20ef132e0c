"""Axis rules belong to a target: two of them disagree on an op in one process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tri_core.mlir import ir
from tri_core.text import parse_module
from tri_gpu_dialect.analysis import AxisInfo, axis_info
from tri_gpu_dialect.analysis.axis_rules import SHARED, AxisRules
from tri_gpu_dialect.edit import all_ops, functions
from tri_gpu_dialect.lowering import generic_table
from tri_gpu_dialect.passes import Coalesce, ConvertTritonToTritonGPU
from tri_gpu_dialect.policies.gpu import DefaultPolicy
from tri_gpu_dialect.testing.reference import run

SIZE = 512
#: loads at what an op makes of a range and an argument that is 0
KERNEL = f"""
module {{
  tt.func public @k(%p: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}, %q: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}, %t: i32) {{
    %r = tt.make_range {{start = 0 : i32, end = {SIZE} : i32}} : tensor<{SIZE}xi32>
    %ts = tt.splat %t : i32 -> tensor<{SIZE}xi32>
    %i = arith.xori %r, %ts : tensor<{SIZE}xi32>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<{SIZE}x!tt.ptr<f32>>
    %from = tt.addptr %ps, %i : tensor<{SIZE}x!tt.ptr<f32>>, tensor<{SIZE}xi32>
    %x = tt.load %from : tensor<{SIZE}x!tt.ptr<f32>>
    %qs = tt.splat %q : !tt.ptr<f32> -> tensor<{SIZE}x!tt.ptr<f32>>
    %to = tt.addptr %qs, %i : tensor<{SIZE}x!tt.ptr<f32>>, tensor<{SIZE}xi32>
    tt.store %to, %x : tensor<{SIZE}x!tt.ptr<f32>>
    tt.return
  }}
}}"""


def _as_first(_: ir.Operation, given: Sequence[AxisInfo]) -> AxisInfo:
    return given[0]


#: what a backend says that knows %t to be 0, and one that does not
REGULAR = SHARED.with_rules({"arith.xori": _as_first})
UNKNOWN = SHARED.with_rules({"arith.xori": lambda _, given: None})


def _coalesced(rules: AxisRules) -> ir.Module:
    module = parse_module(KERNEL)
    policy = replace(DefaultPolicy(), axis_rules=rules)
    for step in (
        ConvertTritonToTritonGPU(target="made-up:m1", num_warps=1, threads_per_warp=32),
        Coalesce(policy=policy),
    ):
        step.apply(module, None)  # type: ignore[arg-type]
    return module


def _contiguity(rules: AxisRules) -> tuple[int, ...]:
    module = parse_module(KERNEL)
    (function,) = functions(module)
    found = axis_info(function, rules)
    load = next(op for op in all_ops(function) if op.name == "tt.load")
    return found.of(load.operands[0]).contiguity


def test_each_target_asks_its_own_rules() -> None:
    assert [_contiguity(rules) for rules in (REGULAR, UNKNOWN, REGULAR)] == [(SIZE,), (1,), (SIZE,)]
    assert _contiguity(SHARED) == (1,)


def test_what_is_learned_later_follows_the_same_rules() -> None:
    module = parse_module(KERNEL)
    (function,) = functions(module)
    op = next(op for op in all_ops(function) if op.name == "arith.xori")
    for rules, expected in ((REGULAR, SIZE), (UNKNOWN, 1)):
        found = axis_info(function, rules)
        with ir.InsertionPoint(op):
            made = op.clone().operation
        found.learn(made)
        assert found.of(made.results[0]).contiguity == (expected,)
        made.erase()


@pytest.mark.parametrize(("rules", "vector"), [(REGULAR, 4), (UNKNOWN, 1)])
def test_layouts_and_accesses_are_as_the_target_says(rules: AxisRules, vector: int) -> None:
    module = _coalesced(rules)
    assert f"sizePerThread = [{vector}]" in str(module)
    table = generic_table()
    table.axis_rules = rules
    data, out = np.arange(SIZE, dtype=np.float32), np.zeros(SIZE, np.float32)
    text = str(run(module, [data, out, 0], table=table))
    assert (out == data).all()
    assert ("vector<4xf32>" in text) == (vector == 4)


def test_the_shared_rules_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        SHARED.by_name["arith.xori"] = _as_first  # type: ignore[index]
