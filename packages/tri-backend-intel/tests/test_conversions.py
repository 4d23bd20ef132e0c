"""Rounding to bf16: the extension's instruction on GPUs, bits elsewhere, the same numbers everywhere."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tri
import tri.language as tl
from tri_backend_intel.architectures import ARCHITECTURES
from tri_backend_intel.runtime.devices import devices
from tri_backend_intel.spirv.reader import instructions_of

Array = npt.NDArray[Any]

ROUND = 6116  # OpConvertFToBF16INTEL
N = 1024


@tri.jit
def rounded(x, y, B: tl.constexpr, MODE: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    made = tl.load(x + i).to(tl.bfloat16, fp_downcast_rounding=MODE)
    tl.store(y + i, made.to(tl.int16, bitcast=True))


def exact(x: Array) -> Array:
    """The nearest bf16 of each number, in float64: of two as near, the one with an even last place."""
    with np.errstate(invalid="ignore", over="ignore"):  # signalling NaN
        wide = x.astype(np.float64)
        exponent = np.maximum(np.floor(np.log2(np.abs(np.where(wide == 0, 1, wide)))), -126)
        unit = 2.0 ** (exponent - 7)
        value = np.rint(wide / unit) * unit
        return np.where(np.isfinite(wide), value, wide).astype(np.float32)


def numbers(seed: int) -> Array:
    """Bits of every kind: ties, the largest finite, subnormal, both zeros, infinities."""
    bits = np.random.default_rng(seed).integers(0, 1 << 32, N, np.uint32)
    bits[:256] = (bits[:256] & 0xFFFF0000) | 0x8000
    special = [0, 0x80000000, 0x7F7FFFFF, 0x7F7F8000, 0x7F7F7FFF, 0x7F800000, 0xFF800000, 1, 0x8000, 0x18000]
    bits[256 : 256 + len(special)] = special
    return bits.view(np.float32)


def run(target: str, x: Array, mode: str = "rtne") -> Array:
    y = np.zeros(N, np.int16)
    with tri.target(target):
        rounded[(N // 256,)](x, y, B=256, MODE=mode)
    return (y.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_the_nearest_is_taken(seed: int) -> None:
    x = numbers(seed)
    np.testing.assert_array_equal(run("sim:intel:pvc", x), exact(x))


def test_the_device_gives_the_same() -> None:
    if not devices():
        pytest.skip("no Intel device: pip install 'tri-backend-intel[cpu]'")
    x = numbers(1)
    np.testing.assert_array_equal(run("intel", x), run("sim:intel:pvc", x))


def test_signs_of_zeros_stay() -> None:
    x = np.zeros(N, np.float32)
    x[::2] = -0.0
    np.testing.assert_array_equal(np.signbit(run("sim:intel:bmg", x)), np.signbit(x))


def test_toward_zero_is_made_of_bits() -> None:
    x = numbers(2)
    x = np.where(np.isfinite(x), x, np.float32(0))
    cut = (x.view(np.uint32) & 0xFFFF0000).view(np.float32)
    np.testing.assert_array_equal(run("sim:intel:pvc", x, "rtz"), cut)


@cache
def opcodes(arch: str, type_: str, mode: str | None = "rtne") -> list[int]:
    known = {"B": 256, "MODE": mode}
    types = {"x": f"*{type_}", "y": "*i16", "B": "constexpr", "MODE": "constexpr"}
    data = tri.compile(tri.ASTSource(rounded, types, known, {}), target=f"intel:{arch}").asm["spv"]
    return [opcode for opcode, _ in instructions_of(data)]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_one_instruction_for_each_element_where_there_is_one(arch: str) -> None:
    """4 warps of 16: 4 elements for each thread."""
    assert opcodes(arch, "fp32").count(ROUND) == (0 if arch in ("mtl", "xe-lp", "opencl-cpu") else 4)


def test_f16_is_widened_first() -> None:
    assert opcodes("pvc", "fp16", None).count(ROUND) == 4


def test_other_roundings_and_wider_types_are_made_of_bits() -> None:
    assert ROUND not in opcodes("pvc", "fp32", "rtz")
    assert ROUND not in opcodes("pvc", "fp64")
