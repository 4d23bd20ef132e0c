"""The table of layout rules covers the tt dialect, and its two directions agree."""

from __future__ import annotations

import pytest

from tri_core.dialects.tt import TT
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import Kind, rule_of
from tri_gpu_dialect.encodings import Blocked, DotOperand, Encoding, Slice
from tri_gpu_dialect.layouts import layout_for

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
