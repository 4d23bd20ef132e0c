"""Microscaling formats as f16 and bf16: exact against tables of their numbers, by the instruction of gfx950 and by arithmetic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
from tri_backend_amd.dialect.microscaling import SOURCES
from tri_core.compiler import IRSource
from tri_core.errors import TriError

ROWS, K = 16, 128
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
LAYOUTS = """
#packed = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#whole = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#few = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [16, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 4], instrShape = [16, 16, 16], isTransposed = true}>
#left = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 4}>
#right = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 4}>
"""


@tri.jit
def of_text(x, s, out):
    """Stands for the text that is compiled instead."""


def places(name: str, rows: int, columns: int, layout: str) -> str:
    """``%NAME``: row-major offsets of a matrix."""
    one, two = f"#ttg.slice<{{dim = 1, parent = #{layout}}}>", f"#ttg.slice<{{dim = 0, parent = #{layout}}}>"
    whole = f"tensor<{rows}x{columns}xi32, #{layout}>"
    return f"""
    %{name}r = tt.make_range {{end = {rows} : i32, start = 0 : i32}} : tensor<{rows}xi32, {one}>
    %{name}c = tt.make_range {{end = {columns} : i32, start = 0 : i32}} : tensor<{columns}xi32, {two}>
    %{name}s = arith.constant dense<{columns}> : tensor<{rows}x1xi32, #{layout}>
    %{name}0 = tt.expand_dims %{name}r {{axis = 1 : i32}} : tensor<{rows}xi32, {one}> -> tensor<{rows}x1xi32, #{layout}>
    %{name}1 = arith.muli %{name}0, %{name}s : tensor<{rows}x1xi32, #{layout}>
    %{name}2 = tt.expand_dims %{name}c {{axis = 0 : i32}} : tensor<{columns}xi32, {two}> -> tensor<1x{columns}xi32, #{layout}>
    %{name}3 = tt.broadcast %{name}1 : tensor<{rows}x1xi32, #{layout}> -> {whole}
    %{name}4 = tt.broadcast %{name}2 : tensor<1x{columns}xi32, #{layout}> -> {whole}
    %{name} = arith.addi %{name}3, %{name}4 : {whole}
    """


def module(kind: str, element: str, body: str) -> str:
    head = 'module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32} {'
    names = ("x", kind), ("s", "i8"), ("out", "i16")
    signature = ", ".join(
        f"%{n}: !tt.ptr<{t}> {{tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}}" for n, t in names
    )
    return f"{LAYOUTS}{head}\n  tt.func public @of_text({signature}) attributes {{noinline = false}} {{\n{body}\n    tt.return\n  }}\n}}\n"


def upcast(form: str, element: str, source: str, result: str, *, second: bool = False) -> str:
    """All of x times its scales; as operand 1 x and the result have k first."""
    width = K // 2 if form == "e2m1" else K
    given, made = ((width, ROWS), (K, ROWS)) if second else ((ROWS, width), (ROWS, K))
    names = [f"{r}x{c}" for r, c in (given, made)]
    return f"""
    {places("i", *given, source)} {places("j", ROWS, K // 32, "few")} {places("o", *made, result)}
    %a = amdg.buffer_load %x[%i] : !tt.ptr<i8> -> tensor<{names[0]}xi8, #{source}>
    %b = amdg.buffer_load %s[%j] : !tt.ptr<i8> -> tensor<{ROWS}x{K // 32}xi8, #few>
    %r = amdg.upcast_mxfp %a, %b fp_type = {form} {{fastMath = false}} : tensor<{names[0]}xi8, #{source}>, tensor<{ROWS}x{K // 32}xi8, #few> -> tensor<{names[1]}x{element}, #{result}>
    %w = tt.bitcast %r : tensor<{names[1]}x{element}, #{result}> -> tensor<{names[1]}xi16, #{result}>
    amdg.buffer_store %w, %out[%o] : !tt.ptr<i16> -> tensor<{names[1]}xi16, #{result}>
    """


def numbers(form: str, codes: Any) -> Any:
    """What codes of a format stand for, by its definition (OCP Microscaling Formats 1.0)."""
    if form == "e2m1":
        return np.where(codes & 8, -1, 1) * E2M1[codes & 7]
    exponent_bits, mantissa_bits, bias = (4, 3, 7) if form == "e4m3" else (5, 2, 15)
    exponent = codes >> mantissa_bits & ((1 << exponent_bits) - 1)
    mantissa = codes & ((1 << mantissa_bits) - 1)
    normal = np.ldexp(1 + mantissa / (1 << mantissa_bits), exponent - bias)
    value = np.where(exponent == 0, np.ldexp(mantissa / (1 << mantissa_bits), 1 - bias), normal)
    if form == "e4m3":
        value = np.where(codes & 0x7F == 0x7F, np.nan, value)
    else:
        value = np.where(exponent == 31, np.where(mantissa == 0, np.inf, np.nan), value)
    return np.where(codes & 0x80, -value, value)


def rounded(value: Any, element: str) -> Any:
    """The bits of the nearest f16 or bf16, ties to even."""
    with np.errstate(over="ignore"):
        if element == "f16":
            return value.astype(np.float16).view(np.uint16)
        bits = value.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def as_numbers(bits: Any, element: str) -> Any:
    if element == "f16":
        return bits.view(np.float16).astype(np.float64)
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def written(folder: Path, text: str) -> str:
    path = folder / "k.ttgir"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("second", [False, True], ids=["k-last", "operand-1"])
@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("form", ["e2m1", "e4m3", "e5m2"])
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_every_code_and_scale(tmp_path: Path, arch: str, form: str, element: str, second: bool) -> None:
    rng = np.random.default_rng(7)
    width = K // 2 if form == "e2m1" else K
    stored = rng.permutation(np.arange(ROWS * width) % 256).astype(np.uint8).reshape(ROWS, width)
    scales = rng.integers(0, 256, (ROWS, K // 32)).astype(np.uint8)
    scales[:2] = [[0, 1, 126, 127], [128, 253, 254, 255]]
    if second:
        layouts = ("right", "right") if form != "e2m1" else ("packed_right", "right")
    else:
        layouts = ("packed" if form == "e2m1" else "whole", "whole")
    text = module("i8", element, upcast(form, element, *layouts, second=second))
    text = text.replace("#packed_right", "#ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>")
    out = np.zeros((K, ROWS) if second else (ROWS, K), np.uint16)
    given = np.ascontiguousarray(stored.T if second else stored)
    with tri.target(f"sim:amd:{arch}"):
        of_text[(1,)](given, scales, out.view(np.int16), ir_override=written(tmp_path, text))
    codes = np.stack([stored & 15, stored >> 4], axis=2).reshape(ROWS, K) if form == "e2m1" else stored
    exponents = scales.astype(np.int64).repeat(32, axis=1)
    factor = np.where(exponents == 255, np.nan, np.ldexp(1.0, exponents - 127))
    expected = numbers(form, codes.astype(np.int64)) * factor
    found = out.T if second else out
    np.testing.assert_array_equal(
        as_numbers(np.ascontiguousarray(found), element), as_numbers(rounded(expected, element), element)
    )


def test_gfx950_converts_two_at_once(tmp_path: Path) -> None:
    for form, source, name in (("e2m1", "packed", "fp4"), ("e4m3", "whole", "fp8"), ("e5m2", "whole", "bf8")):
        path = written(tmp_path, module("i8", "bf16", upcast(form, "bf16", source, "whole")))
        text = str(tri.compile(IRSource.from_file(path), target="amd:gfx950").asm["amdgcn"])
        assert text.count(f"v_cvt_scalef32_pk_bf16_{name}") == 4
        other = str(tri.compile(IRSource.from_file(path), target="amd:gfx942").asm["amdgcn"])
        assert "v_cvt_scalef32" not in other


@pytest.mark.parametrize("name", ["fp4", "fp8", "bf8"])
def test_the_instruction_s_table_is_the_format(name: str) -> None:
    form = {"fp4": "e2m1", "fp8": "e4m3", "bf8": "e5m2"}[name]
    np.testing.assert_array_equal(SOURCES[name].table(), numbers(form, np.arange(1 << SOURCES[name].bits)))


SCALED = """
    %r8 = tt.bitcast %a : tensor<16x128xi8, #whole> -> tensor<16x128xf8E4M3FN, #whole>
    %f = amdg.scaled_upcast_fp8 %r8 scale %sc : tensor<16x128xf8E4M3FN, #whole>, tensor<16x128xbf16, #whole> -> tensor<16x128xbf16, #whole>
"""


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_scales_as_bf16_which_triton_3_9_has(tmp_path: Path, arch: str) -> None:
    body = f"""
    {places("i", 16, 128, "whole")} {places("p", 16, 64, "packed")}
    %a = amdg.buffer_load %x[%i] : !tt.ptr<i8> -> tensor<16x128xi8, #whole>
    %h = amdg.buffer_load %x[%p] : !tt.ptr<i8> -> tensor<16x64xi8, #packed>
    %sc = arith.constant dense<2.500000e-01> : tensor<16x128xbf16, #whole>
    {SCALED}
    %g = amdg.scaled_upcast_fp4 %h scale %sc {{axis = 1 : i32}} : tensor<16x64xi8, #packed>, tensor<16x128xbf16, #whole> -> tensor<16x128xbf16, #whole>
    %t = arith.addf %f, %g : tensor<16x128xbf16, #whole>
    %w = tt.bitcast %t : tensor<16x128xbf16, #whole> -> tensor<16x128xi16, #whole>
    amdg.buffer_store %w, %out[%i] : !tt.ptr<i16> -> tensor<16x128xi16, #whole>
    """
    stored = np.random.default_rng(3).integers(0, 0x7E, (16, 128)).astype(np.uint8)
    out = np.zeros((16, 128), np.uint16)
    with tri.target(f"sim:amd:{arch}"):
        path = written(tmp_path, module("i8", "bf16", body))
        of_text[(1,)](stored, stored, out.view(np.int16), ir_override=path)
    flat = stored.reshape(-1)[: 16 * 64].astype(np.int64)
    fours = np.stack([flat & 15, flat >> 4], axis=1).reshape(16, 128)
    expected = 0.25 * (numbers("e4m3", stored.astype(np.int64)) + numbers("e2m1", fours))
    np.testing.assert_array_equal(out, rounded(expected, "bf16"))


def test_the_text_is_triton_s(tmp_path: Path) -> None:
    path = written(tmp_path, module("i8", "bf16", upcast("e2m1", "bf16", "packed", "whole")))
    text = str(tri.compile(IRSource.from_file(path), target="amd:gfx942").asm["ttgir"])
    assert "amdg.upcast_mxfp %a, %b fp_type = e2m1 {fastMath = false} : tensor<16x64xi8, #blocked" in text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("fp_type = e2m1", "fp_type = e2m3", "e2m1, e4m3 or e5m2"),
        ("fp_type = e2m1", "fp_type = e4m3", "shape and layout"),
        ("x4xi8, #few> -> tensor<16x128xbf16, #whole>", "x4xi8, #few> -> tensor<16x128xf32, #whole>", "f16 or bf16"),
        ("-> tensor<16x128xbf16, #whole>", "-> tensor<16x128xbf16, #left>", "thread"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    body = upcast("e2m1", "bf16", "packed", "whole")
    line = next(each for each in body.splitlines() if "upcast_mxfp" in each)
    kept = body[: body.index(line)]
    with pytest.raises(TriError, match=message):
        tri.compile(
            IRSource.from_file(written(tmp_path, module("i8", "bf16", kept + line.replace(old, new)))),
            target="amd:gfx942",
        )
