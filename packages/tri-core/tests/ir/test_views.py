"""Ops by their classes, those of MLIR's dialects and of anybody's."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from typing import Any

import pytest

from tri_core import mlir
from tri_core.ir.views import defining_op, dyn_cast, isa
from tri_core.mlir import arith, ext, ir


class Seen(ext.Dialect, name="made_up_views"):
    """A dialect as somebody else may have it."""


class JoinOp(Seen.Operation, name="join"):
    left: ext.Operand[Any]
    right: ext.Operand[Any]
    result: ext.Result[Any]


class SpinOp(Seen.Operation, name="spin"):
    x: ext.Operand[Any]
    result: ext.Result[Any]


TEXT = """func.func @f(%x: i32, %y: i32) {
  %a = "made_up_views.join"(%x, %y) : (i32, i32) -> i32
  %b = arith.addi %a, %y : i32
  return
}"""


@pytest.fixture
def ops():
    mlir.registry.add_dialect(Seen)
    with mlir.session():
        module = ir.Module.parse(TEXT)
        yield [view.operation for view in next(iter(module.body)).regions[0].blocks[0].operations]


def test_isa_asks_for_any_of_the_classes(ops) -> None:
    join, add, end = ops
    assert isa(join, JoinOp)
    assert isa(join, SpinOp, JoinOp)
    assert not isa(join, SpinOp)
    assert isa(add, arith.AddIOp)
    assert not isa(end, arith.AddIOp, JoinOp, SpinOp)
    assert not isa(end)


def test_a_view_gives_operands_by_their_names(ops) -> None:
    join, add, _ = ops
    view = dyn_cast(join, JoinOp)
    assert view is not None
    assert (view.left, view.right) == tuple(join.operands)
    assert dyn_cast(join, SpinOp) is None
    assert dyn_cast(None, JoinOp) is None
    seen = dyn_cast(add, arith.AddIOp)
    assert seen is not None
    assert seen.lhs == join.results[0]


def test_the_op_that_defines_a_value(ops) -> None:
    join, add, _ = ops
    assert defining_op(add.operands[0]) == join
    assert defining_op(add.operands[1]) is None  # a block's argument
    made = defining_op(add.operands[0], JoinOp)
    assert made is not None
    assert made.left == join.operands[0]
    assert defining_op(add.operands[0], SpinOp) is None
    assert defining_op(add.operands[1], SpinOp) is None
