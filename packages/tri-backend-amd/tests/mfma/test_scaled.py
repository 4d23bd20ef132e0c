"""Scaled dots by gfx950's MFMA: layouts as documented, and products in the simulator against double precision."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tri
import tri.language as tl
from tri_backend_amd.mfma.encoding import AmdMfma
from tri_backend_amd.mfma.lanes import operand_places, scale_places
from tri_core.compiler import IRSource
from tri_core.errors import TriError
from tri_gpu_dialect.encodings import DotScale
from tri_gpu_dialect.layouts import LANE, REGISTER, WARP

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
FORMATS = ("e4m3", "e5m2", "e2m1")
PAIRS = [(a, b) for a in FORMATS for b in FORMATS]


@tri.jit
def scaled(
    a, b, a_scale, b_scale, c, K, sbn, ss, sbk,
    M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, FA: tl.constexpr, FB: tl.constexpr, PA: tl.constexpr, PB: tl.constexpr,
):  # fmt: skip
    """One block; ``PA`` and ``PB``: numbers a byte."""
    m, n = tl.arange(0, M), tl.arange(0, N)
    ka, kb, groups = tl.arange(0, BK // PA), tl.arange(0, BK // PB), tl.arange(0, BK // 32)
    total = tl.load(c + m[:, None] * N + n[None, :])
    for k in range(0, K, BK):
        x = tl.load(a + m[:, None] * (K // PA) + k // PA + ka[None, :])
        y = tl.load(b + n[None, :] * sbn + (k // PB + kb[:, None]) * sbk)
        sx = tl.load(a_scale + m[:, None] * ss + k // 32 + groups[None, :])
        sy = tl.load(b_scale + n[:, None] * ss + k // 32 + groups[None, :])
        total = tl.dot_scaled(x, sx, FA, y, sy, FB, total)
    tl.store(c + m[:, None] * N + n[None, :], total)


def numbers(codes: Any, kind: str) -> npt.NDArray[np.float64]:
    """What the bytes of rows stand for, by the formats' definition (OCP Microscaling Formats 1.0)."""
    if kind == "e2m1":
        nibbles = np.stack([codes & 15, codes >> 4], axis=-1).reshape(len(codes), -1)
        return np.where(nibbles & 8, -1.0, 1.0) * E2M1[nibbles & 7]
    mantissa, bias = (3, 7) if kind == "e4m3" else (2, 15)
    exponent, fraction = (codes & 0x7F) >> mantissa, (codes & (1 << mantissa) - 1) / (1 << mantissa)
    size = np.where(
        exponent == 0, np.ldexp(fraction, 1 - bias), np.ldexp(1 + fraction, exponent.astype(int) - bias)
    )
    return np.where(codes & 0x80, -size, size)


