"""Casts of small floats: the processors' instructions, and in the simulator what exact arithmetic gives."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tri
import tri.language as tl
from tri_gpu_dialect.lowering.formats import FORMATS, encode_constant

SMALL = [["tt.divisibility", 16], ["tt.pointer_range", 32]]
FORMAT = {"fp8e4b8": "f8E4M3FNUZ", "fp8e5b16": "f8E5M2FNUZ", "fp8e4nv": "f8E4M3FN", "fp8e5": "f8E5M2"}
#: what each has instructions for
OWN = {
    "gfx942": ("fp8e4b8", "fp8e5b16"),
    "gfx950": ("fp8e4nv", "fp8e5"),
    "gfx1201": ("fp8e4nv", "fp8e5"),
    "gfx1250": ("fp8e4nv", "fp8e5"),
}
HELD = {"fp16": np.float16, "bf16": np.uint16, "fp32": np.float32, "fp64": np.float64}


@tri.jit
def cast(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i).to(y.dtype.element_ty))


@functools.cache
def compiled(target: str, source: str, result: str, block: int = 1024) -> Any:
    types = {"x": f"*{source}", "y": f"*{result}", "BLOCK": "constexpr"}
    given = tri.ASTSource(cast, types, {"BLOCK": block}, {(0,): SMALL, (1,): SMALL})
    return tri.compile(given, target=target, options={"num_warps": 1})


def counts(target: str, source: str, result: str, instruction: str) -> int:
    return len(re.findall(rf"\t{instruction}", str(compiled(target, source, result).asm["amdgcn"])))


def number(pattern: int, format_: str) -> float:
    """What ``pattern`` stands for."""
    given = FORMATS[format_]
    if not given.negative_zero and pattern == given.nan:
        return np.nan
    size = pattern & (given.sign - 1)
    value = np.inf if size == given.infinity else given.value(size) if size <= given.largest else np.nan
    return -value if pattern & given.sign else value


def as_bf16(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """Of what bf16 holds exactly."""
    return (values.view(np.uint32) >> 16).astype(np.uint16)


def same(got: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> None:
    """The same numbers with the same signs of zeros; any NaN for NaN."""
    np.testing.assert_array_equal(got, wanted)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(wanted[numbers]))


@pytest.mark.parametrize("result", HELD)
@pytest.mark.parametrize(
    ("arch", "source"), [*((a, s) for a, own in OWN.items() for s in own), ("gfx942", "fp8e5"), ("gfx90a", "fp8e5"), ("gfx950", "fp8e4b8")]
)  # fmt: skip
def test_every_number_is_read(arch: str, source: str, result: str) -> None:
    patterns = np.arange(256, dtype=np.uint8)
    made = np.zeros(256, HELD[result])
    compiled(f"sim:amd:{arch}", source, result, 256)[(1, 1, 1)](patterns, made)
    wanted = np.array([number(p, FORMAT[source]) for p in range(256)], np.float32)
    same((made.astype(np.uint32) << 16).view(np.float32) if result == "bf16" else made, wanted)


def hard_ones(format_: str, count: int) -> npt.NDArray[np.float32]:
    """f32 of all sizes, the numbers of the format, those halfway between two, their neighbours, and what is too large."""
    rng = np.random.default_rng(7)
    given = FORMATS[format_]
    exact = np.array([given.value(p) for p in range(given.largest + 1)])
    halfway = ((exact[1:] + exact[:-1]) / 2).astype(np.float32)
    edges = np.concatenate(
        [halfway, np.nextafter(halfway, np.float32(0)), np.nextafter(halfway, np.float32(np.inf))]
    )
    special = np.array([0, np.inf, np.nan, 1e-45, 3e38, exact[-1], exact[-1] * 1.06], np.float32)
    wide = np.ldexp(rng.random(count).astype(np.float32), rng.integers(-20, 20, count)).astype(np.float32)
    positive = np.concatenate([exact.astype(np.float32), edges, special, wide])[: count // 2]
    return np.concatenate([positive, -positive])


@pytest.mark.parametrize("source", ["fp16", "fp32", "fp64"])
@pytest.mark.parametrize(("arch", "result"), [(a, r) for a, own in OWN.items() for r in own])
def test_the_nearest_number_is_written(arch: str, result: str, source: str) -> None:
    format_ = FORMAT[result]
    with np.errstate(over="ignore"):
        values = hard_ones(format_, 2048).astype(HELD[source])
    if source == "fp64":  # rounding to f32 first would round these to the wrong side
        values[:600] *= 1 + 2.0**-40
    made = np.zeros(len(values), np.uint8)
    compiled(f"sim:amd:{arch}", source, result)[(2, 1, 1)](values, made)
    wanted = [encode_constant(float(v), FORMATS[format_]) for v in values]
    same(*(np.array([number(int(p), format_) for p in each]) for each in (made, wanted)))


@pytest.mark.parametrize(("arch", "result"), [(a, r) for a, own in OWN.items() for r in own])
def test_two_are_converted_at_once(arch: str, result: str) -> None:
    """1024 elements by 64 lanes (32 of RDNA)."""
    kind = "bf8" if "e5" in result else "fp8"
    pairs = 512 // (32 if arch.startswith("gfx12") else 64)
    assert counts(f"amd:{arch}", "fp32", result, f"v_cvt_pk_{kind}_f32") == pairs
    assert counts(f"amd:{arch}", result, "fp32", f"v_cvt_pk_f32_{kind}") == pairs
    for half in ("f16", "bf16"):
        name = f"v_cvt_scalef32_pk_{half}_{kind}"
        has_own = arch == "gfx950" and not (half == "f16" and kind == "bf8")
        assert (
            counts(f"amd:{arch}", result, half.replace("f16", "fp16").replace("bfp", "bf"), name)
            == has_own * pairs
        )


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100"])
def test_e5m2_is_the_upper_half_of_f16(arch: str) -> None:
    pairs = 512 // (32 if arch == "gfx1100" else 64)
    assert counts(f"amd:{arch}", "fp8e5", "fp16", "v_perm_b32") == pairs


@pytest.mark.parametrize(("arch", "pairs"), [("gfx950", 8), ("gfx942", 0)])
def test_bf16_is_rounded_by_an_instruction(arch: str, pairs: int) -> None:
    assert counts(f"amd:{arch}", "fp32", "bf16", "v_cvt_pk_bf16_f32") == pairs


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_bf16_is_the_nearest(arch: str) -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(0, 1 << 32, 1024, np.uint32).view(np.float32)
    values[:512] = (values[:512].view(np.uint32) & 0xFFFF0000 | 0x8000).view(np.float32)  # halfway
    made = np.zeros(1024, np.uint16)
    compiled(f"sim:amd:{arch}", "fp32", "bf16")[(1, 1, 1)](values, made)
    wanted = np.array([encode_constant(float(v), FORMATS["bf16"]) for v in values], np.uint16)
    same(*((each.astype(np.uint32) << 16).view(np.float32) for each in (made, wanted)))
