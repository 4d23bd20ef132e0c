"""Packs of elements become operands of their own."""

from __future__ import annotations

from collections.abc import Callable

from tri_core.passes import ScalarizePackedOps
from tri_core.testing import filecheck

PRINT = '"tt.print"(%r) {{prefix = "", hex = false, isSigned = array<i32: 1>}} : ({type}) -> ()'


def assembly(element: str, pack: int, size: str = "8x") -> str:
    kind = f"tensor<{size}{element}>" if size else element
    attributes = f'asm_string = "nop", constraints = "=r,r", pure = true, packed_element = {pack} : i32'
    call = f'%r = "tt.elementwise_inline_asm"(%x) {{{attributes}}} : ({kind}) -> {kind}'
    return f"{call}\n{PRINT.format(type=kind)}"


def test_bytes_go_into_words(function: Callable[..., str], after: Callable[..., str]) -> None:
    """Four bytes: two levels of halves, three shifts into place, one word, three shifts out."""
    filecheck(
        after(ScalarizePackedOps(), function("%x: tensor<8xi8>", assembly("i8", 4))),
        """CHECK: "tt.reshape"(%arg0)
           CHECK-SAME: tensor<2x2x2xi8>
           CHECK: "tt.split"
           CHECK: "arith.extui"
           CHECK: "arith.shli"
           CHECK: "arith.ori"
           CHECK: %[[W:.*]] = "tt.elementwise_inline_asm"(%{{[^,]*}}) {
           CHECK-SAME: packed_element = 1
           CHECK-SAME: (tensor<2xi32>) -> tensor<2xi32>
           CHECK: "arith.trunci"(%[[W]])
           CHECK: "arith.shrui"(%[[W]]
           CHECK: "tt.join"
           CHECK: "tt.reshape"
           CHECK-SAME: tensor<8xi8>
        """,
    )


def test_wide_elements_come_apart(function: Callable[..., str], after: Callable[..., str]) -> None:
    filecheck(
        after(ScalarizePackedOps(), function("%x: tensor<8xf32>", assembly("f32", 2))),
        """CHECK: %[[P:.*]]:2 = "tt.split"
           CHECK: "tt.elementwise_inline_asm"(%[[P]]#0, %[[P]]#1)
           CHECK-SAME: (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
           CHECK: "tt.join"
        """,
    )


def test_single_elements_stay(function: Callable[..., str], after: Callable[..., str]) -> None:
    text = after(ScalarizePackedOps(), function("%x: tensor<8xf32>", assembly("f32", 1)))
    assert "tt.split" not in text
    assert "tensor<8xf32>) -> tensor<8xf32>" in text


def test_mapped_functions_keep_their_region(function: Callable[..., str], after: Callable[..., str]) -> None:
    body = f"""
%r = "tt.map_elementwise"(%x) ({{
^bb0(%a: i32, %b: i32):
  "tt.map_elementwise_return"(%b, %a) : (i32, i32) -> ()
}}) {{pack = 2 : i32}} : (tensor<8xi32>) -> tensor<8xi32>
{PRINT.format(type="tensor<8xi32>")}"""
    filecheck(
        after(ScalarizePackedOps(), function("%x: tensor<8xi32>", body)),
        """CHECK: %[[P:.*]]:2 = "tt.split"
           CHECK: %[[M:.*]]:2 = "tt.map_elementwise"(%[[P]]#0, %[[P]]#1)
           CHECK: "tt.map_elementwise_return"
           CHECK: pack = 1
           CHECK: "tt.join"(%[[M]]#0, %[[M]]#1)
        """,
    )
