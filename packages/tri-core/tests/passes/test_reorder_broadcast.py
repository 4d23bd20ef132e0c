"""Splats and broadcasts after elementwise ops."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tri_core.mlir import ir
from tri_core.passes import Canonicalize, Pass, ReorderBroadcast
from tri_core.pipeline import StageContext
from tri_core.testing import check_passes, filecheck

# name, arguments, body (results used by a store-like sink), checks
ELEMENTWISE = [
    (
        "arithmetic on splats",
        "%a: i32, %b: i32",
        """%0 = "tt.splat"(%a) : (i32) -> tensor<8xi32>
           %1 = "tt.splat"(%b) : (i32) -> tensor<8xi32>
           %2 = arith.addi %0, %1 overflow<nsw> : tensor<8xi32>
           "tt.print"(%2) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<8xi32>) -> ()""",
        """CHECK: %[[S:.*]] = "arith.addi"(%arg0, %arg1) <{overflowFlags = #arith.overflow<nsw>}> : (i32, i32) -> i32
           CHECK-NEXT: "tt.splat"(%[[S]])""",
    ),
    (
        "comparison and selection on splats and constants",
        "%a: f32",
        """%0 = "tt.splat"(%a) : (f32) -> tensor<8xf32>
           %c = arith.constant dense<1.0> : tensor<8xf32>
           %1 = arith.cmpf olt, %0, %c : tensor<8xf32>
           %2 = arith.select %1, %0, %c : tensor<8xi1>, tensor<8xf32>
           "tt.print"(%2) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<8xf32>) -> ()""",
        """CHECK: "arith.cmpf"({{.*}}) {{.*}} : (f32, f32) -> i1
           CHECK-NEXT: %[[V:.*]] = "arith.select"({{.*}}) : (i1, f32, f32) -> f32
           CHECK-NEXT: "tt.splat"(%[[V]])""",
    ),
    (
        "a pointer and an offset",
        "%p: ptr<f32>, %i: i32",
        """%0 = "tt.splat"(%p) : (ptr<f32>) -> tensor<8x!tt.ptr<f32, "global">>
           %1 = "tt.splat"(%i) : (i32) -> tensor<8xi32>
           %2 = "tt.addptr"(%0, %1) : (tensor<8x!tt.ptr<f32, "global">>, tensor<8xi32>) -> tensor<8x!tt.ptr<f32, "global">>
           "tt.print"(%2) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<8x!tt.ptr<f32, "global">>) -> ()""",
        """CHECK: %[[P:.*]] = "tt.addptr"(%arg0, %arg1) : (!tt.ptr<f32, "global">, i32)
           CHECK-NEXT: "tt.splat"(%[[P]])""",
    ),
    (
        "arithmetic on broadcasts and splats",
        "%x: tensor<8x1xf32>, %s: f32",
        """%0 = "tt.broadcast"(%x) : (tensor<8x1xf32>) -> tensor<8x4xf32>
           %1 = "tt.splat"(%s) : (f32) -> tensor<8x4xf32>
           %2 = arith.mulf %0, %1 : tensor<8x4xf32>
           %3 = math.exp %2 : tensor<8x4xf32>
           "tt.print"(%3) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<8x4xf32>) -> ()""",
        """CHECK: %[[S:.*]] = "tt.splat"(%arg1) : (f32) -> tensor<8x1xf32>
           CHECK: %[[M:.*]] = "arith.mulf"(%arg0, %[[S]])
           CHECK-NEXT: %[[E:.*]] = "math.exp"(%[[M]]) {{.*}} : (tensor<8x1xf32>) -> tensor<8x1xf32>
           CHECK-NEXT: "tt.broadcast"(%[[E]])""",
    ),
    (
        "broadcasts from different shapes",
        "%x: tensor<8x1xf32>, %y: tensor<1x4xf32>",
        """%0 = "tt.broadcast"(%x) : (tensor<8x1xf32>) -> tensor<8x4xf32>
           %1 = "tt.broadcast"(%y) : (tensor<1x4xf32>) -> tensor<8x4xf32>
           %2 = arith.mulf %0, %1 : tensor<8x4xf32>
           "tt.print"(%2) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<8x4xf32>) -> ()""",
        "CHECK-COUNT-2: tt.broadcast\nCHECK: arith.mulf",
    ),
]


class _Both(Pass):
    """The pass, and canonicalization, which erases what it leaves dead."""

    name = "both"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        ReorderBroadcast().apply(module, context)
        Canonicalize().apply(module, context)


@pytest.mark.parametrize(
    ("arguments", "body", "checks"), [pytest.param(*case[1:], id=case[0]) for case in ELEMENTWISE]
)
def test_rule(
    function: Callable[..., str], after: Callable[..., str], arguments: str, body: str, checks: str
) -> None:
    filecheck(after(_Both(), function(arguments, body)), checks)


def test_in_the_syntax_of_triton() -> None:
    check_passes("""// RUN: reorder-broadcast,canonicalize
// CHECK: %[[S:.*]] = arith.mulf %a, %b : f32
// CHECK: %[[E:.*]] = math.exp %x : tensor<8x1xf32>
// CHECK: %[[X:.*]] = tt.splat %[[S]] : f32 -> tensor<8x1xf32>
// CHECK: %[[M:.*]] = arith.addf %[[E]], %[[X]] : tensor<8x1xf32>
// CHECK: tt.broadcast %[[M]] : tensor<8x1xf32> -> tensor<8x4xf32>
module {
  tt.func public @k(%a: f32, %b: f32, %x: tensor<8x1xf32>, %p: tensor<8x4x!tt.ptr<f32>>) {
    %0 = tt.splat %a : f32 -> tensor<8x4xf32>
    %1 = tt.splat %b : f32 -> tensor<8x4xf32>
    %2 = arith.mulf %0, %1 : tensor<8x4xf32>
    %3 = tt.broadcast %x : tensor<8x1xf32> -> tensor<8x4xf32>
    %4 = math.exp %3 : tensor<8x4xf32>
    %5 = arith.addf %4, %2 : tensor<8x4xf32>
    tt.store %p, %5 : tensor<8x4x!tt.ptr<f32>>
    tt.return
  }
}
""")