def finite(rng: np.random.Generator, rows: int, depth: int, kind: str) -> npt.NDArray[np.uint8]:
    """Rows of any finite numbers."""
    codes = rng.integers(0, 256, (rows, depth // (2 if kind == "e2m1" else 1)), np.uint8)
    if kind != "e2m1":  # e4m3 has NaN only at the top, e5m2 all of its last exponent
        limit = 0x7E if kind == "e4m3" else 0x7B
        codes = np.minimum(codes & 0x7F, limit).astype(np.uint8) | codes & 0x80
    return codes


def factors(scales: Any) -> npt.NDArray[np.float64]:
    exponents = scales.astype(int).repeat(32, axis=1)
    return np.where(exponents == 255, np.nan, np.ldexp(1.0, exponents - 127))


def check(
    pair: tuple[str, str], block: tuple[int, int, int], depth: int, seed: int = 3, *,
    arch: str = "gfx950", warps: int = 4, by_columns: bool = True, scales: tuple[int, int] = (118, 136), nan: bool = False, **options: int,
) -> str:  # fmt: skip
    """Run the kernel, compare with double precision, and give the TTGIR."""
    rng, (m, n, step) = np.random.default_rng(seed), block
    codes = [finite(rng, size, depth, kind) for size, kind in zip((m, n), pair, strict=True)]
    e8m0 = [rng.integers(*scales, (size, depth // 32)).astype(np.uint8) for size in (m, n)]
    if nan:
        e8m0[0][1, 0] = e8m0[1][2, 1] = 255
    exact = [numbers(c, kind) * factors(s) for c, kind, s in zip(codes, pair, e8m0, strict=True)]
    start = rng.standard_normal((m, n)).astype(np.float32)
    found, b = start.copy(), codes[1] if by_columns else np.ascontiguousarray(codes[1].T)
    strides = b.strides if by_columns else b.strides[::-1]
    names = {"FA": pair[0], "FB": pair[1], "PA": 1 + (pair[0] == "e2m1"), "PB": 1 + (pair[1] == "e2m1")}
    with tri.target(f"sim:amd:{arch}"):
        kernel = scaled[(1,)](
            codes[0],
            b,
            *e8m0,
            found,
            depth,
            strides[0],
            depth // 32,
            strides[1],
            M=m,
            N=n,
            BK=step,
            **names,
            num_warps=warps,
            **options,
        )
    wanted = exact[0] @ exact[1].T + start
    error = np.abs(found - wanted) / (np.abs(exact[0]) @ np.abs(exact[1]).T + np.abs(start))
    assert np.array_equal(np.isnan(found), np.isnan(wanted))
    assert np.nanmax(error) < 2e-6
    return str(kernel.asm["ttgir"])


def shape_of(ttgir: str) -> str | None:
    found = re.search(r"tt\.dot_scaled .*-> tensor<\w+, (#\w+)>", ttgir)
    return None if found is None else re.search(rf"{found[1]} = .*instrShape = \[(.*?)\]", ttgir)[1]  # type: ignore[index]


@pytest.mark.parametrize("by_columns", [True, False], ids=["k-last", "k-first"])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_products(pair: tuple[str, str], by_columns: bool) -> None:
    ttgir = check(pair, (64, 64, 128), 256, by_columns=by_columns)
    assert shape_of(ttgir) == "32, 32, 64"
    assert "upcast_mxfp" not in ttgir


@pytest.mark.parametrize(
    ("block", "warps", "shape"),
    [
        ((16, 16, 128), 1, "16, 16, 128"),
        ((16, 64, 128), 4, "16, 16, 128"),
        ((32, 32, 64), 1, "32, 32, 64"),  # 16 x 16 has no less than 128 of k
        ((32, 32, 128), 4, "16, 16, 128"),  # one of each wavefront
        ((32, 32, 256), 8, "16, 16, 128"),  # more wavefronts than instructions
        ((128, 32, 256), 2, "32, 32, 64"),
        ((128, 128, 128), 8, "32, 32, 64"),
    ],
)
@pytest.mark.parametrize("pair", [("e2m1", "e2m1"), ("e5m2", "e2m1")], ids="-".join)
def test_sizes_and_wavefronts(
    pair: tuple[str, str], block: tuple[int, int, int], warps: int, shape: str
) -> None:
    assert shape_of(check(pair, block, 2 * block[2], warps=warps)) == shape


def test_the_option_narrows_the_choice() -> None:
    assert shape_of(check(("e4m3", "e4m3"), (64, 64, 128), 128, matrix_instr_nonkdim=16)) == "16, 16, 128"


@pytest.mark.parametrize("pair", [("e2m1", "e2m1"), ("e4m3", "e5m2")], ids="-".join)
def test_a_scale_that_is_no_number(pair: tuple[str, str]) -> None:
    check(pair, (32, 32, 64), 128, nan=True)


@given(
    pair=st.sampled_from(PAIRS),
    m=st.sampled_from([16, 64]),
    n=st.sampled_from([16, 32]),
    seed=st.integers(0, 2**32 - 1),
    scales=st.sampled_from([(0, 30), (60, 128), (127, 160)]),
)
@settings(deadline=None, max_examples=10)
def test_any_numbers_with_any_scales(
    pair: tuple[str, str], m: int, n: int, seed: int, scales: tuple[int, int]
) -> None:
    check(pair, (m, n, 128), 256, seed, warps=1, scales=scales)


@pytest.mark.parametrize(
    ("arch", "block"), [("gfx942", (32, 32, 64)), ("gfx90a", (32, 32, 64)), ("gfx950", (16, 16, 64))]
)
def test_what_no_instruction_does_is_converted(arch: str, block: tuple[int, int, int]) -> None:
    ttgir = check(("e2m1", "e4m3"), block, 128, arch=arch, warps=1)
    assert "tt.dot_scaled" not in ttgir
    assert "amdg.upcast_mxfp" in ttgir


# --- layouts ----------------------------------------------------------------------------------------------


def encoding(m: int, warps: tuple[int, int] = (1, 1)) -> AmdMfma:
    return AmdMfma(version=4, warps_per_cta=warps, instr_shape=(m, m, 64 if m == 32 else 128))


@pytest.mark.parametrize("operand", [0, 1])
@pytest.mark.parametrize("m", [16, 32])
def test_scales_and_packed_numbers_lie_as_documented(m: int, operand: int) -> None:
    made = encoding(m)
    k = made.instr_shape[2]
    rows, groups = scale_places(m)
    layout = DotScale(operand, made).linear_layout((m, k // 32))
    lanes = np.array([layout.unpack_out(i) for i in layout.images(LANE)])
    np.testing.assert_array_equal(lanes, np.stack([rows, groups], axis=-1))
    # 16 bytes of a lane are 32 numbers one after the other
    bytes_ = made.operand_layout(operand, 16, (m, k // 2) if operand == 0 else (k // 2, m))
    held = [np.array([bytes_.unpack_out(i) for i in bytes_.images(d)]) for d in (LANE, REGISTER)]
    # a tensor of one instruction's operand is repeated in registers: the encoding's k is that of bytes
    places = (held[0][:, None, :] ^ held[1][None, :, :])[:, :16]
    _, across, depth = operand_places(m, k)
    np.testing.assert_array_equal(places[..., operand], across[:, ::2])
    np.testing.assert_array_equal(places[..., 1 - operand], depth[:, ::2] // 2)


@pytest.mark.parametrize("operand", [0, 1])
def test_wavefronts_have_the_scales_of_their_rows_and_columns(operand: int) -> None:
    made = encoding(32, (2, 4))
    scales = made.scale_layout(operand, (256, 8))
    numbers_ = made.operand_layout(operand, 16, (256, 256))
    wanted = [numbers_.unpack_out(i)[operand] for i in numbers_.images(WARP)]
    assert [scales.unpack_out(i)[0] for i in scales.images(WARP)] == wanted


def test_other_versions_take_no_scales() -> None:
    with pytest.raises(ValueError, match="no dots with block scales"):
        AmdMfma(version=3).scale_layout(0, (32, 4))


# --- code -------------------------------------------------------------------------------------------------


def compiled(arch: str, pair: tuple[str, str], block: tuple[int, int, int]) -> Any:
    small = [["tt.divisibility", 16], ["tt.pointer_range", 32]]
    values = dict(zip(("M", "N", "BK"), block, strict=True)) | {"FA": pair[0], "FB": pair[1], "sbk": 1}
    values |= {"PA": 1 + (pair[0] == "e2m1"), "PB": 1 + (pair[1] == "e2m1")}
    types = dict.fromkeys(("a", "b", "a_scale", "b_scale"), "*u8") | {
        "c": "*fp32",
        "K": "i32",
        "sbn": "i32",
        "ss": "i32",
    }
    facts = {(i,): small for i in range(5)} | {(i,): small[:1] for i in (5, 6, 7)}
    source = tri.ASTSource(scaled, types | dict.fromkeys(values, "constexpr"), values, facts)
    return tri.compile(source, target=f"amd:{arch}", options={"num_warps": 4, "num_stages": 1})


@pytest.mark.parametrize(
    ("pair", "count", "formats"),
    [
        (("e2m1", "e2m1"), 2, "cbsz:4 blgp:4"),
        (("e4m3", "e4m3"), 2, ""),
        (("e5m2", "e2m1"), 2, "cbsz:4 blgp:1"),  # a transposed product begins with B
    ],
)
def test_machine_code(pair: tuple[str, str], count: int, formats: str) -> None:
    text = str(compiled("gfx950", pair, (64, 64, 128)).asm["amdgcn"])
    found = re.findall(r"v_mfma_scale_f32_32x32x64_f8f6f4 .*", text)
    assert len(found) == count
    assert all(line.split("//")[0].rstrip().endswith(formats) for line in found)
    assert "v_cvt_scale" not in text
    assert "buffer_load_ubyte" not in text  # four scales of a row are a word


def test_other_scales_than_the_instruction_s_are_refused(tmp_path: Path) -> None:
    """TTGIR whose scales are spread otherwise."""
    text = str(compiled("gfx950", ("e2m1", "e2m1"), (64, 64, 128)).asm["ttgir"])
    layout = r"#ttg.dot_scale<{opIdx = 0, parent = #mma}>"
    assert layout in text
    path = tmp_path / "k.ttgir"
    path.write_text(text.replace(layout, r"#ttg.dot_scale<{opIdx = 1, parent = #mma}>"))
    with pytest.raises(TriError, match="scales of type") as caught:
        tri.compile(IRSource.from_file(str(path)), target="amd:gfx950")
    assert caught.value.remedy
