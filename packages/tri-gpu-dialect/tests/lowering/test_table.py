from __future__ import annotations

from collections.abc import Sequence

import pytest

from tri_core.errors import PluginError
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Lowered, Lowering, LoweringTable, generic_table


def first(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    return []


def second(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    return []


def never(ctx: Lowering, op: ir.Operation) -> bool:
    return False


class Op:
    name = "tt.dot"


def test_the_largest_benefit_whose_condition_holds_wins() -> None:
    table = LoweringTable()
    table.add("tt.dot", first, benefit=1)
    table.add("tt.dot", second, benefit=20, when=never)
    found = table.find(None, Op())  # type: ignore[arg-type]
    assert found is not None
    assert found.rule is first


def test_two_rules_at_one_benefit_are_an_error_that_names_both() -> None:
    table = generic_table()
    table.add("tt.dot", first, owner="one plugin")
    with pytest.raises(PluginError, match="one plugin and another plugin"):
        table.add("tt.dot", second, owner="another plugin")


def test_the_text_does_not_depend_on_the_order_of_plugins() -> None:
    one, other = LoweringTable(), LoweringTable()
    one.add("tt.dot", first, benefit=5)
    one.add("tt.dot", second, benefit=7)
    other.add("tt.dot", second, benefit=7)
    other.add("tt.dot", first, benefit=5)
    assert one.text() == other.text()
    assert "second" in one.text().splitlines()[0]


def test_an_op_without_a_rule_is_not_found() -> None:
    assert LoweringTable().find(None, Op()) is None  # type: ignore[arg-type]
