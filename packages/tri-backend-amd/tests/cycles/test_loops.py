"""Loops of a kernel's assembly, and what core is told of them."""

from __future__ import annotations

import pytest

from mfma_kernels import compiled_matmul
from tri_backend_amd.cycles import innermost, loop_estimates
from tri_core.api import KernelMetadata, KernelSignature, LoopEstimates, TargetKey
from tri_core.target_selection import resolve

NESTED = """
kernel:
\ts_mov_b32 s0, 0
.LBB0_1:                                ; outer
\ts_add_i32 s1, s0, 1
.LBB0_2:
\tv_add_u32 v0, v0, v1 ; a comment: s_branch .LBB0_1
\tv_exp_f32 v0, v0
\ts_cbranch_scc1 .LBB0_2
; %bb.3:
\ts_cbranch_vccnz .LBB0_1
\ts_endpgm
.LBB0_4:
\tv_mfma_f32_32x32x8_f16 v[0:15], v[0:1], v[4:5], v[0:15]
\ts_branch .LBB0_4
"""


def estimates(assembly: str | bytes, arch: str = "gfx942", num_warps: int = 4) -> LoopEstimates:
    key = TargetKey("amd", arch)
    metadata = KernelMetadata(
        name="k",
        target=key,
        signature=KernelSignature(name="k", parameters=()),
        options={},
        num_warps=num_warps,
    )
    return loop_estimates(resolve(key), metadata, {"amdgcn": assembly})


def test_loops_that_contain_no_other() -> None:
    lines = ["a:", "s_nop 0", "b:", "s_nop 0", "s_cbranch_scc1 b", "s_cbranch_scc0 a", "c:", "s_branch c"]
    assert list(innermost(lines)) == [(2, 4), (6, 7)]
    assert not innermost(["s_branch ahead", "ahead:", "s_endpgm"])


def test_estimates_of_innermost_loops() -> None:
    first, second = estimates(NESTED).loops
    assert (first.name, first.line, first.instructions, first.busy) == (".LBB0_2", 6, 3, {})
    assert first.cycles == 4 + 8 + 4
    assert first.spent == {
        "vector instructions": 4, "transcendental instructions": 8, "scalar instructions": 4
    }  # fmt: skip
    assert (second.name, second.line, second.busy) == (".LBB0_4", 13, {"matrix unit": 1.0})


def test_work_groups_of_more_than_four_wavefronts_share_simds() -> None:
    (_, one), (_, two) = (estimates(NESTED, num_warps=n).loops for n in (4, 8))
    assert two.cycles == 2 * one.cycles


def test_what_has_no_rates_has_no_estimate() -> None:
    assert estimates(NESTED, "gfx1100") == LoopEstimates()
    assert estimates(b"an image") == LoopEstimates()


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_a_compiled_matmul_tells_the_cycles_of_its_loop(arch: str) -> None:
    kernel = compiled_matmul(arch, "f16", (64, 64, 32))
    lines = str(kernel.asm["amdgcn"]).splitlines()
    found = kernel.loop_estimates
    loop = max(found.loops, key=lambda loop: loop.busy.get("matrix unit", 0.0))
    assert lines[loop.line - 1].startswith(f"{loop.name}:")
    assert 0 < loop.busy["matrix unit"] <= 1
    assert sum(loop.spent.values()) <= loop.cycles
    assert any("bank conflicts" in text for text in found.assumptions)
