"""Scaled dots by conversions of their operands: right whatever the formats, and few instructions."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import tri
import tri.language as tl

SMALL = [["tt.divisibility", 16], ["tt.pointer_range", 32]]
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
HELD: dict[str, Any] = {
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "bf16": ml_dtypes.bfloat16, "fp16": np.float16,
}  # fmt: skip
POINTERS = {"e2m1": "*u8", "e4m3": "*u8", "e5m2": "*u8", "bf16": "*bf16", "fp16": "*fp16"}


@tri.jit
def scaled(a, b, a_scale, b_scale, c, K, sbk, sbn, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, FA: tl.constexpr, FB: tl.constexpr, PA: tl.constexpr, PB: tl.constexpr):  # fmt: skip
    m, n = tl.arange(0, M), tl.arange(0, N)
    ka, kb, ks = tl.arange(0, BK // PA), tl.arange(0, BK // PB), tl.arange(0, BK // 32)
    total = tl.zeros((M, N), tl.float32)
    for i in range(0, K, BK):
        x = tl.load(a + m[:, None] * (K // PA) + i // PA + ka[None, :])
        y = tl.load(b + n[None, :] * sbn + (i // PB + kb[:, None]) * sbk)
        sx = None if a_scale is None else tl.load(a_scale + m[:, None] * (K // 32) + i // 32 + ks[None, :])
        sy = tl.load(b_scale + n[:, None] * (K // 32) + i // 32 + ks[None, :])
        total = tl.dot_scaled(x, sx, FA, y, sy, FB, total)
    tl.store(c + m[:, None] * N + n[None, :], total)


@tri.jit
def packed_along_m(a, b, s, c):
    m, h, n, k, ks = tl.arange(0, 32), tl.arange(0, 16), tl.arange(0, 32), tl.arange(0, 64), tl.arange(0, 2)
    x, y = tl.load(a + h[:, None] * 64 + k[None, :]), tl.load(b + k[:, None] * 32 + n[None, :])
    scale = tl.load(s + m[:, None] * 2 + ks[None, :])
    made = tl.dot_scaled(x, scale, "e2m1", y, scale, "e4m3", lhs_k_pack=False)
    tl.store(c + m[:, None] * 32 + n[None, :], made)


def compiled(
    target: str, left: str, right: str, shape: tuple[int, int, int], *, by_columns: bool = True
) -> Any:
    m, n, depth = shape
    constants = {
        "M": m,
        "N": n,
        "BK": depth,
        "FA": left,
        "FB": right,
        "PA": 1 + (left == "e2m1"),
        "PB": 1 + (right == "e2m1"),
    }
    constants["sbk" if by_columns else "sbn"] = 1
    if left in ("bf16", "fp16"):
        constants["a_scale"] = None
    types = {"a": POINTERS[left], "b": POINTERS[right], "a_scale": "*u8", "b_scale": "*u8", "c": "*fp32"}
    types |= dict.fromkeys(("K", "sbk", "sbn"), "i32") | dict.fromkeys(constants, "constexpr")
    facts: dict[Any, Any] = {(i,): SMALL for i in range(5) if i != 2 or "a_scale" not in constants}
    facts |= {(i,): SMALL[:1] for i, name in ((5, "K"), (6, "sbk"), (7, "sbn")) if name not in constants}
    return tri.compile(
        tri.ASTSource(scaled, types, constants, facts), target=target, options={"num_warps": 4}
    )


def operand(
    rng: np.random.Generator, rows: int, depth: int, kind: str
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    """Rows as a kernel takes them, and as numbers."""
    if kind != "e2m1":
        held = rng.standard_normal((rows, depth)).astype(HELD[kind])
        seen = held if kind == "fp16" else held.view(np.uint8 if held.itemsize == 1 else np.uint16)
        return seen, held.astype(np.float64)
    nibbles = rng.integers(0, 16, (rows, depth)).astype(np.uint8)
    return nibbles[:, ::2] | nibbles[:, 1::2] << 4, E2M1[nibbles]


PAIRS = [("e2m1", "e2m1"), ("e4m3", "e4m3"), ("e2m1", "e5m2"), ("bf16", "e2m1"), ("fp16", "e4m3")]


@pytest.mark.parametrize("by_columns", [True, False])
@pytest.mark.parametrize(("left", "right"), PAIRS)
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"])
def test_products(arch: str, left: str, right: str, by_columns: bool) -> None:
    rng = np.random.default_rng(11)
    m, n, block, depth = 32, 64, 64, 128
    (a, exact_a), (b, exact_b) = operand(rng, m, depth, left), operand(rng, n, depth, right)
    scales = [rng.integers(120, 134, (rows, depth // 32)).astype(np.uint8) for rows in (m, n)]
    scales[1][3, 1] = 255  # NaN
    factors = [np.repeat(np.where(s == 255, np.nan, 2.0 ** (s.astype(int) - 127)), 32, 1) for s in scales]
    if left in ("bf16", "fp16"):
        factors[0] = np.ones_like(factors[0])
    c = np.zeros((m, n), np.float32)
    given = b if by_columns else np.ascontiguousarray(b.T)
    made = compiled(f"sim:amd:{arch}", left, right, (m, n, block), by_columns=by_columns)
    by_instruction = arch == "gfx950" and left not in ("bf16", "fp16")
    assert ("amdg.upcast_mxfp" in str(made.asm["ttgir"])) != by_instruction
    first = [a, given, *([] if left in ("bf16", "fp16") else [scales[0]]), scales[1], c, depth]
    made[(1, 1, 1)](*first, given.strides[0] // given.itemsize)
    wanted = (exact_a * factors[0]) @ (exact_b * factors[1]).T
    np.testing.assert_allclose(c, wanted, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize(
    ("arch", "kind", "most"),
    [
        ("gfx950", "e2m1", 470), ("gfx950", "e4m3", 525), ("gfx942", "e2m1", 2425), ("gfx942", "e4m3", 5230),
        ("gfx1201", "e2m1", 3100), ("gfx1201", "e4m3", 4145),
    ],
)  # fmt: skip
def test_instructions(arch: str, kind: str, most: int) -> None:
    """128 x 128 x 128, 4 warps; by the arithmetic of ``decompose-dot-scaled``: 4606, 3129, 6002, 8159; 14839 and 3719 on gfx1201, with spills.

    On gfx942 an iteration is there twice: the last one is behind the loop.
    """
    made = compiled(f"amd:{arch}", kind, kind, (128, 128, 128))
    text = str(made.asm["amdgcn"])
    assert len(re.findall(r"^\t(?:[vs]|ds|buffer)_", text, re.MULTILINE)) <= most
    if arch == "gfx950":
        assert "v_cvt_scalef32" not in text


@pytest.mark.parametrize("kind", ["e2m1", "e4m3"])
def test_operands_beside_16_bits_are_converted_by_instructions(kind: str) -> None:
    text = str(compiled("amd:gfx950", "bf16", kind, (128, 128, 128)).asm["amdgcn"])
    name = "fp4" if kind == "e2m1" else "fp8"
    assert text.count(f"\tv_cvt_scalef32_pk_bf16_{name}") == 2 * 128 * 128 // 2 // 256


@pytest.mark.parametrize("arch", ["gfx906", "gfx1030"])
def test_others_have_the_arithmetic(arch: str) -> None:
    assert "upcast_mxfp" not in str(compiled(f"amd:{arch}", "e2m1", "e2m1", (32, 32, 64)).asm["ttgir"])


def test_what_conversions_do_not_take_has_the_arithmetic_and_a_reason() -> None:
    types = dict.fromkeys("abs", "*u8") | {"c": "*fp32"}
    made = tri.compile(tri.ASTSource(packed_along_m, types, {}), target="amd:gfx942")
    assert "upcast_mxfp" not in str(made.asm["ttgir"])
    assert "numbers of 4 bits are not packed along k" in str(made.asm["ttgir"])
