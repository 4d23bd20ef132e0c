"""Why a kernel falls short of a goal, as measured: by what its name begins with behind the chip, and the columns on each chip."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["CAUSES"]

_TWICE = "LLVM runs twice, with and without pairs of f32, and the shorter code is kept; once, compiling takes {} ms"
#: kernel and label, ``chip: columns; ...``, cause
_SAID = (
    ("mxfp4_weights_matmul 64x64x128", "gfx942: waves; gfx1201: waves", "B waits in LDS as bf16, 16 KiB of a group's 32, where Triton's waits as e2m1"),
    ("split_int8_matmul 16x128x128", "gfx1201: waves", "249 registers, as all of a step's operands are read from LDS before its first WMMA; held to 6 waves it takes 168, and 697 instructions a step for 571"),
    ("convolution 3x3 64x64x32", "gfx1201: total waves", "652 instructions for 520: without the image's mask 613, before the loop 346 for 315, behind it 176 for 88; 117 registers for 91: held to 16 waves, 96 registers, it spills 18 and takes 703 instructions"),
    ("grouped_attention D128", "gfx950: waves", "272 registers: keys and values of the next step wait there, where Triton copies them to LDS; held to 2 waves a step takes 3074 cycles for 2682"),
    ("grouped_attention D128", "gfx1201: waves", "48 KiB of LDS: queries wait there beside keys and values, where Triton spills 1188 bytes"),
    ("grouped_attention capped D128", "gfx950: waves", "265 registers: keys and values of the next step wait there, where Triton copies them to LDS; held to 2 waves it spills, and a step takes 5262 cycles for 5050"),
    ("grouped_attention capped D128", "gfx1201: waves", "48 KiB of LDS: queries wait there beside keys and values, where Triton spills 1428 bytes"),
    ("chunk_states 64x64x64", "gfx942: cycles; gfx1201: waves", "6 cycles are above the goal on gfx942; 199 registers for 171 on gfx1201, where 8 waves have 192: held to them it spills 11 and takes 1004 instructions for 969"),
    ("linear_attention D64", "gfx1201: total waves", "40 KiB of LDS, and the state's operand goes through it from registers that the accumulator holds"),
    ("local_sums 128x64", "gfx950: waves", "78 registers for 72: a swap of rows writes both of its operands, so each value has two copies; held to 8 waves it takes 57, but 1820 cycles a wave for 1679 by the estimate"),
    ("softmax", "gfx942: compile", _TWICE.format(87)),
    ("layernorm", "gfx942: compile", _TWICE.format(103)),
    ("vector_add", "gfx942: compile", _TWICE.format(51)),
    ("elementwise 64x64", "gfx942: compile", _TWICE.format(81)),
    ("split_int8_matmul 16x128x128", "gfx942: compile", _TWICE.format(305)),
    ("chunk_states 64x64x64", "gfx942: compile", _TWICE.format(297)),
    ("gate", "gfx942: compile; gfx950: compile", _TWICE.format(74)),
    ("quantize_groups", "gfx950: compile", _TWICE.format(88)),
    ("cross_entropy", "gfx942: compile; gfx950: compile", _TWICE.format(100)),
    ("rms_rope", "gfx942: compile; gfx950: compile", _TWICE.format(92)),
    ("interleaved_rope", "gfx942: compile; gfx950: compile", _TWICE.format(71)),
    ("local_sums 128x64", "gfx942: compile; gfx950: compile", _TWICE.format(159)),
    ("recurrence 64x64", "gfx942: compile; gfx950: compile", "LLVM runs four times, 120 ms each: with and without pairs of f32, for the registers that it takes and for more waves"),
)  # fmt: skip


def _causes() -> Iterator[tuple[tuple[str, str], str]]:
    for kernel, places, said in _SAID:
        for place in places.split("; "):
            chip, columns = place.split(": ")
            yield from (((f"{chip} {kernel}", column), said) for column in columns.split())


#: (case, column) -> the cause
CAUSES = dict(_causes())
