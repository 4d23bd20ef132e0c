"""Operands that threads write: one buffer for each tensor, and conversions of loaded rows behind the copies."""

from __future__ import annotations

import re
from typing import Any

import tri
import tri.language as tl


@tri.jit
def scaled_squares(a: Any, row: Any, out: Any, count: Any, D: tl.constexpr) -> None:
    """``out = row * sum of a[i] a[i]^T``: a: (count, D, D) of f16, row: (D,) and out: (D, D) of f32."""
    i = tl.arange(0, D)
    scale = tl.load(row + i)
    total = tl.zeros([D, D], tl.float32)
    for step in range(count):
        block = tl.load(a + step * D * D + i[:, None] * D + i[None, :])
        total += tl.dot(block, tl.trans(block))
    tl.store(out + i[:, None] * D + i[None, :], total * scale[:, None])


def _compiled(stages: int) -> Any:
    signature = {"a": "*fp16", "row": "*fp32", "out": "*fp32", "count": "i32", "D": "constexpr"}
    aligned = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    source = tri.ASTSource(scaled_squares, signature, {"D": 64}, aligned)
    return tri.compile(source, target="nvidia:sm_90a", options={"num_warps": 2, "num_stages": stages})


def test_a_block_and_its_transpose_share_a_buffer() -> None:
    text = _compiled(1).asm["ttgir"]
    assert len(re.findall("ttg.local_alloc %", text)) == 1


def test_a_row_for_behind_the_loop_is_converted_there() -> None:
    """Nothing waits for it before the first copy."""
    text = _compiled(3).asm["ttgir"]
    before, _, behind = text.partition("scf.for")
    assert "ttg.async_copy_global_to_local" in before
    assert "ttg.convert_layout" not in before
    assert "ttg.convert_layout" in behind
