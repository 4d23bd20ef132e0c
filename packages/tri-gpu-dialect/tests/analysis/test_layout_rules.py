"""The table of layout rules covers the tt dialect, its two directions agree, and two targets may disagree on an op in one process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from tri_core.api import VerificationError
from tri_core.dialects.tt import TT
from tri_core.errors import PluginError
from tri_core.mlir import ir
from tri_core.text import parse_module
from tri_gpu_dialect.analysis import axis_info
from tri_gpu_dialect.analysis.layout_rules import SHARED, Kind, LayoutRule, LayoutRules
from tri_gpu_dialect.edit import all_ops, functions
from tri_gpu_dialect.encodings import Blocked, DotOperand, Encoding, Slice
from tri_gpu_dialect.layouts import layout_for
from tri_gpu_dialect.passes import (
    Coalesce,
    ConvertTritonToTritonGPU,
    RemoveLayoutConversions,
    VerifyLayouts,
)
from tri_gpu_dialect.policies.gpu import DefaultPolicy
from tri_gpu_dialect.testing.reference import run
from tri_gpu_dialect.transforms.layout.rematerialize import can_be_rematerialized
from tri_gpu_dialect.transforms.pipeline.strategies import AsyncCopy

#: ops without tensors, ops that inlining or a backend removes, and ops whose layouts a backend decides
OUTSIDE = {
    "tt.func", "tt.return", "tt.call", "tt.get_program_id", "tt.get_num_programs", "tt.reduce_return",
    "tt.scan_return", "tt.map_elementwise_return", "tt.make_tensor_descriptor", "tt.descriptor_load",
    "tt.descriptor_store", "tt.descriptor_reduce", "tt.descriptor_gather", "tt.descriptor_scatter", "tt.dot_scaled", "tt.barrier",
    "tt.grid_dependency_wait", "tt.grid_dependency_launch_dependents",
}  # fmt: skip

MATRIX = Blocked((1, 4), (8, 4), (4, 1), (1, 0))


def test_every_op_is_described() -> None:
    known = {op.OPERATION_NAME for op in TT.operations}
    forgotten = {name for name in known - OUTSIDE if rule_of(name).kind is Kind.FIXED}
    assert forgotten == set()
    assert rule_of("someone.else").kind is Kind.FIXED
    assert rule_of("arith.addf").kind is rule_of("math.exp").kind is Kind.FLOW


@dataclass(frozen=True)
class Named:
    """All that kinds ask of most ops."""

    name: str
    attributes: Mapping[str, ir.Attribute] = field(default_factory=dict)


def rule_of(name: str) -> LayoutRule:
    pack = {"pack": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)}
    return SHARED.of(Named(name, pack))


def op(text: str) -> tuple[ir.Module, ir.Operation]:
    args, _, rest = text.partition("=>")
    module = ir.Module.parse(f"module {{ func.func @f({args}) {{ {rest}\n return }} }}")
    return module, next(iter(module.body)).operation.regions[0].blocks[0].operations[0].operation


@pytest.mark.parametrize(
    ("text", "shape", "operand", "result"),
    [
        (
            '%a: tensor<64xf32> => "tt.expand_dims"(%a) {axis = 1 : i32} : (tensor<64xf32>) -> tensor<64x1xf32>',
            (64,),
            Slice(1, MATRIX),
            MATRIX,
        ),
        (
            (
                '%a: tensor<64x32xf32> => "tt.trans"(%a) {order = array<i32: 1, 0>} : (tensor<64x32xf32>)'
                " -> tensor<32x64xf32>"
            ),
            (64, 32),
            MATRIX,
            Blocked((4, 1), (4, 8), (1, 4), (0, 1)),
        ),
        (
            '%a: tensor<64x32xf32> => "tt.reshape"(%a) : (tensor<64x32xf32>) -> tensor<2048xf32>',
            (64, 32),
            Blocked((1, 4), (4, 8), (4, 1), (1, 0)),
            Blocked((4,), (32,), (4,), (0,)),
        ),
        (
            (
                '%a: tensor<64xf32>, %b: tensor<64xf32> => "tt.join"(%a, %b) : (tensor<64xf32>, tensor<64xf32>)'
                " -> tensor<64x2xf32>"
            ),
            (64,),
            Blocked((2,), (32,), (4,), (0,)),
            Blocked((2, 2), (32, 1), (4, 1), (1, 0)),
        ),
    ],
)
def test_both_directions_agree(
    text: str, shape: tuple[int, ...], operand: Encoding, result: Encoding
) -> None:
    _, parsed = op(text)
    rule = rule_of(parsed.name)
    assert rule.results(parsed, [operand] * len(parsed.operands)) == result
    needed = rule.operands(parsed, result)
    assert needed is not None
    assert all(e is not None and layout_for(e, shape) == layout_for(operand, shape) for e in needed)


def test_a_dot_wants_the_operand_layouts_of_its_result() -> None:
    square = "tensor<32x32xf32>"
    _, parsed = op(
        f'%a: {square} => "tt.dot"(%a, %a, %a) {{inputPrecision = 2 : i32}} : ({square}, {square}, {square}) -> {square}'
    )
    assert rule_of("tt.dot").operands(parsed, MATRIX) == [
        DotOperand(0, MATRIX),
        DotOperand(1, MATRIX),
        MATRIX,
    ]


def test_a_gather_does_not_care_about_its_source() -> None:
    _, parsed = op(
        '%a: tensor<64xf32>, %i: tensor<64xi32> => "tt.gather"(%a, %i) {axis = 0 : i32}'
        " : (tensor<64xf32>, tensor<64xi32>) -> tensor<64xf32>"
    )
    assert rule_of("tt.gather").operands(parsed, MATRIX) == [None, MATRIX]


# --- two targets ----------------------------------------------------------------------------------------

SIZE = 512
#: loads, doubles and stores
KERNEL = f"""
module {{
  tt.func public @k(%p: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}, %q: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}) {{
    %r = tt.make_range {{start = 0 : i32, end = {SIZE} : i32}} : tensor<{SIZE}xi32>
    %zero = arith.constant dense<0> : tensor<{SIZE}xi32>
    %i = arith.addi %r, %zero : tensor<{SIZE}xi32>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<{SIZE}x!tt.ptr<f32>>
    %from = tt.addptr %ps, %i : tensor<{SIZE}x!tt.ptr<f32>>, tensor<{SIZE}xi32>
    %x = tt.load %from : tensor<{SIZE}x!tt.ptr<f32>>
    %y = arith.addf %x, %x : tensor<{SIZE}xf32>
    %qs = tt.splat %q : !tt.ptr<f32> -> tensor<{SIZE}x!tt.ptr<f32>>
    %to = tt.addptr %qs, %i : tensor<{SIZE}x!tt.ptr<f32>>, tensor<{SIZE}xi32>
    tt.store %to, %y : tensor<{SIZE}x!tt.ptr<f32>>
    tt.return
  }}
}}"""

#: of a target on which some ops stay as they are
STAYS = LayoutRule(Kind.FIXED, lambda _, __: None, lambda op, _: [None] * len(op.operands))
FIXED = SHARED.with_rules(dict.fromkeys(("arith.addf", "arith.addi", "tt.expand_dims"), STAYS))


def with_layouts(rules: LayoutRules) -> ir.Module:
    module = parse_module(KERNEL)
    policy = replace(DefaultPolicy(), layout_rules=rules)
    for step in (
        ConvertTritonToTritonGPU(target="made-up:m1", num_warps=1, threads_per_warp=32, policy=policy),
        Coalesce(policy=policy),
        RemoveLayoutConversions(policy=policy),
        VerifyLayouts(policy=policy),
    ):
        step.apply(module, None)  # type: ignore[arg-type]
    return module


@pytest.mark.parametrize(("rules", "stays"), [(SHARED, False), (FIXED, True)])
def test_layouts_are_as_the_target_says(rules: LayoutRules, stays: bool) -> None:
    module = with_layouts(rules)
    names = [op.name for function in functions(module) for op in all_ops(function)]
    # what stays in its first layout is met by conversions
    assert ("ttg.convert_layout" in names) == stays
    data, out = np.arange(SIZE, dtype=np.float32), np.zeros(SIZE, np.float32)
    run(module, [data, out])
    assert (out == 2 * data).all()


@pytest.mark.parametrize(("rules", "can"), [(SHARED, True), (FIXED, False)])
def test_rows_are_copied_and_computed_again_as_the_target_says(rules: LayoutRules, can: bool) -> None:
    module = with_layouts(SHARED)
    (function,) = functions(module)
    load = next(op for op in all_ops(function) if op.name == "tt.load")
    assert can_be_rematerialized(load.operands[0], Blocked((1,), (32,), (1,), (0,)), rules) == can
    assert AsyncCopy().suits(load, axis_info(function), rules) == can


def test_what_agrees_is_for_the_target_to_say() -> None:
    vector = Blocked((1,), (32,), (4,), (0,))
    module = ir.Module.parse(
        'module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32} {'
        f'"tt.func"() ({{ %v = arith.constant dense<1.0> : tensor<64xf32, {vector}>\n'
        f'%m = "tt.expand_dims"(%v) {{axis = 0 : i32}} : (tensor<64xf32, {vector}>) -> tensor<1x64xf32, {MATRIX}>\n'
        '"tt.return"() : () -> () }) {sym_name = "f", function_type = () -> ()} : () -> () }'
    )
    VerifyLayouts(policy=replace(DefaultPolicy(), layout_rules=FIXED)).apply(module, None)  # type: ignore[arg-type]
    with pytest.raises(VerificationError, match=r"tt\.expand_dims: operand 0 is .* is expected"):
        VerifyLayouts().apply(module, None)  # type: ignore[arg-type]


def test_rules_of_several_targets_are_asked_in_turn() -> None:
    kinds = [rules.of(Named("arith.addi")).kind for rules in (SHARED, FIXED, SHARED)]
    assert kinds == [Kind.FLOW, Kind.FIXED, Kind.FLOW]


def test_the_shared_rules_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        SHARED.by_name["tt.load"] = STAYS  # type: ignore[index]


def test_a_table_of_something_else_is_refused() -> None:
    with pytest.raises(PluginError, match="layout_rules"):
        DefaultPolicy(layout_rules={"tt.load": STAYS})  # type: ignore[arg-type]
