"""Scaled dots become conversions, scales and a plain dot."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_core.passes import DecomposeDotScaled
from tri_core.testing import filecheck

ARGUMENTS = "%a: tensor<16x32xi8>, %b: tensor<64x16xf8E5M2>, %c: tensor<16x16xf32>, %s: tensor<16x2xi8>, %h: tensor<64x16xf16>"


def dot(b: str, type_: str, attributes: str) -> str:
    return f"""
%r = "tt.dot_scaled"(%a, {b}, %c, %s) {{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, {attributes}}} : (tensor<16x32xi8>, {type_}, tensor<16x16xf32>, tensor<16x2xi8>) -> tensor<16x16xf32>
"tt.print"(%r) {{prefix = "", hex = false, isSigned = array<i32: 1>}} : (tensor<16x16xf32>) -> ()
"""


FP4_FP8 = "a_elem_type = 4 : i32, b_elem_type = 1 : i32"


def test_in_bf16(function: Callable[..., str], after: Callable[..., str]) -> None:
    body = dot("%b", "tensor<64x16xf8E5M2>", f"{FP4_FP8}, fastMath = false")
    filecheck(
        after(DecomposeDotScaled(), function(ARGUMENTS, body)),
        """CHECK-NOT: dot_scaled
           CHECK: "tt.join"
           CHECK: %[[A:.*]] = "tt.reshape"
           CHECK-SAME: tensor<16x64xbf16>
           CHECK: "arith.maxui"
           CHECK: %[[E:.*]] = "tt.bitcast"
           CHECK-SAME: tensor<16x2xbf16>
           CHECK: %[[N:.*]] = "arith.constant"() <{value = dense<0x7FC0> : tensor<16x2xbf16>}>
           CHECK: "arith.select"(%{{.*}}, %[[N]], %[[E]])
           CHECK: "tt.broadcast"
           CHECK: %[[S:.*]] = "tt.reshape"
           CHECK: %[[X:.*]] = "arith.mulf"(%[[A]], %[[S]])
           CHECK: %[[B:.*]] = "tt.fp_to_fp"(%arg1)
           CHECK: "tt.dot"(%[[X]], %[[B]], %arg2) {inputPrecision = 2 : i32}""",
    )


def test_fast_math_leaves_nan_out(function: Callable[..., str], after: Callable[..., str]) -> None:
    body = dot("%b", "tensor<64x16xf8E5M2>", f"{FP4_FP8}, fastMath = true")
    filecheck(
        after(DecomposeDotScaled(), function(ARGUMENTS, body)),
        """CHECK: %[[P:.*]] = "arith.mulf"
           CHECK-NOT: 0x7FC0
           CHECK: "tt.dot"(%[[P]],""",
    )


def test_in_f16_beside_f16(function: Callable[..., str], after: Callable[..., str]) -> None:
    body = dot("%h", "tensor<64x16xf16>", "a_elem_type = 4 : i32, b_elem_type = 6 : i32, fastMath = true")
    filecheck(
        after(DecomposeDotScaled(), function(ARGUMENTS, body)),
        """CHECK: "arith.truncf"
           CHECK: "arith.mulf"
           CHECK-SAME: tensor<16x64xf16>
           CHECK: "tt.dot"(%{{.*}}, %arg4, %arg2)""",
    )


def test_formats_that_nobody_has(function: Callable[..., str], after: Callable[..., str]) -> None:
    attributes = "a_elem_type = 4 : i32, b_elem_type = 2 : i32, fastMath = true"
    with pytest.raises(Unsupported, match="e2m3"):
        after(DecomposeDotScaled(), function(ARGUMENTS, dot("%b", "tensor<64x16xf8E5M2>", attributes)))


def test_what_a_target_does_itself_stays(function: Callable[..., str], after: Callable[..., str]) -> None:
    """Ops are asked about one by one; the reasons for others are kept, with their places, once each."""
    wide = dot("%b", "tensor<64x16xf8E5M2>", f"{FP4_FP8}, fastMath = false").replace("%r", "%w")
    half = dot("%h", "tensor<64x16xf16>", "a_elem_type = 4 : i32, b_elem_type = 6 : i32, fastMath = true")

    def refuses(op: ir.Operation) -> str | None:
        return "no f16 here" if ir.IntegerAttr(op.attributes["b_elem_type"]).value == 6 else None

    filecheck(
        after(
            DecomposeDotScaled(refuses=refuses), function(ARGUMENTS, wide + half + half.replace("%r", "%s2"))
        ),
        """CHECK: "tt.dot_scaled"(%arg0, %arg1
           CHECK-NOT: "tt.dot_scaled"
           CHECK: "tt.dot"(%{{.*}}, %arg4, %arg2)
           CHECK: "tt.dot"(%{{.*}}, %arg4, %arg2)
           CHECK: tt.dot_scaled_decomposed = [
           CHECK-SAME: by conversions and a plain one: no f16 here""",
    )


def test_targets_that_have_none_say_nothing(function: Callable[..., str], after: Callable[..., str]) -> None:
    body = dot("%b", "tensor<64x16xf8E5M2>", f"{FP4_FP8}, fastMath = false")
    assert "dot_scaled" not in after(DecomposeDotScaled(), function(ARGUMENTS, body))
