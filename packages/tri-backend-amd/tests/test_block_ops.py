"""The dialect's ops on tensors: Triton's text, what is refused, and what they do in the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
from tri_core.compiler import IRSource
from tri_core.errors import TriError

_POINTER = "!tt.ptr<f32> {tt.divisibility = 16 : i32}"
_LAYOUTS = """
#row = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
#tile = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#by_rows = #ttg.blocked<{sizePerThread = [4, 4], threadsPerWarp = [4, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#by_columns = #ttg.blocked<{sizePerThread = [4, 4], threadsPerWarp = [4, 16], warpsPerCTA = [4, 1], order = [0, 1]}>
#across = #ttg.linear<{register = [[1, 0], [2, 0], [0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [4, 0], [8, 0]], warp = [[16, 0], [32, 0]], block = []}>
"""


@tri.jit
def of_text(x, y, out):
    """Stands for the text that is compiled instead."""


def module(body: str) -> str:
    head = 'module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32} {'
    signature = f"%x: {_POINTER}, %y: {_POINTER}, %out: {_POINTER}"
    return f"{_LAYOUTS}{head}\n  tt.func public @of_text({signature}) attributes {{noinline = false}} {{\n{body}\n    tt.return\n  }}\n}}\n"


def written(folder: Path, body: str) -> str:
    path = folder / "k.ttgir"
    path.write_text(module(body))
    return str(path)


def run(folder: Path, body: str, *arrays: Any, arch: str = "gfx942") -> Any:
    with tri.target(f"sim:amd:{arch}"):
        return of_text[(1,)](*arrays, ir_override=written(folder, body))


def compiled(folder: Path, body: str, arch: str = "gfx942") -> Any:
    return tri.compile(IRSource.from_file(written(folder, body)), target=f"amd:{arch}")


def arrays(size: int = 256) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(size)
    x, y = (rng.standard_normal(size, dtype=np.float32) for _ in range(2))
    return x, y, np.zeros(size, np.float32)


# --- access -------------------------------------------------------------------------------------------------

ACCESS = """
    %i = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #blocked>
    %n = arith.constant dense<100> : tensor<256xi32, #blocked>
    %seven = arith.constant dense<7.000000e+00> : tensor<256xf32, #blocked>
    %step = arith.constant 4 : i32
    %m = arith.cmpi slt, %i, %n : tensor<256xi32, #blocked>
    %v = amdg.buffer_load %x[%i], %m, %seven stride = %step {cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_normal>} : !tt.ptr<f32> -> tensor<256xf32, #blocked>
    amdg.buffer_store %v, %out[%i], %m {contiguity = 1 : i32} : !tt.ptr<f32> -> tensor<256xf32, #blocked>
