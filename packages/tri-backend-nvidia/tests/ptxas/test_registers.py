"""Registers for which one CTA more is resident: when a kernel is assembled again, and that it is."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from integration.kernels.layernorm import layernorm

import tri
import tri.language as tl
from tri_backend_nvidia.architectures import target
from tri_backend_nvidia.ptxas import (
    Usage,
    all_under_way,
    given_up,
    issues_more,
    limited,
    pays,
    spills_less,
)
from tri_backend_nvidia.ptxas.registers import fewer_registers, together
from tri_core.api import TargetKey
from tri_core.occupancy import occupancy
from tri_core.resources import resources

UNIT = target(TargetKey("nvidia", "sm_90a"), None).spec.unit
PTX = ".visible .entry k()\n.reqntid 1024\n{\n\tret;\n}\n"


@pytest.mark.parametrize(
    ("warps", "registers", "shared", "most"),
    [
        (32, 34, 0, 32),  # 1 CTA, then 2
        (16, 44, 0, 40),  # 2 CTAs, then 3
        (32, 32, 0, None),  # 2 CTAs already
        (32, 48, 0, None),  # far from a step
        (8, 36, 0, None),  # 6 CTAs: one more is little
        (32, 34, 120 << 10, None),  # shared memory holds one CTA
        (16, 44, 100 << 10, None),  # two
    ],
)
def test_the_steps_of_hopper(warps, registers, shared, most):
    assert fewer_registers(UNIT, warps=warps, registers=registers, shared=shared) == most


@example(warps=3, registers=169, shared=0)
@given(warps=st.integers(1, 32), registers=st.integers(16, 255), shared=st.integers(0, 227 << 10))
def test_with_fewer_registers_more_ctas_are_resident(warps, registers, shared):
    most = fewer_registers(UNIT, warps=warps, registers=registers, shared=shared)
    if most is None:
        return
    blocks = [
        occupancy(UNIT, warps=warps, registers=r, shared=shared).blocks for r in (registers, most, most + 1)
    ]
    assert 0.9 * registers <= most < registers
    # of four partitions each holds two warps, then three: 8 are two CTAs of three warps, 12 are four
    more = 2 if (warps, blocks[0]) == (3, 2) else 1
    assert blocks[1] == blocks[0] + more >= 4 / 3 * blocks[0]
    assert blocks[2] == blocks[0]  # as many registers as may be


def test_what_is_decided_elsewhere_stays():
    usage = Usage(registers=34)
    assert ".reqntid 1024\n.maxnreg 32\n{" in limited(PTX, usage, UNIT, 0)
    assert limited(PTX.replace("{", ".maxnreg 40\n{", 1), usage, UNIT, 0) is None
    assert limited(PTX.replace("{", ".minnctapersm 1\n{", 1), usage, UNIT, 0) is None
    assert limited(PTX.replace("ret", "setmaxnreg.inc.sync.aligned.u32 40;\n\tret"), usage, UNIT, 0) is None
    assert limited(PTX, dataclasses.replace(usage, spill_stores=4, spill_loads=4), UNIT, 0) is None
    assert limited(PTX + PTX, usage, UNIT, 0) is None


def test_two_values_may_be_spilled_for_it():
    assert pays(Usage(registers=40, spill_stores=8, spill_loads=12))
    assert not pays(Usage(registers=32, spill_stores=100, spill_loads=104))


def compiled(**options):
    types = dict.fromkeys(layernorm.arg_names[:4], "*fp32") | {
        "stride": "i32",
        "n_cols": "i32",
        "eps": "fp32",
    }
    attrs = {(i,): [["tt.divisibility", 16]] for i in range(6)}
    source = tri.ASTSource(layernorm, types, {"BLOCK": 8192}, attrs)
    return tri.compile(source, target="nvidia:sm_90a", options={"num_warps": 32, **options})


def test_a_kernel_of_1024_threads_runs_twice_at_once():
    made = compiled()
    assert made.n_regs == 32
    assert resources(made.metadata, target(TargetKey("nvidia", "sm_90a"), None).spec).occupancy.blocks == 2
    assert "maxnreg" not in made.asm["ptx"]


@tri.jit
def product(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + m[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(left, right))


@pytest.mark.parametrize("warps", [4, 8, 16])
@pytest.mark.parametrize("n", [16, 32, 64, 128, 256])
@pytest.mark.parametrize("m", [64, 128])
def test_instructions_of_warp_groups_have_what_they_need(m, n, warps):
    """ptxas refuses a limit below what one of them takes at once."""
    types = {"a": "*bf16", "b": "*bf16", "c": "*fp32"}
    attrs = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    source = tri.ASTSource(product, types, {"M": m, "N": n, "K": 32}, attrs)
    made = tri.compile(source, target="nvidia:sm_90a", options={"num_warps": warps})
    assert "wgmma" in made.asm["ptx"]
    assert made.n_spills == 0


def test_who_says_how_many_registers_there_are_gets_them():
    assert compiled(maxnreg=40).n_regs > 32
    assert compiled(ptx_options="--warn-on-spills").n_regs > 32


@tri.jit
def merged(mean_a, count_a, mean_b, count_b):
    count = count_a + count_b
    return (mean_a * count_a + mean_b * count_b) / tl.maximum(count, 1.0), count


@tri.jit
def mean_of_means(means, counts, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mean, count = tl.reduce((tl.load(means + offsets), tl.load(counts + offsets)), 0, merged)
    tl.store(out, mean / count)


def test_a_tree_in_a_thread_holds_few_values():
    """Of its 256 pairs of values few wait for a neighbour at once: ptxas loads the others later."""
    types = {"means": "*fp32", "counts": "*fp32", "out": "*fp32"}
    attrs = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    source = tri.ASTSource(mean_of_means, types, {"BLOCK": 32768}, attrs)
    made = tri.compile(source, target="nvidia:sm_90a", options={"num_warps": 4})
    assert made.n_spills == 0, (made.n_regs, made.n_spills)


def test_who_spills_with_few_registers_gets_all():
    spilling = Usage(registers=32, spill_stores=4000, spill_loads=4400, stack=2100)
    ptx = PTX.replace("1024", "64")
    assert ".reqntid 64\n.maxnreg 255\n{" in given_up(ptx, spilling, UNIT)
    assert ".maxnreg 128\n" in given_up(PTX.replace("1024", "512"), spilling, UNIT)
    assert given_up(PTX, spilling, UNIT) is None  # 1024 threads have no more than 64
    assert given_up(ptx, dataclasses.replace(spilling, registers=255), UNIT) is None
    assert given_up(ptx, Usage(registers=32), UNIT) is None
    assert given_up(ptx.replace("{", ".maxnreg 32\n{", 1), spilling, UNIT) is None
    assert spills_less(dataclasses.replace(spilling, spill_stores=900), spilling)
    assert not spills_less(spilling, spilling)


@tri.jit
def scaled_by_their_sum(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets, volatile=True)
    tl.store(out + offsets, values / tl.sum(values))


def test_a_thread_of_512_values_gets_all_registers():
    """As long as no limit is said, ptxas keeps them on the stack, with 64 registers."""
    attrs = {(i,): [["tt.divisibility", 16]] for i in range(2)}
    source = tri.ASTSource(scaled_by_their_sum, {"x": "*fp32", "out": "*fp32"}, {"BLOCK": 16384}, attrs)
    made = tri.compile(source, target="nvidia:sm_90a", options={"num_warps": 1})
    assert made.n_regs > 200


LOADS = "".join(
    f"\t@%p1 ld.global.v4.b32 {{%r{i}, %r{i + 1}, %r{i + 2}, %r{i + 3}}}, [%rd1];\n" for i in range(0, 64, 4)
)
SUM = "".join(f"\tadd.f32 %r{100 + i}, %r{100 + i}, %r{i};\n" for i in range(64))


def test_loads_stand_together_until_one_of_them_is_read():
    assert together(LOADS + SUM) == 64
    assert together(LOADS + "\tadd.s64 %rd2, %rd1, 8;\n" + LOADS.replace("%r", "%f") + SUM) == 128
    assert (
        together(LOADS[: len(LOADS) // 2] + "\tadd.f32 %r100, %r100, %r0;\n" + LOADS[len(LOADS) // 2 :]) <= 36
    )
    assert together("\tld.global.b32 %r1, [%rd1];\n$L__BB0_1:\n\tld.global.b32 %r2, [%rd1];\n") == 1
    assert together("\tld.shared.b32 %r1, [%rd1];\n") == 0


def test_who_waits_for_each_of_many_loads_gets_registers_for_them():
    ptx, few = PTX.replace("1024", "128").replace("\tret", LOADS + SUM + "\tret"), Usage(registers=80)
    assert ".maxnreg 168\n" in issues_more(ptx, few, UNIT)
    assert issues_more(PTX.replace("1024", "128"), few, UNIT) is None
    assert issues_more(ptx, Usage(registers=200), UNIT) is None
    assert issues_more(ptx, dataclasses.replace(few, spill_stores=8), UNIT) is None
    assert issues_more(ptx.replace("{", ".maxnreg 80\n{", 1), few, UNIT) is None
    assert all_under_way(ptx, Usage(registers=138), few)
    assert not all_under_way(ptx, Usage(registers=120), few)  # more than a quarter was under way before
    assert not all_under_way(ptx, Usage(registers=168, spill_stores=4), few)


@tri.jit
def sums_of_rows(x, out, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, N, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)[None, :]
        total += tl.load(x + rows * N + columns, (rows < M) & (columns < N), other=0.0)
    tl.store(out + rows, tl.sum(total, 1)[:, None], rows < M)


def test_all_loads_of_an_iteration_are_under_way():
    """64 sums and 64 loaded numbers: with 80 registers ptxas waits for each two of sixteen loads."""
    types = {"x": "*fp32", "out": "*fp32", "M": "i32", "N": "i32"}
    attrs = {(i,): [["tt.divisibility", 16]] for i in range(4)}
    source = tri.ASTSource(sums_of_rows, types, {"BLOCK_M": 8, "BLOCK_N": 1024}, attrs)
    made = tri.compile(source, target="nvidia:sm_90a", options={"num_warps": 4})
    assert made.n_regs >= 128
    assert made.n_spills == 0
