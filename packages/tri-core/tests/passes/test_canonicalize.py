"""The rules of canonicalization, one by one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tri_core.passes import Canonicalize
from tri_core.testing import filecheck

# name, arguments, body (results used by a store-like sink), checks
# name, arguments, body (results used by a store-like sink), checks
SHAPES = [
    (
        "splat of a constant",
        "",
        """%c = arith.constant 7 : i32
           %0 = "tt.splat"(%c) : (i32) -> tensor<8xi32>
           "tt.print"(%0) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<8xi32>) -> ()""",
        """CHECK: %[[C:.*]] = "arith.constant"() <{value = dense<7> : tensor<8xi32>}>
           CHECK-NOT: tt.splat
           CHECK: "tt.print"(%[[C]])""",
    ),
    (
        "broadcast of a splat",
        "%s: f32",
        """%0 = "tt.splat"(%s) : (f32) -> tensor<8x1xf32>
           %1 = "tt.broadcast"(%0) : (tensor<8x1xf32>) -> tensor<8x4xf32>
           "tt.print"(%1) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<8x4xf32>) -> ()""",
        """CHECK: %[[S:.*]] = "tt.splat"(%arg0) : (f32) -> tensor<8x4xf32>
           CHECK-NOT: tt.broadcast
           CHECK: "tt.print"(%[[S]])""",
    ),
    (
        "broadcast to its own type",
        "%x: tensor<8xf32>",
        """%0 = "tt.broadcast"(%x) : (tensor<8xf32>) -> tensor<8xf32>
           "tt.print"(%0) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<8xf32>) -> ()""",
        'CHECK-NOT: tt.broadcast\nCHECK: "tt.print"(%arg0)',
    ),
    (
        "broadcast of a broadcast",
        "%x: tensor<1x1x8xf32>",
        """%0 = "tt.broadcast"(%x) : (tensor<1x1x8xf32>) -> tensor<1x4x8xf32>
           %1 = "tt.broadcast"(%0) : (tensor<1x4x8xf32>) -> tensor<2x4x8xf32>
           "tt.print"(%1) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<2x4x8xf32>) -> ()""",
        'CHECK: "tt.broadcast"(%arg0) : (tensor<1x1x8xf32>) -> tensor<2x4x8xf32>\nCHECK-NOT: tt.broadcast',
    ),
    (
        "expand_dims of a constant",
        "",
        """%c = arith.constant dense<1.5> : tensor<8xf32>
           %0 = "tt.expand_dims"(%c) {axis = 0 : i32} : (tensor<8xf32>) -> tensor<1x8xf32>
           "tt.print"(%0) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<1x8xf32>) -> ()""",
        "CHECK: dense<1.500000e+00> : tensor<1x8xf32>\nCHECK-NOT: tt.expand_dims",
    ),
    (
        "expand_dims of a broadcast",
        "%x: tensor<8x1xf32>",
        """%0 = "tt.broadcast"(%x) : (tensor<8x1xf32>) -> tensor<8x4xf32>
           %1 = "tt.expand_dims"(%0) {axis = 1 : i32} : (tensor<8x4xf32>) -> tensor<8x1x4xf32>
           "tt.print"(%1) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<8x1x4xf32>) -> ()""",
        """CHECK: %[[E:.*]] = "tt.expand_dims"(%arg0) {axis = 1 : i32} : (tensor<8x1xf32>) -> tensor<8x1x1xf32>
           CHECK-NEXT: "tt.broadcast"(%[[E]]) : (tensor<8x1x1xf32>) -> tensor<8x1x4xf32>""",
    ),
    (
        "reshape of a reshape",
        "%x: tensor<8x4xf32>",
        """%0 = "tt.reshape"(%x) {allow_reorder} : (tensor<8x4xf32>) -> tensor<32xf32>
           %1 = "tt.reshape"(%0) : (tensor<32xf32>) -> tensor<4x8xf32>
           "tt.print"(%1) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<4x8xf32>) -> ()""",
        """CHECK: "tt.reshape"(%arg0) {allow_reorder} : (tensor<8x4xf32>) -> tensor<4x8xf32>
           CHECK-NOT: tt.reshape""",
    ),
    (
        "reshape there and back",
        "%x: tensor<8x4xf32>",
        """%0 = "tt.reshape"(%x) : (tensor<8x4xf32>) -> tensor<32xf32>
           %1 = "tt.reshape"(%0) : (tensor<32xf32>) -> tensor<8x4xf32>
           "tt.print"(%1) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<8x4xf32>) -> ()""",
        'CHECK-NOT: tt.reshape\nCHECK: "tt.print"(%arg0)',
    ),
    (
        "a layout that is wanted stays",
        "%x: tensor<8x4xf32>",
        """%0 = "tt.reshape"(%x) {efficient_layout} : (tensor<8x4xf32>) -> tensor<8x4xf32>
           "tt.print"(%0) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<8x4xf32>) -> ()""",
        "CHECK: tt.reshape",
    ),
    (
        "trans of a trans",
        "%x: tensor<2x4x8xf32>",
        """%0 = "tt.trans"(%x) {order = array<i32: 2, 0, 1>} : (tensor<2x4x8xf32>) -> tensor<8x2x4xf32>
           %1 = "tt.trans"(%0) {order = array<i32: 1, 0, 2>} : (tensor<8x2x4xf32>) -> tensor<2x8x4xf32>
           "tt.print"(%1) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<2x8x4xf32>) -> ()""",
        """CHECK: "tt.trans"(%arg0) {order = array<i32: 0, 2, 1>} : (tensor<2x4x8xf32>) -> tensor<2x8x4xf32>
           CHECK-NOT: tt.trans""",
    ),
    (
        "trans there and back",
        "%x: tensor<4x8xf32>",
        """%0 = "tt.trans"(%x) {order = array<i32: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
           %1 = "tt.trans"(%0) {order = array<i32: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
           "tt.print"(%1) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<4x8xf32>) -> ()""",
        'CHECK-NOT: tt.trans\nCHECK: "tt.print"(%arg0)',
    ),
    (
        "unsplat of a splat",
        "%s: f32",
        """%0 = "tt.splat"(%s) : (f32) -> tensor<1xf32>
           %1 = "tt.unsplat"(%0) : (tensor<1xf32>) -> f32
           "tt.print"(%1) {prefix = "", hex = false, isSigned = array<i32: 1>} : (f32) -> ()""",
        'CHECK-NOT: splat\nCHECK: "tt.print"(%arg0)',
    ),
    (
        "split of a join",
        "%x: tensor<4xf32>, %y: tensor<4xf32>",
        """%0 = "tt.join"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4x2xf32>
           %1:2 = "tt.split"(%0) : (tensor<4x2xf32>) -> (tensor<4xf32>, tensor<4xf32>)
           "tt.print"(%1#1, %1#0) {prefix = "", hex = false, isSigned = array<i32: 1, 1>} : (tensor<4xf32>, tensor<4xf32>) -> ()""",
        'CHECK-NOT: tt.split\nCHECK: "tt.print"(%arg1, %arg0)',
    ),
    (
        "join of a split",
        "%x: tensor<4x2xf32>",
        """%1:2 = "tt.split"(%x) : (tensor<4x2xf32>) -> (tensor<4xf32>, tensor<4xf32>)
           %0 = "tt.join"(%1#0, %1#1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4x2xf32>
           %2 = "tt.join"(%1#1, %1#0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4x2xf32>
           "tt.print"(%0, %2) {prefix = "", hex = false, isSigned = array<i32: 1, 1>} : (tensor<4x2xf32>, tensor<4x2xf32>) -> ()""",
        """CHECK-COUNT-1: %[[J:.*]] = "tt.join"
           CHECK-NOT: tt.join
           CHECK: "tt.print"(%arg0, %[[J]])""",
    ),
    (
        "range of one",
        "",
        """%0 = "tt.make_range"() {start = 5 : i32, end = 6 : i32} : () -> tensor<1xi32>
           "tt.print"(%0) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<1xi32>) -> ()""",
        "CHECK: dense<5> : tensor<1xi32>\nCHECK-NOT: tt.make_range",
    ),
]

