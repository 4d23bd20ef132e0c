"""Transposing reads of gfx950: what lanes get, by the published tables; which loads are such; results against double precision."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
from mfma_kernels import machine_code
from strided_kernels import run
from tri_backend_amd.dialect.transposing import transposed
from tri_core.compiler import IRSource
from tri_core.testing import filecheck

READS = r"ds_read_b64_tr_b(?:8|16)"
FOUR_WAYS = [(a, b) for a in (False, True) for b in (False, True)]


def test_halves_of_words_go_where_the_emulator_says() -> None:
    """ROCm/rocm-systems pull request 10175: half n of lane l comes from lane (l - l % 16 + l // 4 % 4) + 4 n, half l % 4."""
    read = np.arange(64 * 4, dtype=np.uint16)
    got = transposed(read.view(np.uint64), 16).view(np.uint16).reshape(64, 4)
    lane, half = np.arange(64)[:, None], np.arange(4)
    source = (lane & ~0xF | lane >> 2 & 3) + 4 * half
    np.testing.assert_array_equal(got, read.reshape(64, 4)[source, lane & 3])


def test_bytes_go_where_triton_says() -> None:
    """triton-lang/triton pull request 8525: 16 lanes read 8 rows of 16 bytes, two lanes a row; lane i gets column i."""
    read = np.random.default_rng(8).integers(0, 256, 64 * 8, np.uint8)
    got = transposed(read.view(np.uint64), 8).view(np.uint8).reshape(64, 8)
    for lane in range(64):
        for row in range(8):
            source = lane // 16 * 16 + 2 * row + lane % 16 // 8
            assert got[lane, row] == read[8 * source + lane % 8]


@pytest.mark.parametrize("kind", ["f16", "bf16", "i8", "f8E4M3FN"])
@pytest.mark.parametrize("columns", FOUR_WAYS)
def test_results_are_right_in_four_transpositions(kind: str, columns: tuple[bool, bool]) -> None:
    error, ttgir = run("gfx950", kind, columns, (61, 137, 96), (64, 128, 64), num_warps=4)
    assert error <= (0 if kind == "i8" else 3e-6)
    assert "amd_mfma" in ttgir


@pytest.mark.parametrize("block", [(16, 16, 64), (32, 32, 32), (32, 256, 16)])
@pytest.mark.parametrize("kind", ["f16", "i8"])
def test_results_are_right_in_other_blocks(kind: str, block: tuple[int, int, int]) -> None:
    m, n, k = block
    error, _ = run("gfx950", kind, (True, False), (m + 3, n + 5, 2 * k - 1), block, num_warps=2)
    assert error <= (0 if kind == "i8" else 3e-6)


@pytest.mark.parametrize(("kind", "instruction"), [("f16", "ds_read_b64_tr_b16"), ("bf16", "ds_read_b64_tr_b16"), ("i8", "ds_read_b64_tr_b8"), ("f8E5M2", "ds_read_b64_tr_b8")])  # fmt: skip
def test_an_operand_in_rows_is_read_across_these(kind: str, instruction: str) -> None:
    text = machine_code("gfx950", kind, (128, 128, 64))
    assert set(re.findall(READS, text)) == {instruction}
    # nothing is transposed in registers, and all writes are as wide as can be
    assert "v_perm_b32" not in text
    assert set(re.findall(r"ds_write\w*", text)) == {"ds_write_b128"}


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942"])
def test_other_chips_have_none(chip: str) -> None:
    assert not re.search(READS, machine_code(chip, "f16", (128, 128, 64)))


def test_loads_stay_under_way_through_the_matrix_instructions() -> None:
    """No move in registers that LLVM would do before these stands between a load and its write to LDS."""
    text = machine_code("gfx950", "f16", (256, 256, 64), num_warps=8)
    lines = [line.split(";")[0].strip() for line in text.splitlines()]
    jumps = [
        i
        for i, line in enumerate(lines)
        if line.startswith("s_cbranch") and f"{line.split()[-1]}:" in lines[:i]
    ]
    loops = [lines[lines.index(f"{lines[i].split()[-1]}:") : i] for i in jumps]
    # the loop behind it fills buffers in blocks that LLVM lays elsewhere
    steady = [body for body in loops if all(word in "".join(body) for word in ("v_mfma", "buffer_load"))]
    loop = min(steady, key=len)
    waits = [i for i, line in enumerate(loop) if line.startswith("s_waitcnt") and "vmcnt" in line]
    matrix = [i for i, line in enumerate(loop) if line.startswith("v_mfma")]
    assert re.search(READS, "".join(loop))
    # wavefronts that alternate store before the last quarter
    assert min(waits) > matrix[len(matrix) * 3 // 4 - 1]


# --- loads that are written by hand -----------------------------------------------------------------------


@tri.jit
def of_text(x, out):
    """Stands for the text that is compiled instead."""


_HEAD = """
#own = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.amd_mfma<{version = VERSION, warpsPerCTA = [2, 2], instrShape = [32, 32, 16], isTransposed = true}>
#operand = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 8}>
#memory = MEMORY
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32} {
  tt.func public @of_text(%x: !tt.ptr<f16> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}, %out: !tt.ptr<f16> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}) attributes {noinline = false} {
    %n = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #own}>>
    %k = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 1, parent = #own}>>
    %row = tt.expand_dims %k {axis = 1 : i32} : tensor<64xi32, #ttg.slice<{dim = 1, parent = #own}>> -> tensor<64x1xi32, #own>
    %column = tt.expand_dims %n {axis = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #own}>> -> tensor<1x128xi32, #own>
    %width = arith.constant dense<128> : tensor<64x1xi32, #own>
    %begin = arith.muli %row, %width : tensor<64x1xi32, #own>
    %a = tt.broadcast %begin : tensor<64x1xi32, #own> -> tensor<64x128xi32, #own>
    %b = tt.broadcast %column : tensor<1x128xi32, #own> -> tensor<64x128xi32, #own>
    %i = arith.addi %a, %b : tensor<64x128xi32, #own>
    %v = amdg.buffer_load %x[%i] : !tt.ptr<f16> -> tensor<64x128xf16, #own>
"""
_READ = """
    %l = ttg.local_alloc %v : (tensor<64x128xf16, #own>) -> !ttg.memdesc<64x128xf16, #memory, #smem>
    %w = ttg.local_load %l : !ttg.memdesc<64x128xf16, #memory, #smem> -> tensor<64x128xf16, #operand>
    %z = ttg.convert_layout %w : tensor<64x128xf16, #operand> -> tensor<64x128xf16, #own>
    amdg.buffer_store %z, %out[%i] : !tt.ptr<f16> -> tensor<64x128xf16, #own>
    tt.return
  }
}
"""


def written(folder: Path, memory: str, version: int = 4) -> str:
    path = folder / "k.ttgir"
    path.write_text((_HEAD + _READ).replace("MEMORY", memory).replace("VERSION", str(version)))
    return str(path)


def stage(folder: Path, name: str, memory: str, arch: str = "gfx950", version: int = 4) -> str:
    made: Any = tri.compile(IRSource.from_file(written(folder, memory, version)), target=f"amd:{arch}")
    return str(made.asm[name])


ROWS = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"
SWIZZLED = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 16, order = [1, 0]}>"
PADDED = "#ttg.padded_shared<[256:+8] {order = [1, 0], shape = [64, 128]}>"
COLUMNS = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [0, 1]}>"
SCATTERED = "#ttg.swizzled_shared<{vec = 2, perPhase = 1, maxPhase = 8, order = [1, 0]}>"


