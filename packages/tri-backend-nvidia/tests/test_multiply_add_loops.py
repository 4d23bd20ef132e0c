"""Loops of dots by multiply-add: f32 operands that nothing rounds, whose strides nothing is known of."""

from __future__ import annotations

import pytest

import tri
import tri.language as tl

_TILE = 32


@tri.jit
def product(a, b, c, m, n, k, a_row, b_row, c_row, T: tl.constexpr):
    rows = tl.program_id(0) * T + tl.arange(0, T)
    columns = tl.program_id(1) * T + tl.arange(0, T)
    inner = tl.arange(0, T)
    total = tl.zeros((T, T), tl.float32)
    left = a + rows[:, None] * a_row + inner[None, :]
    right = b + inner[:, None] * b_row + columns[None, :]
    for _ in range(tl.cdiv(k, T)):
        x = tl.load(left, mask=(rows < m)[:, None] & (inner < k)[None, :], other=0.0)
        y = tl.load(right, mask=(inner < k)[:, None] & (columns < n)[None, :], other=0.0)
        total += tl.dot(x, y, input_precision="ieee")
        inner += T
        left += T
        right += T * b_row
    tl.store(
        c + rows[:, None] * c_row + columns[None, :],
        total,
        mask=(rows < m)[:, None] & (columns < n)[None, :],
    )


@pytest.fixture(scope="module")
def kernel() -> tri.CompiledKernel:
    numbers = dict.fromkeys(["m", "n", "k", "a_row", "b_row", "c_row"], "i32")
    signature = dict.fromkeys("abc", "*fp32") | numbers | {"T": "constexpr"}
    aligned = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    source = tri.ASTSource(product, signature, {"T": _TILE}, aligned)
    return tri.compile(source, target="nvidia:sm_90a", options={"num_warps": 4, "num_stages": 2})


def test_operands_are_copied_ahead(kernel: tri.CompiledKernel) -> None:
    """Loads in the loop would be waited for in each iteration, in registers beside the operands: 176 of them."""
    assert "cp.async.ca.shared.global" in kernel.asm["ptx"]
    assert "ld.global" not in kernel.asm["ptx"]
    assert kernel.metadata.resources["registers"] <= 128
    assert kernel.metadata.resources["spills"] == 0
