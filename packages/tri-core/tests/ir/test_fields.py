"""The operands that an op's class declares."""

from __future__ import annotations

from tri_core.dialects import tt
from tri_core.ir.fields import operand_names


def test_operands_are_named_in_order_without_results_and_attributes() -> None:
    assert operand_names(tt.AtomicRmwOp) == ("ptr", "val", "mask")
    assert operand_names(tt.DotOp) == ("a", "b", "c")
    assert operand_names(tt.MakeRangeOp) == ()


def test_an_op_with_a_variadic_operand_has_no_names_of_operands() -> None:
    assert operand_names(tt.ReduceOp) is None
