"""Several ops as one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tri_core.passes import Combine
from tri_core.testing import check_passes, filecheck

_DOT = """%z = arith.constant dense<0.0> : tensor<16x16xf32>
          %0 = "tt.dot"(%a, %b, %z) {inputPrecision = 0 : i32MORE} : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
          %1 = arith.addf ORDER : tensor<16x16xf32>
          "tt.print"(%1) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<16x16xf32>) -> ()"""
_DOT_ARGUMENTS = "%a: tensor<16x16xf16>, %b: tensor<16x16xf16>, %c: tensor<16x16xf32>"

OFFSETS = [
    (
        "two constant offsets",
        '%p: tensor<8x!tt.ptr<f32, "global">>',
        """%a = arith.constant dense<40> : tensor<8xi32>
           %b = arith.constant dense<-2> : tensor<8xi32>
           %0 = "tt.addptr"(%p, %a) : (tensor<8xptr<f32>>, tensor<8xi32>) -> tensor<8xptr<f32>>
           %1 = "tt.addptr"(%0, %b) : (tensor<8xptr<f32>>, tensor<8xi32>) -> tensor<8xptr<f32>>
           "tt.print"(%1) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<8xptr<f32>>) -> ()""".replace(
            "xptr<f32>", 'x!tt.ptr<f32, "global">'
        ),
        """CHECK: %[[C:.*]] = "arith.constant"() <{value = dense<38> : tensor<8xi32>}>
           CHECK: "tt.addptr"(%arg0, %[[C]])
           CHECK-NOT: tt.addptr""",
    ),
    (
        "offsets that overflow together",
        "%p: ptr<f32>",
        """%a = arith.constant 2147483647 : i32
           %b = arith.constant 1 : i32
           %0 = "tt.addptr"(%p, %a) : (ptr<f32>, i32) -> ptr<f32>
           %1 = "tt.addptr"(%0, %b) : (ptr<f32>, i32) -> ptr<f32>
           "tt.print"(%1) {prefix = "", hex = false, isSigned = array<i32: 1>} : (ptr<f32>) -> ()""",
        "CHECK-COUNT-2: tt.addptr",
    ),
]
SELECTS = [
    (
        "select of a load",
        "%p: ptr<f32>, %m: i1",
        """%0 = "tt.load"(%p, %m) {operandSegmentSizes = array<i32: 1, 1, 0>} : (ptr<f32>, i1) -> f32
           %c = arith.constant 2.0 : f32
           %1 = arith.select %m, %0, %c : f32
           "tt.print"(%1) {prefix = "", hex = false, isSigned = array<i32: 1>} : (f32) -> ()""",
        """CHECK: %[[C:.*]] = "arith.constant"() <{value = 2.000000e+00 : f32}>
           CHECK: %[[L:.*]] = "tt.load"(%arg0, %arg1, %[[C]]) {operandSegmentSizes = array<i32: 1, 1, 1>}
           CHECK-NOT: arith.select
           CHECK: "tt.print"(%[[L]])""",
    ),
    (
        "select of a load and a splat of a constant",
        "%p: tensor<8xptr<f32>>, %m: tensor<8xi1>, %q: tensor<8xptr<f32>>",
        """%0 = "tt.load"(%p, %m) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<8xptr<f32>>, tensor<8xi1>) -> tensor<8xf32>
           %c = arith.constant 2.0 : f32
           %s = "tt.splat"(%c) : (f32) -> tensor<8xf32>
           %1 = arith.select %m, %0, %s : tensor<8xi1>, tensor<8xf32>
           "tt.store"(%q, %1) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<8xptr<f32>>, tensor<8xf32>) -> ()""",
        """CHECK: %[[C:.*]] = "arith.constant"() <{value = dense<2.000000e+00> : tensor<8xf32>}>
           CHECK: %[[L:.*]] = "tt.load"(%arg0, %arg1, %[[C]]) {operandSegmentSizes = array<i32: 1, 1, 1>}
           CHECK-NOT: arith.select""",
    ),
    (
        "select of a load by another mask",
        "%p: ptr<f32>, %m: i1, %n: i1, %x: f32",
        """%0 = "tt.load"(%p, %m, %x) {operandSegmentSizes = array<i32: 1, 1, 1>} : (ptr<f32>, i1, f32) -> f32
           %1 = arith.select %n, %0, %x : f32
           "tt.print"(%1) {prefix = "", hex = false, isSigned = array<i32: 1>} : (f32) -> ()""",
        "CHECK: arith.select",
    ),
    (
        "select of a load and what is made after it",
        "%p: ptr<f32>, %m: i1",
        """%0 = "tt.load"(%p, %m) {operandSegmentSizes = array<i32: 1, 1, 0>} : (ptr<f32>, i1) -> f32
           %2 = "tt.load"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>, isVolatile = true} : (ptr<f32>) -> f32
           %1 = arith.select %m, %0, %2 : f32
           "tt.print"(%1) {prefix = "", hex = false, isSigned = array<i32: 1>} : (f32) -> ()""",
        "CHECK: arith.select",
    ),
]
DOTS = [
    (
        "dot plus",
        _DOT_ARGUMENTS,
        _DOT.replace("MORE", "").replace("ORDER", "%0, %c"),
        'CHECK: "tt.dot"(%arg0, %arg1, %arg2) {inputPrecision = 0 : i32}\nCHECK-NOT: arith.addf',
    ),
    (
        "plus dot",
        _DOT_ARGUMENTS,
        _DOT.replace("MORE", "").replace("ORDER", "%c, %0"),
        'CHECK: "tt.dot"(%arg0, %arg1, %arg2)\nCHECK-NOT: arith.addf',
    ),
    (
        "a dot that limits imprecision",
        _DOT_ARGUMENTS,
        _DOT.replace("MORE", ", maxNumImpreciseAcc = 32 : i32").replace("ORDER", "%0, %c"),
        "CHECK: arith.addf",
    ),
    (
        "a dot that is used twice",
        _DOT_ARGUMENTS,
        _DOT.replace("MORE", "").replace("ORDER", "%0, %0"),
        "CHECK: arith.addf",
    ),
]


@pytest.mark.parametrize(
    ("arguments", "body", "checks"),
    [pytest.param(*case[1:], id=case[0]) for case in (*OFFSETS, *SELECTS, *DOTS)],
)
def test_rule(
    function: Callable[..., str], after: Callable[..., str], arguments: str, body: str, checks: str
) -> None:
    filecheck(after(Combine(), function(arguments, body)), checks)


_SUM = """// RUN: combine
CHECKS
module {
  tt.func public @k(%x: tensor<32x64xf32>, %y: tensor<64x16xf32>, %p: tensor<32x16x!tt.ptr<f32>>) {
    %0 = tt.expand_dims %x {axis = 2 : i32} : tensor<32x64xf32> -> tensor<32x64x1xf32>
    %1 = tt.expand_dims %y {axis = 0 : i32} : tensor<64x16xf32> -> tensor<1x64x16xf32>
    %2 = tt.broadcast %0 : tensor<32x64x1xf32> -> tensor<32x64x16xf32>
    %3 = tt.broadcast %1 : tensor<1x64x16xf32> -> tensor<32x64x16xf32>
    %4 = arith.OP ORDER : tensor<32x64x16xf32>
    %5 = "tt.reduce"(%4) <{axis = 1 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %6 = arith.HOW %a, %b : f32
      tt.reduce.return %6 : f32
    }) : (tensor<32x64x16xf32>) -> tensor<32x16xf32>
    tt.store %p, %5 : tensor<32x16x!tt.ptr<f32>>
    tt.return
  }
}
"""


@pytest.mark.parametrize(
    ("order", "how", "checks"),
    [
        ("%2, %3", "addf", "// CHECK: tt.dot %x, %y, %{{.*}}\n// CHECK-NOT: tt.reduce"),
        ("%3, %2", "addf", "// CHECK: tt.dot %x, %y, %{{.*}}\n// CHECK-NOT: tt.reduce"),
        ("%2, %3", "maximumf", "// CHECK-NOT: tt.dot\n// CHECK: tt.reduce"),
        ("%2, %2", "addf", "// CHECK-NOT: tt.dot\n// CHECK: tt.reduce"),
    ],
    ids=["sum", "sum, right before left", "a maximum is no dot", "no outer product"],
)
def test_sums_of_products(order: str, how: str, checks: str) -> None:
    check_passes(_sum(order, how, "mulf", checks))


def test_a_sum_of_reshaped_sums_is_no_product() -> None:
    text = _sum("%2, %3", "addf", "addf", "// CHECK-NOT: tt.dot\n// CHECK: tt.reduce")
    check_passes(text)
    # what comes of a reshape is looked at by the same rules
    reshaped = text.replace('"tt.reduce"(%4)', '"tt.reduce"(%9)').replace(
        "    %5 =", "    %9 = tt.reshape %4 : tensor<32x64x16xf32> -> tensor<32x64x16xf32>\n    %5 ="
    )
    check_passes(reshaped)


def _sum(order: str, how: str, op: str, checks: str) -> str:
    made = _SUM.replace("ORDER", order).replace("HOW", how).replace("OP", op)
    return made.replace("CHECKS", checks)


def test_a_reduction_to_a_scalar_sees_no_order() -> None:
    check_passes("""// RUN: combine,cse,canonicalize
