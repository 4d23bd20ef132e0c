"""What ops declare, and that every dialect's ops do."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from typing import Any

import pytest

from tri_core import mlir
from tri_core.dialects.tt import TT
from tri_core.ir.traits import (
    DataMovement,
    Elementwise,
    Pure,
    Rematerializable,
    Replicates,
    elementwise_ops,
    is_elementwise,
    is_pure,
    is_rematerializable,
    maps_elements,
)
from tri_core.mlir import ext, ir

#: ops of ``tt`` that do more than compute their results, or depend on more than their operands
EFFECTS = {
    "func", "return", "call", "load", "store", "atomic_rmw", "atomic_cas", "atomic_load", "atomic_store", "atomic_poll",
    "descriptor_load", "descriptor_store", "descriptor_gather", "descriptor_scatter", "descriptor_reduce", "print", "assert",
    "barrier", "grid_dependency_wait", "grid_dependency_launch_dependents", "extern_elementwise", "elementwise_inline_asm", "map_elementwise",
    "map_elementwise_return", "reduce_return", "scan_return",
}  # fmt: skip


class Made(ext.Dialect, name="made_up_traits"):
    """A dialect as somebody else may have it."""


class DoubleOp(Made.Operation, name="double", traits=[Pure, Elementwise]):
    x: ext.Operand[Any]
    result: ext.Result[Any]


class SpinOp(Made.Operation, name="spin"):
    x: ext.Operand[Any]
    result: ext.Result[Any]


def test_every_op_of_tt_is_pure_or_known_not_to_be() -> None:
    with mlir.session():
        names = {
            op.OPERATION_NAME.removeprefix("tt."): op for op in TT.operations if "." in op.OPERATION_NAME
        }
        impure = {name for name in names if not Pure.declared_by(f"tt.{name}")}
    assert impure <= EFFECTS, sorted(impure - EFFECTS)
    assert not {name for name in EFFECTS & set(names) if name not in impure}


def test_what_is_elementwise_is_rematerializable_where_it_is_pure() -> None:
    for name in elementwise_ops(TT):
        assert maps_elements(name), name
    assert "tt.clampf" in elementwise_ops(TT)
    assert "tt.elementwise_inline_asm" not in elementwise_ops(TT)
    assert maps_elements("tt.elementwise_inline_asm")


@pytest.mark.parametrize(
    ("text", "pure", "elementwise", "cheap"),
    [
        ('"made_up_traits.double"(%x)', True, True, True),
        ('"made_up_traits.spin"(%x)', False, False, False),
        ('"arith.addi"(%x, %x)', True, True, True),
    ],
)
def test_ops_of_any_dialect_are_asked_alike(text: str, pure: bool, elementwise: bool, cheap: bool) -> None:
    mlir.registry.add_dialect(Made)
    types = "(i32, i32)" if text.count("%x") == 2 else "(i32)"
    with mlir.session():
        module = ir.Module.parse(f"func.func @f(%x: i32) {{ %y = {text} : {types} -> i32 return }}")
        op = next(iter(module.body)).regions[0].blocks[0].operations[0].operation
        assert (is_pure(op), is_elementwise(op), is_rematerializable(op)) == (pure, elementwise, cheap)


def test_shapes_are_rematerializable_and_not_elementwise() -> None:
    with mlir.session():
        for name in ("tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans", "tt.make_range"):
            assert Rematerializable.declared_by(name)
            assert not maps_elements(name)


def test_what_replicates_moves_data_and_nothing_else_does_both() -> None:
    with mlir.session():
        copies = {op.OPERATION_NAME for op in TT.operations if Replicates.declared_by(op.OPERATION_NAME)}
        assert copies == {"tt.broadcast", "tt.expand_dims"}
        assert all(DataMovement.declared_by(name) for name in copies)
        assert DataMovement.declared_by("tt.trans")  # a permutation: as many elements
