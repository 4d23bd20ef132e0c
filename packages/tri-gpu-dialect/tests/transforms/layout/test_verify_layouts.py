from __future__ import annotations

import pytest

from tri_core.api import StageContext, VerificationError
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import Blocked, Slice
from tri_gpu_dialect.passes import VerifyLayouts

MATRIX = Blocked((1, 1), (1, 32), (4, 1), (1, 0))
VECTOR = Blocked((1,), (32,), (4,), (0,))


def check(body: str, context: StageContext, warps: int = 4) -> None:
    attributes = (
        f'"ttg.num-warps" = {warps} : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32'
    )
    text = (
        f'module attributes {{{attributes}}} {{ "tt.func"() ({{ ^bb0(%n: i32, %c: i1):\n{body}\n'
        '"tt.return"() : () -> () }) {sym_name = "f", function_type = (i32, i1) -> ()} : () -> () }'
    )
    VerifyLayouts().apply(ir.Module.parse(text), context)


CONSTANT = f"%v = arith.constant dense<1.0> : tensor<64xf32, {VECTOR}>"


def test_what_agrees_passes(context: StageContext) -> None:
    sliced = Slice(0, MATRIX)
    check(
        f"%v = arith.constant dense<1.0> : tensor<64xf32, {sliced}>\n"
        f'%m = "tt.expand_dims"(%v) {{axis = 0 : i32}} : (tensor<64xf32, {sliced}>) -> tensor<1x64xf32, {MATRIX}>',
        context,
    )


def test_a_wait_without_values_has_no_layout_to_check(context: StageContext) -> None:
    check('"ttg.warp_group_dot_wait"() {pendings = 1 : i32} : () -> ()', context)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%v = arith.constant dense<1.0> : tensor<64xf32>", "has no layout"),
        (
            (
                f'{CONSTANT}\n%m = "tt.expand_dims"(%v) {{axis = 0 : i32}} : (tensor<64xf32, {VECTOR}>)'
                f" -> tensor<1x64xf32, {MATRIX}>"
            ),
            r"tt.expand_dims: operand 0 is .* #ttg.slice<.* is expected",
        ),
        (f"{CONSTANT.replace('[4]', '[2]')}", "has warp of size 2; the module says 4"),
        (
            (
                f"{CONSTANT}\n%w = arith.constant dense<1.0> : tensor<64xf32, {Slice(0, MATRIX)}>\n"
                f'%r = "tt.cat"(%v, %v) : (tensor<64xf32, {VECTOR}>, tensor<64xf32, {VECTOR}>)'
                f" -> tensor<128xf32, {Slice(0, MATRIX)}>"
            ),
            "does not follow",
        ),
    ],
)
def test_what_does_not_is_named(body: str, message: str, context: StageContext) -> None:
    with pytest.raises(VerificationError, match=message):
        check(body, context)