POINTERS = [
    (
        "no offset",
        "%p: ptr<f32>",
        """%c = arith.constant 0 : i32
           %0 = "tt.addptr"(%p, %c) : (ptr<f32>, i32) -> ptr<f32>
           "tt.print"(%0) {prefix = "", hex = false, isSigned = array<i32: 1>} : (ptr<f32>) -> ()""",
        'CHECK-NOT: tt.addptr\nCHECK: "tt.print"(%arg0)',
    ),
    (
        "bitcast of a bitcast",
        "%x: tensor<8xf32>",
        """%0 = "tt.bitcast"(%x) : (tensor<8xf32>) -> tensor<8xi32>
           %1 = "tt.bitcast"(%0) : (tensor<8xi32>) -> tensor<8xf32>
           "tt.print"(%1) {prefix = "", hex = false, isSigned = array<i32: 1>} : (tensor<8xf32>) -> ()""",
        'CHECK-NOT: tt.bitcast\nCHECK: "tt.print"(%arg0)',
    ),
    (
        "a pointer as an integer as a pointer",
        "%p: ptr<f32>",
        """%0 = "tt.ptr_to_int"(%p) : (ptr<f32>) -> i64
           %1 = "tt.int_to_ptr"(%0) : (i64) -> ptr<i32>
           "tt.print"(%1) {prefix = "", hex = false, isSigned = array<i32: 1>} : (ptr<i32>) -> ()""",
        'CHECK-NOT: int_to\nCHECK: "tt.bitcast"(%arg0)',
    ),
    (
        "an integer as a pointer as an integer",
        "%i: i64",
        """%0 = "tt.int_to_ptr"(%i) : (i64) -> ptr<i32>
           %1 = "tt.ptr_to_int"(%0) : (ptr<i32>) -> i64
           "tt.print"(%1) {prefix = "", hex = false, isSigned = array<i32: 1>} : (i64) -> ()""",
        'CHECK-NOT: to_\nCHECK: "tt.print"(%arg0)',
    ),
]
MEMORY = [
    (
        "load with a true mask",
        "%p: ptr<f32>, %o: f32",
        """%t = arith.constant true
           %0 = "tt.load"(%p, %t, %o) {cache = 3 : i32, operandSegmentSizes = array<i32: 1, 1, 1>} : (ptr<f32>, i1, f32) -> f32
           "tt.print"(%0) {prefix = "", hex = false, isSigned = array<i32: 1>} : (f32) -> ()""",
        'CHECK: "tt.load"(%arg0) {cache = 3 : i32, operandSegmentSizes = array<i32: 1, 0, 0>} :',
    ),
    (
        "load with a false mask",
        "%p: ptr<f32>, %o: f32",
        """%t = arith.constant false
           %0 = "tt.load"(%p, %t, %o) {operandSegmentSizes = array<i32: 1, 1, 1>} : (ptr<f32>, i1, f32) -> f32
           "tt.print"(%0) {prefix = "", hex = false, isSigned = array<i32: 1>} : (f32) -> ()""",
        'CHECK-NOT: tt.load\nCHECK: "tt.print"(%arg1)',
    ),
    (
        "volatile loads stay as they are",
        "%p: ptr<f32>, %o: f32",
        """%t = arith.constant false
           %0 = "tt.load"(%p, %t, %o) {isVolatile = true, operandSegmentSizes = array<i32: 1, 1, 1>} : (ptr<f32>, i1, f32) -> f32""",
        'CHECK: "tt.load"(%arg0, %{{.*}}, %arg1)',
    ),
    (
        "load that nobody reads",
        "%p: ptr<f32>",
        '%0 = "tt.load"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>} : (ptr<f32>) -> f32',
        "CHECK: tt.func\nCHECK-NOT: tt.load",
    ),
    (
        "stores with known masks",
        "%p: ptr<f32>, %q: ptr<f32>, %x: f32",
        """%t = arith.constant true
           %f = arith.constant false
           "tt.store"(%p, %x, %t) {evict = 2 : i32, operandSegmentSizes = array<i32: 1, 1, 1>} : (ptr<f32>, f32, i1) -> ()
           "tt.store"(%q, %x, %f) {operandSegmentSizes = array<i32: 1, 1, 1>} : (ptr<f32>, f32, i1) -> ()""",
        """CHECK: "tt.store"(%arg0, %arg2) {evict = 2 : i32, operandSegmentSizes = array<i32: 1, 1, 0>}
           CHECK-NOT: tt.store""",
    ),
    (
        "assertion of the true",
        "%c: i1",
        """%t = arith.constant true
           "tt.assert"(%t) {message = "never"} : (i1) -> ()
           "tt.assert"(%c) {message = "perhaps"} : (i1) -> ()""",
        'CHECK-NOT: never\nCHECK: message = "perhaps"',
    ),
]

