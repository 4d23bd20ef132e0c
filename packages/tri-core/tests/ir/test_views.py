"""Ops by their classes, those of MLIR's dialects and of anybody's."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_core import mlir
from tri_core.ir.views import cast, defining_op, dyn_cast, isa
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


_One = ext.Operand[Any]
_Perhaps = ext.Operand[Any] | None
_Any = Sequence[ext.Operand[Any]]


class AloneOp(Seen.Operation, name="alone"):
    first: _One
    some: _Any
    last: _One


class PerhapsOp(Seen.Operation, name="perhaps"):
    result: ext.Result[Any]
    first: _One
    maybe: _Perhaps = None


class TwiceOp(Seen.Operation, name="twice"):
    first: _One
    second: _One
    maybe: _Perhaps = None
    perhaps: _Perhaps = None

    @property
    def sides(self) -> list[ir.Value]:
        return [self.first, self.second]


class SharedOutOp(Seen.Operation, name="shared_out"):
    some: _Any
    middle: _One
    more: _Any
    maybe: _Perhaps = None


#: op -> how many operands each name may have
SHAPES: dict[type[Any], tuple[tuple[int, int], ...]] = {
    AloneOp: ((1, 1), (0, 3), (1, 1)),
    PerhapsOp: ((1, 1), (0, 1)),
    TwiceOp: ((1, 1), (1, 1), (0, 1), (0, 1)),
    SharedOutOp: ((0, 3), (1, 1), (0, 3), (0, 1)),
}


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


def _read(value: Any) -> Any:
    return value if value is None or isinstance(value, ir.Value) else list(value)


@pytest.mark.parametrize("kind", SHAPES, ids=lambda kind: kind.OPERATION_NAME)
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_views_give_what_the_bindings_give(kind: type[Any], data: st.DataObject) -> None:
    sizes = [data.draw(st.integers(least, most)) for least, most in SHAPES[kind]]
    mlir.registry.add_dialect(Seen)
    with mlir.session():
        i32 = ir.IntegerType.get_signless(32)
        with ir.Location.unknown():
            module = ir.Module.create()
            with ir.InsertionPoint(module.body):
                values = [
                    ir.Operation.create(
                        "arith.constant", results=[i32], attributes={"value": ir.IntegerAttr.get(i32, n)}
                    ).result
                    for n in range(sum(sizes))
                ]
                op = ir.Operation.create(
                    kind.OPERATION_NAME,
                    results=[i32] * (kind is PerhapsOp),
                    operands=values,
                    attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get(sizes)},
                )
        light, own = cast(op, kind), op.opview
        names = [name for name in kind.__annotations__ if name != "result"]
        assert [_read(getattr(light, name)) for name in names] == [
            _read(getattr(own, name)) for name in names
        ]


def test_a_view_has_what_the_class_has() -> None:
    mlir.registry.add_dialect(Seen)
    with mlir.session():
        module = ir.Module.parse(
            """func.func @f(%x: i32, %y: i32) {
              "made_up_views.twice"(%x, %y, %x) {operandSegmentSizes = array<i32: 1, 1, 0, 1>} : (i32, i32, i32) -> ()
              return
            }"""
        )
        op = next(iter(module.body)).regions[0].blocks[0].operations[0].operation
        view = cast(op, TwiceOp)
        assert view.operation == op
        assert {view: 1}[cast(op, TwiceOp)] == 1
        assert view.sides == list(op.operands)[:2]
        assert (view.maybe, view.perhaps) == (None, op.operands[0])
        assert view.parent == op.parent
        view.second = view.first
        assert op.operands[1] == op.operands[0]
        with pytest.raises(AttributeError):
            view.maybe = view.first
        with pytest.raises(AttributeError):
            view.nothing  # type: ignore[attr-defined]  # noqa: B018
