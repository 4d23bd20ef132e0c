"""Rules that are applied until none applies."""

from __future__ import annotations

from tri_core import mlir
from tri_core.dialects import tt  # noqa: F401  registers the dialect
from tri_core.ir.walking import collect
from tri_core.mlir import ir
from tri_core.passes.rewriting import RuleTable, rewrite

SUMS = """
func.func @f(%x: tensor<8xi32>, %y: i32) -> (i32, i32) {
  %0 = "tt.reduce"(%x) ({
  ^bb0(%l: i32, %r: i32):
    %s = arith.addi %l, %r : i32
    %t = arith.addi %s, %r : i32
    "tt.reduce_return"(%t) : (i32) -> ()
  }) {axis = 0 : i32} : (tensor<8xi32>) -> i32
  %1 = arith.addi %0, %y : i32
  return %0, %1 : i32, i32
}
"""


def test_what_is_inside_of_a_replaced_op_is_not_asked_any_more() -> None:
    table, asked = RuleTable(), list[str]()

    @table.rule("tt.reduce")
    def none_is_added(op: ir.Operation) -> list[ir.Value]:
        with ir.InsertionPoint(op), op.location:
            zero = ir.IntegerAttr.get(op.results[0].type, 0)
            made = ir.Operation.create("arith.constant", [op.results[0].type], attributes={"value": zero})
        return list(made.results)

    @table.rule("arith.addi")
    def seen(op: ir.Operation) -> None:
        asked.append(str(op.operands[1].type))

    with mlir.session():
        module = mlir.parse(SUMS)
        assert rewrite(module, table)
        mlir.verify(module)
        names = [op.name for op in collect(module.operation)]
    assert "tt.reduce" not in names
    assert names.count("arith.addi") == 1
    # the one that is left, in both sweeps
    assert asked == ["i32"] * 2
