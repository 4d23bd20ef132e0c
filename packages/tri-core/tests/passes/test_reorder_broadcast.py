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


LOADS = """module {
  tt.func public @k(%p: tensor<8x1x!tt.ptr<f32>>, %m: tensor<8x1xi1>, %any: tensor<1x4xi1>, %full: tensor<8x4xi1>, %s: i32, %n: i32, %z: f32, %q: tensor<8x4x!tt.ptr<f32>>) {
    %0 = tt.broadcast %p : tensor<8x1x!tt.ptr<f32>> -> tensor<8x4x!tt.ptr<f32>>
    %rows = tt.broadcast %m : tensor<8x1xi1> -> tensor<8x4xi1>
    %unknown = tt.broadcast %any : tensor<1x4xi1> -> tensor<8x4xi1>
    %range = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32>
    %start = tt.splat %s : i32 -> tensor<4xi32>
    %columns = arith.addi %start, %range : tensor<4xi32>
    %bound = tt.splat %n : i32 -> tensor<4xi32>
    %below = arith.cmpi slt, %columns, %bound : tensor<4xi32>
    %wide = tt.expand_dims %below {axis = 0 : i32} : tensor<4xi1> -> tensor<1x4xi1>
    %inside = tt.broadcast %wide : tensor<1x4xi1> -> tensor<8x4xi1>
    %others = tt.splat %z : f32 -> tensor<8x4xf32>
    BODY
    tt.store %q, %x : tensor<8x4x!tt.ptr<f32>>
    tt.return
  }
}
"""


@pytest.mark.parametrize(
    ("body", "checks"),
    [
        pytest.param(
            "%x = tt.load %0 : tensor<8x4x!tt.ptr<f32>>",
            "CHECK: %[[X:.*]] = tt.load %p : tensor<8x1x!tt.ptr<f32>>\nCHECK: tt.broadcast %[[X]]",
            id="without a mask",
        ),
        pytest.param(
            "%x = tt.load %0, %rows, %others : tensor<8x4x!tt.ptr<f32>>",
            """CHECK: %[[O:.*]] = tt.splat %z : f32 -> tensor<8x1xf32>
CHECK: tt.load %p, %m, %[[O]] : tensor<8x1x!tt.ptr<f32>>""",
            id="a mask of the pointers'",
        ),
        pytest.param(
            "%both = arith.andi %rows, %inside : tensor<8x4xi1>\n%x = tt.load %0, %both : tensor<8x4x!tt.ptr<f32>>",
            """CHECK: %[[L:.*]] = arith.addi %s, %{{.*}} : i32
CHECK: %[[A:.*]] = arith.cmpi slt, %s, %n : i32
CHECK: %[[W:.*]] = arith.cmpi slt, %[[L]], %s : i32
CHECK: arith.ori %[[A]]
CHECK: %[[M:.*]] = arith.andi %{{.*}}, %m : tensor<8x1xi1>
CHECK: tt.load %p, %[[M]] : tensor<8x1x!tt.ptr<f32>>
CHECK-NOT: arith.select""",
            id="whether a comparison is true anywhere",
        ),
        pytest.param(
            "%x = tt.load %0, %inside, %others : tensor<8x4x!tt.ptr<f32>>",
            """CHECK: %[[X:.*]] = tt.load %p, %{{.*}} : tensor<8x1x!tt.ptr<f32>>
CHECK: %[[B:.*]] = tt.broadcast %[[X]]
CHECK: arith.select %{{.*}}, %[[B]], %{{.*}} : tensor<8x4xi1>, tensor<8x4xf32>""",
            id="other values are chosen afterwards",
        ),
        pytest.param(
            "%x = tt.load %0, %unknown : tensor<8x4x!tt.ptr<f32>>",
            "CHECK: tt.load {{.*}} : tensor<8x4x!tt.ptr<f32>>",
            id="a mask that is not known by its ends",
        ),
        pytest.param(
            "%x = tt.load %0, %full : tensor<8x4x!tt.ptr<f32>>",
            "CHECK: tt.load {{.*}} : tensor<8x4x!tt.ptr<f32>>",
            id="a mask of its own for each element",
        ),
        pytest.param(
            "%x = tt.load %0 {isVolatile = true} : tensor<8x4x!tt.ptr<f32>>",
            "CHECK: tt.load {{.*}} : tensor<8x4x!tt.ptr<f32>>",
            id="each element is read again",
        ),
    ],
)
def test_loads_through_broadcast_pointers(body: str, checks: str) -> None:
    check_passes(
        "// RUN: reorder-broadcast,canonicalize,cse\n"
        + "".join(f"// {line.strip()}\n" for line in checks.splitlines())
        + LOADS.replace("BODY", body)
    )