// CHECK: %[[X:.*]] = tt.reshape %x allow_reorder : tensor<8x4xf32> -> tensor<32xf32>
// CHECK: "tt.reduce"(%[[X]])
module {
  tt.func public @k(%x: tensor<8x4xf32>, %p: !tt.ptr<f32>) {
    %0 = tt.reshape %x : tensor<8x4xf32> -> tensor<32xf32>
    %1 = "tt.reduce"(%0) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %2 = arith.addf %a, %b : f32
      tt.reduce.return %2 : f32
    }) : (tensor<32xf32>) -> f32
    tt.store %p, %1 : !tt.ptr<f32>
    tt.return
  }
}
""")


def test_a_scalar_that_chooses_a_masked_load() -> None:
    check_passes("""// RUN: combine,canonicalize
// CHECK: %[[M:.*]] = tt.splat %c : i1 -> tensor<8xi1>
// CHECK: %[[L:.*]] = tt.load %p, %[[M]], %x : tensor<8x!tt.ptr<f32>>
// CHECK-NOT: arith.select
// CHECK: tt.store %p, %[[L]]
module {
  tt.func public @k(%c: i1, %x: tensor<8xf32>, %p: tensor<8x!tt.ptr<f32>>) {
    %0 = tt.splat %c : i1 -> tensor<8xi1>
    %1 = tt.load %p, %0 : tensor<8x!tt.ptr<f32>>
    %2 = arith.select %c, %1, %x : tensor<8xf32>
    tt.store %p, %2 : tensor<8x!tt.ptr<f32>>
    tt.return
  }
}
""")
