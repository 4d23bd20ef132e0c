"""Dots of every type of the matrix unit by the SIMD path: operands by blocks, by elements, and computed; against exact numbers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import tri
import tri.language as tl
from simd_support import placed

Array = npt.NDArray[Any]

DTYPES: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "i8": np.int8,
    "e5m2": ml_dtypes.float8_e5m2, "e4m3": ml_dtypes.float8_e4m3fn,
}  # fmt: skip


@tri.jit
def multiplied(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c, A_T: tl.constexpr, B_T: tl.constexpr,
    COMPUTED: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    if A_T:
        a = tl.make_tensor_descriptor(a_ptr, [K, M], [stride_a, 1], [BLOCK_K, BLOCK_M])
    else:
        a = tl.make_tensor_descriptor(a_ptr, [M, K], [stride_a, 1], [BLOCK_M, BLOCK_K])
    if B_T:
        b = tl.make_tensor_descriptor(b_ptr, [N, K], [stride_b, 1], [BLOCK_N, BLOCK_K])
    else:
        b = tl.make_tensor_descriptor(b_ptr, [K, N], [stride_b, 1], [BLOCK_K, BLOCK_N])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [stride_c, 1], [BLOCK_M, BLOCK_N])
    row, column = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    kind: tl.constexpr = tl.int32 if a_ptr.dtype.element_ty == tl.int8 else tl.float32
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=kind)
    for k in range(tl.cdiv(K, BLOCK_K)):
        x = tl.trans(a.load([k * BLOCK_K, row])) if A_T else a.load([row, k * BLOCK_K])
        y = tl.trans(b.load([column, k * BLOCK_K])) if B_T else b.load([k * BLOCK_K, column])
        if COMPUTED & 1:
            x = tl.where(x == 0, x, x)
        if COMPUTED & 2:
            y = tl.where(y == 0, y, y)
        total = tl.dot(x, y, total, out_dtype=kind, input_precision="tf32")
    c.store([row, column], total)


def error(
    kind: str, a_t: bool = False, b_t: bool = False, computed: int = 0, size: tuple[int, int, int] = (96, 80, 112),
    block: tuple[int, int, int] = (64, 32, 64), warps: int = 4, extra: int = 0, offset: int = 0,
) -> float:  # fmt: skip
    """The largest error: relative to the largest number against NumPy's in float64, absolute of integers."""
    m, n, k = size
    make = np.random.default_rng(1)

    def numbers(*shape: int) -> Array:
        if kind == "i8":
            return make.integers(-128, 128, shape).astype("i1")
        return make.standard_normal(shape).astype("f4").astype(DTYPES[kind])

    a, b = numbers(m, k), numbers(k, n)
    c = np.zeros((m, n), "i4" if kind == "i8" else "f4")
    operands = [np.ascontiguousarray(v.T) if t else v for v, t in ((a, a_t), (b, b_t))]
    pitches = [-(-v.shape[1] * v.itemsize // 16) * 16 // v.itemsize + extra for v in (*operands, c)]
    x, y, out = (placed(v, offset, pitch) for v, pitch in zip((*operands, c), pitches, strict=True))
    with tri.target("sim:intel:pvc"):
        multiplied[-(-m // block[0]), -(-n // block[1])](
            x, y, out, m, n, k, *pitches, a_t, b_t, computed, *block, num_warps=warps, path="simd"
        )
    if kind == "i8":
        return float(np.abs(out - a.astype("i8") @ b.astype("i8")).max())
    wide = [_cut(v).astype("f8") if kind == "tf32" else v.astype("f8") for v in (a, b)]
    wanted = wide[0] @ wide[1]
    return float(np.abs(out - wanted).max() / np.abs(wanted).max())


def _cut(values: Array) -> Array:
    """What the matrix unit reads of f32."""
    return (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


ORDERS = [(False, False), (False, True), (True, False), (True, True)]


@pytest.mark.parametrize(("a_t", "b_t"), ORDERS)
@pytest.mark.parametrize("kind", ["bf16", "tf32", "i8", "e5m2", "e4m3"])
def test_every_type_in_any_order_is_right(kind: str, a_t: bool, b_t: bool) -> None:
    assert error(kind, a_t, b_t) <= 2e-6


@pytest.mark.parametrize("kind", ["f16", "tf32", "i8", "e5m2"])
@pytest.mark.parametrize(("a_t", "b_t"), ORDERS)
def test_rows_that_end_within_a_word_are_right(kind: str, a_t: bool, b_t: bool) -> None:
    # surfaces whose width is no multiple of 4 bytes go by elements
    assert error(kind, a_t, b_t, size=(33, 45, 71), extra=32) <= 2e-6
    assert error(kind, a_t, b_t, size=(33, 45, 71), extra=32, offset=16) <= 2e-6


@pytest.mark.parametrize("computed", [1, 2, 3])
@pytest.mark.parametrize("kind", ["f16", "bf16", "tf32", "i8"])
def test_operands_may_be_computed(kind: str, computed: int) -> None:
    assert error(kind, computed=computed) <= 2e-6


@pytest.mark.parametrize(("block", "warps"), [((8, 16, 64), 2), ((32, 32, 64), 1), ((128, 128, 64), 32)])
@pytest.mark.parametrize("kind", ["tf32", "i8", "e4m3"])
def test_any_number_of_warps(kind: str, block: tuple[int, int, int], warps: int) -> None:
    assert error(kind, block=block, warps=warps) <= 2e-6


def text_of(kind: str, block: tuple[int, int, int], warps: int) -> str:
    """LLVM IR of the matmul."""
    out = "i32" if kind == "i8" else "fp32"
    types = {"a_ptr": f"*{kind}", "b_ptr": f"*{kind}", "c_ptr": f"*{out}"}
    types |= dict.fromkeys(("M", "N", "K", "stride_a", "stride_b", "stride_c"), "i32")
    constants = {"A_T": False, "B_T": False, "COMPUTED": 0}
    constants |= dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), block, strict=True))
    source = tri.ASTSource(multiplied, types | dict.fromkeys(constants, "constexpr"), constants)
    text = tri.compile(source, target="intel:pvc", options={"num_warps": warps, "path": "simd"}).asm["llir"]
    assert isinstance(text, str)
    return text


def versions(text: str) -> tuple[list[str], list[str]]:
    """What the loop by blocks and the loop by elements do, in order: loads and instructions of the matrix unit."""
    words = {"Subgroup2DBlockLoad": "block", "load i": "element", "SubgroupMatrixMultiply": "dpas"}
    lines = [line for line in text.splitlines() if not line.startswith("declare")]
    found = [name for line in lines for word, name in words.items() if word in line]
    first = found.index("element")
    return found[:first], found[first:]


def test_dots_go_over_k_in_slices_where_whole_operands_would_fill_the_registers() -> None:
    # of 32x64 numbers of f32 and their sums in 256 registers, all 32 k of both operands are 192
    blocks, _ = versions(text_of("fp32", (128, 128, 32), 8))
    assert blocks.index("dpas") < len(blocks) - 1 - blocks[::-1].index("block")
    # of f16 they are 96: all are loaded before
    blocks, _ = versions(text_of("fp16", (128, 128, 32), 8))
    assert blocks.index("dpas") > len(blocks) - 1 - blocks[::-1].index("block")


@pytest.mark.parametrize("kind", ["fp16", "i8"])
def test_elements_are_loaded_where_they_are_used_first(kind: str) -> None:
    _, elements = versions(text_of(kind, (128, 128, 64), 8))
    first = elements.index("dpas")
    # 8 rows of A, and the k of one column of B
    each = 8 * 2 + 16 if kind == "fp16" else 8 * 2 + 32
    assert first <= each
    assert elements[first:].count("element") > first