@pytest.mark.parametrize("memory", [ROWS, SWIZZLED, PADDED, COLUMNS, SCATTERED])
def test_a_load_gives_what_was_stored(tmp_path: Path, memory: str) -> None:
    x = np.arange(64 * 128, dtype=np.uint16).view(np.float16).reshape(64, 128)
    out = np.zeros_like(x)
    with tri.target("sim:amd:gfx950"):
        of_text[(1,)](x, out, ir_override=written(tmp_path, memory))
    np.testing.assert_array_equal(out.view(np.uint16), x.view(np.uint16))


@pytest.mark.parametrize(
    ("memory", "count"), [(ROWS, 16), (SWIZZLED, 16), (PADDED, 16), (COLUMNS, 0), (SCATTERED, 0)]
)
def test_loads_are_such_where_columns_lie_in_vectors(tmp_path: Path, memory: str, count: int) -> None:
    """64 x 64 elements by 64 lanes, four at once."""
    assert len(re.findall(READS, stage(tmp_path, "amdgcn", memory))) == count


def test_the_intrinsic(tmp_path: Path) -> None:
    filecheck(
        stage(tmp_path, "llir", SWIZZLED),
        """
        // CHECK: store <8 x half>
        // CHECK: barrier
        // CHECK-COUNT-16: call <4 x i16> @llvm.amdgcn.ds.read.tr16.b64.v4i16(ptr addrspace(3)
        // CHECK-NOT: ds.read.tr16
        // CHECK: ret void
        """,
    )
