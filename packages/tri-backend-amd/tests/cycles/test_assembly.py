"""What assembly is read as."""

from __future__ import annotations

import pytest

from mfma_kernels import machine_code
from tri_backend_amd.cycles import CHIPS, Kind, Step, estimate, steps_of


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("v_mfma_f32_32x32x16_f16 a[0:15], v[0:3], v[4:7], a[0:15]", Step(Kind.MATRIX, passes=8, source=16)),
        ("v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], 0", Step(Kind.MATRIX, passes=4, source=16)),
        ("v_mfma_f32_32x32x8_f16 v[0:15], v[0:1], v[4:5], v[0:15]", Step(Kind.MATRIX, passes=8, source=8)),
        ("v_mfma_i32_32x32x32_i8 v[0:15], v[0:3], v[4:7], v[0:15]", Step(Kind.MATRIX, passes=8, source=16)),
        (
            "v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[0:7], v[8:15], v[0:15]",
            Step(Kind.MATRIX, passes=16, source=32),
        ),
        (
            "v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[0:7], v[8:11], v[0:15], v20, v21 op_sel_hi:[0,0,0] blgp:4",
            Step(Kind.MATRIX, passes=16, source=32),
        ),
        (
            "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[8:11], v[0:3], v20, v21 op_sel_hi:[0,0,0] cbsz:4 blgp:4",
            Step(Kind.MATRIX, passes=4, source=16),
        ),
        ("ds_read_b128 v[0:3], v4 offset:16", Step(Kind.READ, bits=128)),
        ("ds_read_b64_tr_b16 v[0:1], v4", Step(Kind.READ, bits=64)),
        ("ds_read2_b64 v[0:3], v4 offset1:8", Step(Kind.READ, bits=128)),
        ("ds_read2st64_b32 v[0:1], v4 offset1:8", Step(Kind.READ, bits=64)),
        ("ds_read_u16 v0, v4", Step(Kind.READ, bits=16)),
        ("ds_write_b64 v4, v[0:1]", Step(Kind.WRITE, bits=64)),
        ("ds_bpermute_b32 v0, v1, v2", Step(Kind.READ, bits=32)),
        ("buffer_load_dwordx4 v[0:3], v4, s[0:3], s4 offen", Step(Kind.LOAD, bits=128)),
        ("global_load_dword v0, v1, s[0:1]", Step(Kind.LOAD, bits=32)),
        ("buffer_load_dwordx4 v1, s[4:7], 0 offen lds", Step(Kind.LOAD, bits=128)),
        ("s_waitcnt vmcnt(3) lgkmcnt(0)", Step(Kind.WAIT, loads=3, accesses=0)),
        ("s_waitcnt lgkmcnt(12)", Step(Kind.WAIT, accesses=12)),
        ("s_nop 7", Step(Kind.SCALAR, times=8)),
        ("s_barrier", Step(Kind.BARRIER)),
        ("v_exp_f32_e32 v0, v1", Step(Kind.TRANSCENDENTAL)),
        ("v_pk_mul_f32 v[0:1], v[2:3], v[4:5]", Step(Kind.PACKED)),
        ("v_pk_mul_f16 v0, v2, v4", Step(Kind.VECTOR)),
        ("s_add_i32 s0, s0, 64", Step(Kind.SCALAR)),
    ],
)
def test_an_instruction(line: str, step: Step) -> None:
    assert steps_of([line], "gfx950") == [step]


def test_conflicts_are_those_of_accesses_of_lds() -> None:
    read, load = steps_of(
        ["ds_read_b128 v[0:3], v4", "buffer_load_dword v0, v1, s[0:3], 0 offen"], "gfx942", 2.0
    )
    assert (read.ways, load.ways) == (2.0, 1.0)


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("kind", ["f16", "i8"])
def test_a_loop_of_ours(chip: str, kind: str) -> None:
    """The matrix unit works as long as a dot of 128 x 128 x 64 by four wavefronts takes; the loop takes no less."""
    lines = machine_code(chip, kind, (128, 128, 64)).splitlines()
    labels = {line.split(":")[0]: i for i, line in enumerate(lines) if line.startswith(".LBB")}
    ends = [
        (i, labels[line.split()[-1]])
        for i, line in enumerate(lines)
        if "s_cbranch_scc" in line and line.split()[-1] in labels
    ]
    first, last = max(
        ((to, i) for i, to in ends if to < i),
        key=lambda span: sum("v_mfma" in line for line in lines[span[0] : span[1]]),
    )
    loop = [
        line.split(";")[0]
        for line in lines[first + 1 : last + 1]
        if line.startswith("\t") and line.split(";")[0].strip()
    ]
    rate = {
        "f16": {"gfx90a": 256, "gfx942": 512, "gfx950": 1024},
        "i8": {"gfx90a": 256, "gfx942": 1024, "gfx950": 2048},
    }[kind][chip]
    found = estimate(steps_of(loop, chip), CHIPS[chip])
    # multiplications and additions of a SIMD in a cycle
    assert found.matrix == 128 * 128 * 64 * 2 // 4 // rate
    assert found.matrix <= found.cycles <= 5 * found.matrix + 2500
