"""The exchanges between lanes and the reductions of lanes: exact in the simulator, by the instructions that cost least."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import amd_support
import tri
import tri.language as tl
from simulated_words import interpret
from tri_backend_amd.architectures import ARCHITECTURES
from tri_backend_amd.dialect.machine import dpp_source
from tri_backend_amd.lowering.lane_costs import lane_costs
from tri_core.compiler import IRSource

#: processors whose instructions differ, and the lanes of their wavefronts
LANES = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1030": 32, "gfx1100": 32, "gfx1201": 32, "gfx1250": 32}


@pytest.mark.parametrize("family", ["cdna3", "rdna3"])
def test_a_dpp_move_is_the_xor_of_its_mask(family: str) -> None:
    lanes = np.arange(64)
    controls = lane_costs(family).controls
    for mask, control in controls.items():
        np.testing.assert_array_equal(dpp_source(control, lanes), lanes ^ mask)
    assert set(controls) == ({1, 2, 3, 7, 8, 15} if family == "cdna3" else set(range(1, 16)))


def test_all_processors_have_costs() -> None:
    for arch, row in ARCHITECTURES.items():
        costs = lane_costs(row.family)
        assert costs.dpp < costs.swizzle < costs.permute
        assert (costs.swap is not None) == (arch == "gfx950")
        assert (costs.other_row is not None) == (row.family.startswith("rdna") or arch == "gfx1250")


@pytest.mark.parametrize("arch", LANES)
def test_every_exchange_of_lanes(arch: str) -> None:
    lanes = LANES[arch]
    values = np.random.default_rng(lanes).integers(-(1 << 31), 1 << 31, 2 * lanes).astype(np.int32)
    values[lanes : lanes + 16] = values[lanes + 16 : lanes + 32]  # neighbouring rows alike
    thread = np.arange(2 * lanes)
    for mask in range(1, lanes):
        (made,) = interpret(arch, lambda b, words, value, m=mask: [words.shuffle_xor(b, value, m)], values)
        np.testing.assert_array_equal(made, values[thread ^ mask], err_msg=f"{arch}, {mask}")


#: bits of lanes that a scan joins one after the other: from the lowest on, and with the highest first
_ORDERS = ((0, 1, 2, 3, 4, 5), (4, 5), (1, 4, 5), (5, 3), (4, 0, 2))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("arch", LANES)
def test_the_last_lane_before_each_block(arch: str, reverse: bool) -> None:
    lanes = LANES[arch]
    values = np.random.default_rng(lanes).integers(-(1 << 31), 1 << 31, 2 * lanes).astype(np.int32)
    thread = np.arange(2 * lanes)
    for order in _ORDERS:
        low = 0
        for bit in (1 << place for place in order if 1 << place < lanes):
            (made,) = interpret(
                arch,
                lambda b, words, value, at=(bit, low): [words.shuffle_before(b, value, *at, reverse)],
                values,
            )
            clear, put = (low, bit) if reverse else (bit, low)
            later = (thread & bit != 0) != reverse
            wanted = values[thread & ~clear | put]
            np.testing.assert_array_equal(made[later], wanted[later], err_msg=f"{arch}, {bit}, {low}")
            low |= bit


#: what the assembly has for a bit of a lane and those below it, and what it has not
BEFORE = {
    ("gfx942", 2, 1): ("quad_perm", "ds_"),
    ("gfx942", 16, 0): ("ds_swizzle_b32", "bpermute"),
    ("gfx942", 8, 7): ("ds_swizzle_b32", "bpermute"),
    ("gfx942", 16, 15): ("row_bcast:15", "ds_"),
    ("gfx942", 32, 31): ("row_bcast:31", "ds_"),
    ("gfx942", 32, 16): ("ds_bpermute_b32", "swizzle"),
    ("gfx950", 16, 0): ("v_permlane16_swap_b32", "v_cndmask"),
    ("gfx1201", 16, 15): ("v_permlanex16_b32", "ds_"),
    ("gfx1201", 16, 8): ("v_permlanex16_b32", "ds_"),
}


@pytest.mark.parametrize(("arch", "bit", "low"), BEFORE)
def test_the_last_lane_before_is_read_by_what_costs_least(arch: str, bit: int, low: int) -> None:
    def body(b: Any, words: Any, arguments: Any) -> None:
        own = b.gep(arguments[0], words.thread_id(b), b.i32)
        b.store(words.shuffle_before(b, b.load(own, b.i32, 4), bit, low, False), own, 4)

    text = amd_support.compile_body(arch, body).assembly.split("s_endpgm")[0]
    there, not_there = BEFORE[arch, bit, low]
    assert there in text
    assert not_there not in text.split(":", 1)[1]


#: what the assembly of an exchange by a mask has, and what it has not
CHOSEN = {
    ("gfx942", 3): ("quad_perm", "ds_"),
    ("gfx942", 4): ("row_half_mirror", "ds_"),
    ("gfx942", 13): ("row_mirror", "ds_"),
    ("gfx942", 16): ("ds_swizzle_b32", "bpermute"),
    ("gfx942", 32): ("ds_bpermute_b32", "swizzle"),
    ("gfx950", 16): ("v_permlane16_swap_b32", "ds_"),
    ("gfx950", 32): ("v_permlane32_swap_b32", "ds_"),
    ("gfx950", 33): ("v_permlane32_swap_b32", "ds_"),
    ("gfx1100", 5): ("row_xmask:5", "ds_"),
    ("gfx1100", 16): ("v_permlanex16_b32", "ds_"),
    ("gfx1201", 21): ("v_permlanex16_b32", "ds_"),
    ("gfx1250", 21): ("v_permlanex16_b32", "ds_"),
}


@pytest.mark.parametrize(("arch", "mask"), CHOSEN)
def test_an_exchange_is_what_costs_least(arch: str, mask: int) -> None:
    def body(b: Any, words: Any, arguments: Any) -> None:
        own = b.gep(arguments[0], words.thread_id(b), b.i32)
        b.store(words.shuffle_xor(b, b.load(own, b.i32, 4), mask), own, 4)

    text = amd_support.compile_body(arch, body).assembly.split("s_endpgm")[0]
    there, not_there = CHOSEN[arch, mask]
    assert there in text
    assert not_there not in text.split(":", 1)[1]


# --- reductions -------------------------------------------------------------------------------------------

REDUCTION = """
#l = #ttg.linear<{{register = [], lane = {lane}, warp = [], block = []}}>
#r = #ttg.slice<{{dim = 1, parent = #l}}>
#c = #ttg.slice<{{dim = 0, parent = #l}}>
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "hip:{arch}", "ttg.threads-per-warp" = {lanes} : i32}} {{
  tt.func public @summed(%x: !tt.ptr<{type}>, %out: !tt.ptr<{type}>) attributes {{noinline = false}} {{
    %i = tt.make_range {{end = {rows} : i32, start = 0 : i32}} : tensor<{rows}xi32, #r>
    %j = tt.make_range {{end = {columns} : i32, start = 0 : i32}} : tensor<{columns}xi32, #c>
    %width = arith.constant dense<{columns}> : tensor<{rows}x1xi32, #l>
    %rows = tt.expand_dims %i {{axis = 1 : i32}} : tensor<{rows}xi32, #r> -> tensor<{rows}x1xi32, #l>
    %columns = tt.expand_dims %j {{axis = 0 : i32}} : tensor<{columns}xi32, #c> -> tensor<1x{columns}xi32, #l>
    %first = arith.muli %rows, %width : tensor<{rows}x1xi32, #l>
    %across = tt.broadcast %first : tensor<{rows}x1xi32, #l> -> tensor<{rows}x{columns}xi32, #l>
    %down = tt.broadcast %columns : tensor<1x{columns}xi32, #l> -> tensor<{rows}x{columns}xi32, #l>
    %places = arith.addi %across, %down : tensor<{rows}x{columns}xi32, #l>
    %from = tt.splat %x : !tt.ptr<{type}> -> tensor<{rows}x{columns}x!tt.ptr<{type}>, #l>
    %pointers = tt.addptr %from, %places : tensor<{rows}x{columns}x!tt.ptr<{type}>, #l>, tensor<{rows}x{columns}xi32, #l>
    %values = tt.load %pointers : tensor<{rows}x{columns}x!tt.ptr<{type}>, #l>
    %sums = "tt.reduce"(%values) <{{axis = 1 : i32}}> ({{
    ^bb0(%a: {type}, %b: {type}):
      %s = {add} %a, %b : {type}
      tt.reduce.return %s : {type}
    }}) : (tensor<{rows}x{columns}x{type}, #l>) -> tensor<{rows}x{type}, #r>
    %to = tt.splat %out : !tt.ptr<{type}> -> tensor<{rows}x!tt.ptr<{type}>, #r>
    %results = tt.addptr %to, %i : tensor<{rows}x!tt.ptr<{type}>, #r>, tensor<{rows}xi32, #r>
    tt.store %results, %sums : tensor<{rows}x!tt.ptr<{type}>, #r>
    tt.return
  }}
}}
"""


@tri.jit
def summed(x, out):
    """Stands for the text that is compiled instead."""


def reduction(folder: Path, arch: str, bits: tuple[int, ...], type_: str = "i32") -> tuple[str, int]:
    """A kernel's file that sums what lanes hold that differ in ``bits`` of their number, and how many sums there are."""
    lanes, row, column, bases = LANES[arch], 1, 1, []
    for bit in range(lanes.bit_length() - 1):
        if bit in bits:
            bases.append([0, column])
            column *= 2
        else:
            bases.append([row, 0])
            row *= 2
    path = folder / "k.ttgir"
    add = "arith.addf" if type_.startswith("f") else "arith.addi"
    path.write_text(
        REDUCTION.format(lane=bases, lanes=lanes, rows=row, columns=column, arch=arch, type=type_, add=add)
    )
    return str(path), row


def numbers(rows: int, lanes: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    return np.random.default_rng(rows).integers(-1000, 1000, (rows, lanes // rows)).astype(dtype)


SOME_BITS = [
    (0,), (2,), (3,), (4,), (5,), (0, 1), (2, 3), (1, 3), (3, 4), (4, 5), (0, 1, 2), (1, 2, 3), (0, 2, 4), (2, 3, 4, 5),
    (0, 1, 2, 3), (0, 1, 2, 3, 4), (1, 2, 3, 4, 5), (0, 1, 2, 3, 5), (0, 1, 2, 3, 4, 5),
]  # fmt: skip


@pytest.mark.parametrize("arch", ["gfx942", "gfx950", "gfx1100"])
@pytest.mark.parametrize("bits", SOME_BITS, ids=str)
def test_sums_of_any_lanes(arch: str, bits: tuple[int, ...], tmp_path: Path) -> None:
    if 1 << max(bits) >= LANES[arch]:
        return
    path, rows = reduction(tmp_path, arch, bits)
    x, out = numbers(rows, LANES[arch], np.int32), np.zeros(rows, np.int32)
    with tri.target(f"sim:amd:{arch}"):
        summed[(1,)](x, out, ir_override=path)
    np.testing.assert_array_equal(out, x.sum(1))


def test_values_of_two_words_are_swapped_together(tmp_path: Path) -> None:
    path, rows = reduction(tmp_path, "gfx950", (4, 5), "f64")
    x, out = numbers(rows, 64, np.float64) / 8, np.zeros(rows)
    with tri.target("sim:amd:gfx950"):
        summed[(1,)](x, out, ir_override=path)
    np.testing.assert_array_equal(out, x.sum(1))


#: what the assembly of a reduction over bits has, and how often; it has nothing else that goes through LDS
REDUCED = {
    ("gfx942", (0, 1, 2, 3, 4, 5)): {"_dpp": 6, "v_readlane": 1},
    ("gfx942", (2, 3)): {"_dpp": 3},
    ("gfx942", (5,)): {"ds_bpermute": 1},
    ("gfx950", (4, 5)): {"v_permlane16_swap": 1, "v_permlane32_swap": 1},
    ("gfx950", (0, 1, 2, 3, 4, 5)): {"_dpp": 6, "v_readlane": 1},
    ("gfx1100", (0, 1, 2, 3, 4)): {"_dpp": 4, "v_permlanex16": 1, "-1, -1": 1},
    ("gfx1250", (0, 1, 2, 3, 4)): {"_dpp": 4, "v_permlanex16": 1, "-1, -1": 1},
    ("gfx1201", (4,)): {"v_permlanex16": 1, "0xfedcba98": 1},
}


@pytest.mark.parametrize(("arch", "bits"), REDUCED)
def test_a_reduction_is_what_costs_least(arch: str, bits: tuple[int, ...], tmp_path: Path) -> None:
    path, _ = reduction(tmp_path, arch, bits)
    text = str(tri.compile(IRSource.from_file(path), target=f"amd:{arch}").asm["amdgcn"]).split("s_endpgm")[0]
    wanted = REDUCED[arch, bits]
    assert {part: text.count(part) for part in wanted} == wanted
    assert sum(text.count(part) for part in ("ds_bpermute", "ds_swizzle")) == wanted.get("ds_bpermute", 0)


@tri.jit
def totals(out, x, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i, j = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    values = tl.load(x + i[:, None] * COLUMNS + j[None, :])
    tl.store(out + i, tl.sum(values, axis=1) + tl.max(values, axis=1))


@functools.cache
def compiled_totals(target: str, rows: int, columns: int) -> Any:
    types = {"out": "*fp32", "x": "*fp32", "ROWS": "constexpr", "COLUMNS": "constexpr"}
    source = tri.ASTSource(totals, types, {"ROWS": rows, "COLUMNS": columns})
    return tri.compile(source, target=target, options={"num_warps": 2})


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx1100"])
@pytest.mark.parametrize("columns", [1, 2, 4, 8, 16, 32, 64, 128, 1024])
def test_sums_of_lanes(arch: str, columns: int) -> None:
    rows = 2048 // columns
    x = np.random.default_rng(columns).integers(-99, 99, (rows, columns)).astype(np.float32)
    out = np.zeros(rows, np.float32)
    compiled_totals(f"sim:amd:{arch}", rows, columns)[(1, 1, 1)](out, x)
    np.testing.assert_array_equal(out, x.sum(1) + x.max(1))


def test_wavefronts_of_cdna_are_summed_without_memory() -> None:
    text = str(compiled_totals("amd:gfx942", 2, 64).asm["amdgcn"])
    assert "row_bcast:31" in text
    assert "ds_swizzle" not in text
    assert "ds_bpermute" not in text


@tri.jit
def largest(out, x, COLUMNS: tl.constexpr):
    values = tl.load(x + tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS))
    tl.store(out + 2 * tl.program_id(0), tl.max(values, axis=0))
    tl.store(out + 2 * tl.program_id(0) + 1, tl.sum(values, axis=0))


@functools.cache
def compiled_largest(target: str, kind: str, columns: int) -> Any:
    types = {"out": f"*{kind}", "x": f"*{kind}", "COLUMNS": "constexpr"}
    source = tri.ASTSource(largest, types, {"COLUMNS": columns})
    return tri.compile(source, target=target, options={"num_warps": 1})


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("kind", ["fp32", "i32"])
def test_an_instruction_takes_three_values_of_a_thread(arch: str, kind: str) -> None:
    """Of n, n being a power of two: one instruction for two of them, and n / 2 - 1 for three."""
    columns = 32 * LANES[arch]
    text = str(compiled_largest(f"amd:{arch}", kind, columns).asm["amdgcn"])
    assert text.count("v_max3_f32" if kind == "fp32" else "v_max3_i32") == 15
    assert text.count("v_add3_u32") == (0 if kind == "fp32" else 15)
    dtype = np.float32 if kind == "fp32" else np.int32
    x = np.random.default_rng(columns).integers(-99, 99, (2, columns)).astype(dtype)
    out = np.zeros((2, 2), dtype)
    compiled_largest(f"sim:amd:{arch}", kind, columns)[(2, 1, 1)](out, x)
    np.testing.assert_array_equal(out, np.stack([x.max(1), x.sum(1)], axis=1))
