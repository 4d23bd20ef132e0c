"""Rows that are loaded beside blocks: right behind the first of them, with the numbers that they need."""

from __future__ import annotations

import pytest

import tri_gpu_dialect.text  # noqa: F401  registers the text of ttg
from tri_core import text
from tri_core.dialects.tt import DescriptorLoadOp
from tri_gpu_dialect.async_units.grouped_row_loads import lift_rows
from tri_gpu_dialect.edit import all_ops, functions

PROGRAM = """
module {
  tt.func public @f(%d: !tt.tensordesc<64x64xf16>, %e: !tt.tensordesc<64xf32>, %p: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      %x = tt.descriptor_load %d[%i, %c0] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>
      %y = tt.descriptor_load %d[%c0, %i] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>
      BETWEEN
      %at = arith.addi %i, %n : i32
      %r = tt.descriptor_load %e[PLACE] : !tt.tensordesc<64xf32> -> tensor<64xf32>
      %s = tt.descriptor_load %e[%i] : !tt.tensordesc<64xf32> -> tensor<64xf32>
    }
    tt.return
  }
}
"""


def ranks(between: str = "", place: str = "%at") -> list[int]:
    """The dimensions of what is loaded, in order, once rows were lifted."""
    module = text.parse_module(PROGRAM.replace("BETWEEN", between).replace("PLACE", place))
    (function,) = functions(module)
    lift_rows(function)
    assert module.operation.verify()
    return [
        len(op.results[0].type.shape)
        for op in all_ops(function)
        if op.name == DescriptorLoadOp.OPERATION_NAME
    ]


@pytest.mark.parametrize("place", ["%at", "%i"])
def test_rows_come_behind_the_first_block(place: str) -> None:
    assert ranks(place=place) == [2, 1, 1, 2]


def test_rows_stay_behind_what_writes_or_waits() -> None:
    assert ranks("tt.store %p, %i : !tt.ptr<i32>") == [2, 2, 1, 1]
    assert ranks("tt.grid_dependency_wait") == [2, 2, 1, 1]


def test_a_row_at_a_loaded_place_stays() -> None:
    """The number's load is left where it is; the other row needs none."""
    assert ranks("%z = tt.load %p : !tt.ptr<i32>", "%z") == [2, 1, 2, 1]