CONVERSIONS = [
    (
        "integers that f32 holds",
        "%x: i16, %y: tensor<8xi8>",
        """%0 = arith.sitofp %x : i16 to f32
           %1 = arith.truncf %0 : f32 to bf16
           %2 = arith.uitofp %y : tensor<8xi8> to tensor<8xf32>
           %3 = arith.truncf %2 : tensor<8xf32> to tensor<8xf16>
           "tt.print"(%1, %3) {prefix = "", hex = false, isSigned = array<i32: 1, 1>} : (bf16, tensor<8xf16>) -> ()""",
        """CHECK: "arith.sitofp"(%arg0) : (i16) -> bf16
           CHECK: "arith.uitofp"(%arg1) : (tensor<8xi8>) -> tensor<8xf16>
           CHECK-NOT: truncf""",
    ),
    *(
        (
            f"{name} of {integer} through {wide} rounds twice",
            f"%x: {integer}",
            f"""%0 = arith.{name} %x : {integer} to {wide}
                %1 = arith.truncf %0 : {wide} to {narrow}
                "tt.print"(%1) {{prefix = "", hex = false, isSigned = array<i32: 1>}} : ({narrow}) -> ()""",
            f"""CHECK: %[[W:.*]] = "arith.{name}"(%arg0) : ({integer}) -> {wide}
                CHECK: "arith.truncf"(%[[W]])""",
        )
        for name, integer, wide, narrow in (
            ("sitofp", "i32", "f32", "bf16"),
            ("uitofp", "i64", "f32", "bf16"),
            ("sitofp", "i64", "f64", "f32"),
            ("uitofp", "tensor<8xi64>", "tensor<8xf64>", "tensor<8xf32>"),
        )
    ),
]


@pytest.mark.parametrize(
    ("arguments", "body", "checks"),
    [pytest.param(*case[1:], id=case[0]) for case in (*SHAPES, *POINTERS, *MEMORY, *CONVERSIONS)],
)
def test_rule(
    function: Callable[..., str], after: Callable[..., str], arguments: str, body: str, checks: str
) -> None:
    filecheck(after(Canonicalize(), function(arguments, body)), checks)