"""


def test_loads_and_stores(tmp_path: Path) -> None:
    x, y, out = arrays()
    run(tmp_path, ACCESS, x, y, out)
    np.testing.assert_array_equal(out, np.where(np.arange(256) < 100, x, 0))
    text = str(compiled(tmp_path, ACCESS).asm["amdgcn"])
    assert "buffer_load_dword" in text
    assert "sc0 nt" in text
    assert "buffer_store_dword" in text


def test_a_vector_is_loaded_at_once(tmp_path: Path) -> None:
    body = """
    %i = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #row>
    %v = amdg.buffer_load %x[%i] : !tt.ptr<f32> -> tensor<1024xf32, #row>
    amdg.buffer_store %v, %out[%i] : !tt.ptr<f32> -> tensor<1024xf32, #row>
    """
    x, y, out = arrays(1024)
    run(tmp_path, body, x, y, out)
    np.testing.assert_array_equal(out, x)
    text = str(compiled(tmp_path, body).asm["amdgcn"])
    assert text.count("buffer_load_dwordx4") == text.count("buffer_store_dwordx4") == 1


@pytest.mark.parametrize(("kind", "function"), [("fadd", np.add), ("exch", lambda old, new: new)])
def test_atomic_read_modify_write(tmp_path: Path, kind: str, function: Any) -> None:
    body = f"""
    %i = tt.make_range {{end = 256 : i32, start = 0 : i32}} : tensor<256xi32, #blocked>
    %n = arith.constant dense<77> : tensor<256xi32, #blocked>
    %m = arith.cmpi slt, %i, %n : tensor<256xi32, #blocked>
    %v = amdg.buffer_load %x[%i] : !tt.ptr<f32> -> tensor<256xf32, #blocked>
    %r = amdg.buffer_atomic_rmw {kind}, relaxed, gpu, %v, %y[%i], %m : !tt.ptr<f32> -> tensor<256xf32, #blocked>
    amdg.buffer_store %r, %out[%i], %m : !tt.ptr<f32> -> tensor<256xf32, #blocked>
    """
    x, y, out = arrays()
    before, some = y.copy(), np.arange(256) < 77
    run(tmp_path, body, x, y, out)
    np.testing.assert_array_equal(y, np.where(some, function(before, x), before))
    np.testing.assert_array_equal(out, np.where(some, before, 0))


def test_atomic_compare_and_swap(tmp_path: Path) -> None:
    body = """
    %i = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #blocked>
    %p = tt.bitcast %y : !tt.ptr<f32> -> !tt.ptr<i32>
    %q = tt.bitcast %out : !tt.ptr<f32> -> !tt.ptr<i32>
    %c = arith.constant dense<3> : tensor<256xi32, #blocked>
    %r = amdg.buffer_atomic_cas relaxed, gpu, %c, %i, %p[%i] : !tt.ptr<i32> -> tensor<256xi32, #blocked>
    amdg.buffer_store %r, %q[%i] : !tt.ptr<i32> -> tensor<256xi32, #blocked>
    """
    x, y, out = arrays()
    words, before = y.view(np.int32), (np.arange(256) % 5).astype(np.int32)
    words[:] = before
    run(tmp_path, body, x, y, out)
    np.testing.assert_array_equal(words, np.where(before == 3, np.arange(256), before))
    np.testing.assert_array_equal(out.view(np.int32), before)


# --- registers ----------------------------------------------------------------------------------------------


def indices(name: str, rows: int, columns: int, layout: str) -> str:
    """``%NAME``: row-major offsets of a matrix."""
    one, two = f"#ttg.slice<{{dim = 1, parent = #{layout}}}>", f"#ttg.slice<{{dim = 0, parent = #{layout}}}>"
    type_ = f"tensor<{rows}x{columns}xi32, #{layout}>"
    return f"""
    %{name}r = tt.make_range {{end = {rows} : i32, start = 0 : i32}} : tensor<{rows}xi32, {one}>
    %{name}c = tt.make_range {{end = {columns} : i32, start = 0 : i32}} : tensor<{columns}xi32, {two}>
    %{name}s = arith.constant dense<{columns}> : tensor<{rows}x1xi32, #{layout}>
    %{name}0 = tt.expand_dims %{name}r {{axis = 1 : i32}} : tensor<{rows}xi32, {one}> -> tensor<{rows}x1xi32, #{layout}>
    %{name}1 = arith.muli %{name}0, %{name}s : tensor<{rows}x1xi32, #{layout}>
    %{name}2 = tt.expand_dims %{name}c {{axis = 0 : i32}} : tensor<{columns}xi32, {two}> -> tensor<1x{columns}xi32, #{layout}>
    %{name}3 = tt.broadcast %{name}1 : tensor<{rows}x1xi32, #{layout}> -> {type_}
    %{name}4 = tt.broadcast %{name}2 : tensor<1x{columns}xi32, #{layout}> -> {type_}
    %{name} = arith.addi %{name}3, %{name}4 : {type_}
    """


def tensor(rows: int, columns: int, layout: str) -> str:
    return f"tensor<{rows}x{columns}xf32, #{layout}>"


def test_concat_fills_rows_first(tmp_path: Path) -> None:
    small, whole = tensor(16, 64, "tile"), tensor(32, 128, "tile")
    body = f"""
    {indices("i", 16, 64, "tile")} {indices("o", 32, 128, "tile")}
    %a = amdg.buffer_load %x[%i] : !tt.ptr<f32> -> {small}
    %b = amdg.buffer_load %y[%i] : !tt.ptr<f32> -> {small}
    %c = amdg.concat %a, %b, %b, %a : {small}, {small}, {small}, {small} -> {whole}
    amdg.buffer_store %c, %out[%o] : !tt.ptr<f32> -> {whole}
    """
    x, y, _ = arrays(1024)
    out = np.zeros(4096, np.float32)
    run(tmp_path, body, x, y, out)
    a, b = x.reshape(16, 64), y.reshape(16, 64)
    np.testing.assert_array_equal(out.reshape(32, 128), np.block([[a, b], [b, a]]))


@pytest.mark.parametrize(("row", "column"), [(0, 0), (16, 0), (0, 64), (32, 64)])
def test_extract_slice(tmp_path: Path, row: int, column: int) -> None:
    whole, part = tensor(64, 128, "tile"), tensor(32, 64, "tile")
    body = f"""
    {indices("i", 64, 128, "tile")} {indices("o", 32, 64, "tile")}
    %a = amdg.buffer_load %x[%i] : !tt.ptr<f32> -> {whole}
    %b = amdg.extract_slice %a [{row}, {column}] : {whole} to {part}
    amdg.buffer_store %b, %out[%o] : !tt.ptr<f32> -> {part}
    """
    x, y, _ = arrays(8192)
    out = np.zeros(2048, np.float32)
    run(tmp_path, body, x, y, out)
    np.testing.assert_array_equal(
        out.reshape(32, 64), x.reshape(64, 128)[row : row + 32, column : column + 64]
    )


def test_in_thread_transpose(tmp_path: Path) -> None:
    source, result = tensor(64, 64, "by_rows"), tensor(64, 64, "across")
    body = f"""
    {indices("i", 64, 64, "by_rows")} {indices("o", 64, 64, "across")}
    %a = amdg.buffer_load %x[%i] : !tt.ptr<f32> -> {source}
    %b = amdg.in_thread_transpose %a : {source} -> {result}
    amdg.buffer_store %b, %out[%o] : !tt.ptr<f32> -> {result}
    """
    x, y, out = arrays(4096)
    run(tmp_path, body, x, y, out)
    np.testing.assert_array_equal(out, x)
    assert "ds_" not in str(compiled(tmp_path, body).asm["amdgcn"]).split(".section")[0]


# --- barriers -----------------------------------------------------------------------------------------------


def test_half_of_the_threads_wait_for_the_other(tmp_path: Path) -> None:
    body = """
    %i = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #blocked>
    %w = ttg.warp_id
    %two = arith.constant 2 : i32
    %low = arith.cmpi slt, %w, %two : i32
    %high = arith.cmpi sge, %w, %two : i32
    amdg.cond_barrier %low
    %v = amdg.buffer_load %x[%i] : !tt.ptr<f32> -> tensor<256xf32, #blocked>
    amdg.cond_barrier %high
    amdg.buffer_store %v, %out[%i] : !tt.ptr<f32> -> tensor<256xf32, #blocked>
    """
    x, y, out = arrays()
    run(tmp_path, body, x, y, out)
    np.testing.assert_array_equal(out, x)
    text = str(compiled(tmp_path, body).asm["amdgcn"]).split(".section")[0]
    assert text.count("s_barrier") == 2
    # no memory is ordered
    assert "buffer_wbl2" not in text


# --- text and refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [ACCESS], ids=["access"])
def test_the_text_is_read_as_it_is_written(tmp_path: Path, body: str) -> None:
    made = compiled(tmp_path, body)
    text = str(made.asm["ttgir"])
    again = tmp_path / "again.ttgir"
    again.write_text(text)
    assert str(tri.compile(IRSource.from_file(str(again)), target="amd:gfx942").asm["amdgcn"]) == str(
        made.asm["amdgcn"]
    )
    assert "amdg.buffer_load %x[%i], %m, %seven stride = %step {cachePolicy = " in text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%v = amdg.buffer_load %x[%i] : !tt.ptr<f32> -> tensor<256xf16, #blocked>", "result is tensor<256xf16"),
        ("%v = amdg.buffer_load %x[%j] : !tt.ptr<f32> -> tensor<256xf32, #row>", "points to|layout|type"),
        ("%v = amdg.concat %a, %a : tensor<256xf32, #blocked>, tensor<256xf32, #blocked> -> tensor<256xf32, #blocked>", "1 sources"),
        ("%v = amdg.concat %a, %a : tensor<256xf32, #blocked>, tensor<256xf32, #blocked> -> tensor<512xf32, #row>", "not in the same threads"),
        ("%v = amdg.extract_slice %a [128] : tensor<256xf32, #blocked> to tensor<256xf32, #blocked>", "not inside"),
        ("%v = amdg.extract_slice %a [64] : tensor<256xf32, #blocked> to tensor<128xf32, #blocked>", "not in the same threads"),
        ("%v = amdg.in_thread_transpose %a : tensor<256xf32, #blocked> -> tensor<256xf32, #row>", "between threads"),
    ],
)  # fmt: skip
def test_refusals_say_what_is_wrong(tmp_path: Path, line: str, message: str) -> None:
    body = f"""
    %i = tt.make_range {{end = 256 : i32, start = 0 : i32}} : tensor<256xi32, #blocked>
    %j = tt.make_range {{end = 256 : i32, start = 0 : i32}} : tensor<256xi32, #blocked>
    %a = amdg.buffer_load %x[%i] : !tt.ptr<f32> -> tensor<256xf32, #blocked>
    {line}
    """
    with pytest.raises(TriError, match=message):
        compiled(tmp_path, body)
