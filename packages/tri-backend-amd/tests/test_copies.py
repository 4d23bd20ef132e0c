"""Copies from global memory straight to LDS: text, code, what they do in the simulator, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
from tri_core.compiler import IRSource
from tri_core.errors import SimulationError, TriError

_POINTER = "!tt.ptr<f16> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}"
_LAYOUTS = """
#wide = #ttg.blocked<{sizePerThread = [8], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
#narrow = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
#single = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#padded = #ttg.padded_shared<[512:+8] {order = [0]}>
#gaps = #ttg.padded_shared<[64:+8] {order = [0]}>
#smem = #ttg.shared_memory
"""


@tri.jit
def of_text(x, out, n):
    """Stands for the text that is compiled instead."""


def module(body: str) -> str:
    head = 'module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32} {'
    signature = f"%x: {_POINTER}, %out: {_POINTER}, %n: i32 {{tt.divisibility = 16 : i32}}"
    return f"{_LAYOUTS}{head}\n  tt.func public @of_text({signature}) attributes {{noinline = false}} {{\n{body}\n    tt.return\n  }}\n}}\n"


def copy(size: int, layout: str, memory: str = "shared", *, rest: str = "", wait: str = "") -> str:
    """Copies x to out by way of LDS, zeros from n on."""
    tensor = f"tensor<{size}x%s, #{layout}>"
    held = f"{size}xf16, #{memory}, #smem, mutable"
    wait = wait or "%w = ttg.async_wait %g {num = 0 : i32}"
    return f"""
    %i = tt.make_range {{end = {size} : i32, start = 0 : i32}} : {tensor % "i32"}
    %s = tt.splat %n : i32 -> {tensor % "i32"}
    %m = arith.cmpi slt, %i, %s : {tensor % "i32"}
    %l = ttg.local_alloc : () -> !ttg.memdesc<{held}>
    %t = amdg.buffer_load_to_local %x[%i] mask = %m{rest} into %l {{contiguity = 1 : i32}} : !tt.ptr<f16>[{tensor % "i32"}]  -> <{held}>
    %g = ttg.async_commit_group tokens %t
    {wait}
    %v = ttg.local_load %l : !ttg.memdesc<{held}> -> {tensor % "f16"}
    amdg.buffer_store %v, %out[%i] : !tt.ptr<f16> -> {tensor % "f16"}
    """


def written(folder: Path, body: str) -> str:
    path = folder / "k.ttgir"
    path.write_text(module(body))
    return str(path)


def compiled(folder: Path, body: str, arch: str) -> Any:
    return tri.compile(IRSource.from_file(written(folder, body)), target=f"amd:{arch}")


def run(folder: Path, body: str, arch: str, size: int, n: int) -> tuple[Any, Any]:
    x = np.random.default_rng(size).standard_normal(size).astype(np.float16)
    out = np.full(size, 7, np.float16)
    with tri.target(f"sim:amd:{arch}"):
        of_text[(1,)](x, out, n, ir_override=written(folder, body))
    return x, out


@pytest.mark.parametrize(
    ("arch", "size", "layout", "memory", "instruction", "count"),
    [
        ("gfx950", 2048, "wide", "shared", "buffer_load_dwordx4", 1),
        ("gfx950", 4096, "wide", "padded", "buffer_load_dwordx4", 2),
        ("gfx950", 2048, "narrow", "shared", "buffer_load_dword ", 4),
        ("gfx942", 2048, "narrow", "shared", "buffer_load_dword ", 4),
        ("gfx90a", 1024, "narrow", "shared", "buffer_load_dword ", 2),
        ("gfx908", 512, "narrow", "shared", "buffer_load_dword ", 1),
    ],
)
def test_copies_of_the_widths_that_a_chip_has(
    tmp_path: Path, arch: str, size: int, layout: str, memory: str, instruction: str, count: int
) -> None:
    body = copy(size, layout, memory)
    x, out = run(tmp_path, body, arch, size, size - 64)
    np.testing.assert_array_equal(out, np.where(np.arange(size) < size - 64, x, 0))
    lines = [line.strip() for line in str(compiled(tmp_path, body, arch).asm["amdgcn"]).splitlines()]
    assert sum(line.startswith(instruction) and " lds" in line for line in lines) == count
    assert not [line for line in lines if line.startswith("ds_write")]


def test_a_wait_leaves_the_last_groups_under_way(tmp_path: Path) -> None:
    """Two groups of two loads each: the first is there when at most one group is under way."""
    held = "4096xf16, #shared, #smem, mutable"
    body = f"""
    %i = tt.make_range {{end = 4096 : i32, start = 0 : i32}} : tensor<4096xi32, #wide>
    %a = ttg.local_alloc : () -> !ttg.memdesc<{held}>
    %b = ttg.local_alloc : () -> !ttg.memdesc<{held}>
    %t = amdg.buffer_load_to_local %x[%i] into %a : !tt.ptr<f16>[tensor<4096xi32, #wide>]  -> <{held}>
    %g = ttg.async_commit_group tokens %t
    %u = amdg.buffer_load_to_local %out[%i] into %b : !tt.ptr<f16>[tensor<4096xi32, #wide>]  -> <{held}>
    %h = ttg.async_commit_group tokens %u
    %w = ttg.async_wait %g {{num = 1 : i32}}
    %v = ttg.local_load LEFT : !ttg.memdesc<{held}> -> tensor<4096xf16, #wide>
    %z = ttg.async_wait %h {{num = 0 : i32}}
    amdg.buffer_store %v, %out[%i] : !tt.ptr<f16> -> tensor<4096xf16, #wide>
    """
    early = body.replace("LEFT", "%a")
    x, out = run(tmp_path, early, "gfx950", 4096, 0)
    np.testing.assert_array_equal(out, x)
    text = str(compiled(tmp_path, early, "gfx950").asm["llir"])
    assert text.index(f"s.waitcnt(i32 {0x0F72})") < text.index(f"s.waitcnt(i32 {0x0F70})")
    # nothing else waits: neither the barrier nor the read
    lines = str(compiled(tmp_path, early, "gfx950").asm["amdgcn"]).splitlines()
    waits = [line.split("vmcnt")[1][:3] for line in lines if "s_waitcnt" in line and "vmcnt" in line]
    assert waits == ["(2)", "(0)"]
    # the other is not: what it holds is neither array's
    x, out = run(tmp_path, body.replace("LEFT", "%b"), "gfx950", 4096, 0)
    assert not (out == 7).any()


def test_pointers_may_be_copied_too(tmp_path: Path) -> None:
    """``ttg.async_copy_global_to_local`` takes the same instruction where it can, and registers where not."""
    body = """
    %i = tt.make_range {end = 2048 : i32, start = 0 : i32} : tensor<2048xi32, #LAYOUT>
    %p = tt.splat %x : !tt.ptr<f16> -> tensor<2048x!tt.ptr<f16>, #LAYOUT>
    %q = tt.addptr %p, %i : tensor<2048x!tt.ptr<f16>, #LAYOUT>, tensor<2048xi32, #LAYOUT>
    %l = ttg.local_alloc : () -> !ttg.memdesc<2048xf16, #shared, #smem, mutable>
    %t = ttg.async_copy_global_to_local %q, %l : tensor<2048x!tt.ptr<f16>, #LAYOUT> -> <2048xf16, #shared, #smem, mutable>
    %g = ttg.async_commit_group tokens %t
    %w = ttg.async_wait %g {num = 0 : i32}
    %v = ttg.local_load %l : !ttg.memdesc<2048xf16, #shared, #smem, mutable> -> tensor<2048xf16, #LAYOUT>
    amdg.buffer_store %v, %out[%i] : !tt.ptr<f16> -> tensor<2048xf16, #LAYOUT>
    """
    for layout, direct in (("wide", True), ("single", False)):
        text = body.replace("LAYOUT", layout)
        x, out = run(tmp_path, text, "gfx950", 2048, 0)
        np.testing.assert_array_equal(out, x)
        assert (" lds" in str(compiled(tmp_path, text, "gfx950").asm["amdgcn"])) == direct


def test_without_a_wait_the_data_is_not_there(tmp_path: Path) -> None:
    body = copy(2048, "wide", wait="ttg.barrier local")
    try:
        x, out = run(tmp_path, body, "gfx950", 2048, 2048)
    except SimulationError:
        return
    assert (out != x).any()


@pytest.mark.parametrize(
    ("arch", "size", "layout", "memory", "message"),
    [
        ("gfx942", 2048, "wide", "shared", "side by side in LDS"),
        ("gfx950", 1024, "single", "shared", "moves 128 or 96 or 32 bits"),
        ("gfx950", 4096, "wide", "gaps", "side by side in LDS"),
        ("gfx950", 256, "narrow", "shared", "hold what others hold"),
    ],
)
def test_what_the_instruction_cannot_do_is_refused(
    tmp_path: Path, arch: str, size: int, layout: str, memory: str, message: str
) -> None:
    with pytest.raises(TriError, match=message) as caught:
        compiled(tmp_path, copy(size, layout, memory), arch)
    assert caught.value.remedy


def test_rdna_has_no_such_copies(tmp_path: Path) -> None:
    body = copy(2048, "wide")
    text = module(body).replace("threadsPerWarp = [64]", "threadsPerWarp = [32]")
    text = text.replace('"ttg.threads-per-warp" = 64', '"ttg.threads-per-warp" = 32')
    path = tmp_path / "k.ttgir"
    path.write_text(text)
    with pytest.raises(TriError, match="no loads to LDS"):
        tri.compile(IRSource.from_file(str(path)), target="amd:gfx1100")


def test_the_text_is_triton_s(tmp_path: Path) -> None:
    text = str(compiled(tmp_path, copy(2048, "wide"), "gfx950").asm["ttgir"])
    assert "amdg.buffer_load_to_local %x[%i] mask = %m into %l {contiguity = 1 : i32} : " in text
    assert "!tt.ptr<f16>[tensor<2048xi32, #blocked>]  -> <2048xf16, #shared, #smem, mutable>" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("into %l {contiguity = 1 : i32} : !tt.ptr<f16>[tensor<2048xi32, #wide>]  -> <2048x", "into %k : !tt.ptr<f16>[tensor<2048xi32, #wide>]  -> <1024x"), "dest is"),
        (("f16, #shared, #smem, mutable>\n    %g", "f16, #shared, #smem>\n    %g"), "dest is|type"),
        ((" mask = %m", " mask = %i"), "mask|expected"),
    ],
)  # fmt: skip
def test_operands_that_do_not_fit_are_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    body = copy(2048, "wide").replace(*change)
    first = "%k = ttg.local_alloc : () -> !ttg.memdesc<1024xf16, #shared, #smem, mutable>\n"
    with pytest.raises(TriError, match=message):
        compiled(tmp_path, first + body, "gfx950")
