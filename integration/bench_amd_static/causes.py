"""Measured reasons that a kernel falls short of a goal: by a prefix of its name behind the chip, and the
columns on each chip.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["CAUSES"]

_TWICE = "LLVM runs twice, with and without pairs of f32, and the shorter code is kept; once, compiling takes {} ms"
_PER_CHIP = "LLVM runs twice, with and without pairs of f32, and the shorter code is kept; once, compiling takes {} ms on gfx942, {} on gfx950"
#: kernel and label, ``chip: columns; ...``, cause
_SAID = (
    ("mxfp4_weights_matmul 64x64x128", "gfx942: waves", "B goes through LDS as bf16, 16 KiB of a group's 32; through LDS as e2m1, 20 KiB in all, there are 3 waves, but two wavefronts convert each block: 471 instructions a step for 267, 3388 cycles for 2186"),
    ("mxfp4_weights_matmul 64x64x128", "gfx1201: waves", "B goes through LDS as bf16, 16 KiB of a group's 32; through LDS as e2m1, 20 KiB in all, there are 6 waves, but two wavefronts convert each block: 1289 instructions a step for 695"),
    ("split_int8_matmul 16x128x128", "gfx1201: waves", "249 registers, as all of a step's operands are read from LDS before its first WMMA; held to 6 waves it takes 168, and 697 instructions a step for 571"),
    ("convolution 3x3 64x64x32", "gfx1201: total waves", "652 instructions for 520: without the image's mask 613, before the loop 346 for 315, behind it 176 for 88; 117 registers for 91: held to 16 waves, 96 registers, it spills 18 and takes 703 instructions"),
    ("grouped_attention D128", "gfx950: waves", "272 registers: keys and values of the next step wait there, where Triton copies them to LDS; held to 256, 2 waves, a step of a group alone takes 3074 cycles for 2682, one of two groups at a time 4998, 2499 each"),
    ("grouped_attention D128", "gfx1201: waves", "queries wait in LDS, 32 of 48 KiB; in registers there are 4 waves, but 435 registers are spilt for 188, and a step takes 1256 instructions for 1202"),
    ("grouped_attention capped D128", "gfx950: waves", "265 registers: keys and values of the next step wait there, where Triton copies them to LDS; held to 256, 2 waves, it spills 1, and a step of a group alone takes 5262 cycles for 5050, one of two groups at a time 7062, 3531 each"),
    ("grouped_attention capped D128", "gfx1201: waves", "queries wait in LDS, 32 of 48 KiB; in registers there are 4 waves, but scratch is 904 bytes for 740, and a step takes 2719 instructions for 2675"),
    ("chunk_states 64x64x64", "gfx942: cycles", "LLVM copies the next rows of B in front of the dots, 8 moves, and with them stands the wait for their loads: 880 of 2114 cycles are waits; with moves and wait behind the dots 290 of 1548"),
    ("chunk_states 64x64x64", "gfx1201: waves", "199 registers for 171, where 8 waves have 192: held to them it spills 11 and takes 1004 instructions for 969"),
    ("linear_attention D64", "gfx1201: total waves", "sums of q times the state have another layout than those of scores times values, and go through 16 KiB of LDS: 256 reads of 16 bits a step for 128; in one layout it takes 1734 instructions for 2175, 707 a step for 987, and 32 KiB of LDS for 40, 4 waves; 24 KiB would be 5"),
    ("local_sums 128x64", "gfx950: waves", "78 registers for 72: a swap of rows writes both of its operands, so each value has two copies; held to 8 waves it takes 57, but 1820 cycles a wave for 1679 by the estimate"),
    ("softmax", "gfx942: compile", _TWICE.format(82)),
    ("layernorm", "gfx942: compile", _TWICE.format(94)),
    ("vector_add", "gfx942: compile", _TWICE.format(45)),
    ("elementwise 64x64", "gfx942: compile", _TWICE.format(73)),
    ("split_int8_matmul 16x128x128", "gfx942: compile", _TWICE.format(281)),
    ("chunk_states 64x64x64", "gfx942: compile", _TWICE.format(284)),
    ("gate", "gfx942: compile; gfx950: compile", _PER_CHIP.format(71, 79)),
    ("quantize_groups", "gfx950: compile", _TWICE.format(89)),
    ("cross_entropy", "gfx942: compile; gfx950: compile", _PER_CHIP.format(102, 96)),
    ("rms_rope", "gfx942: compile; gfx950: compile", _PER_CHIP.format(93, 96)),
    ("interleaved_rope", "gfx942: compile; gfx950: compile", _PER_CHIP.format(79, 67)),
    ("local_sums 128x64", "gfx942: compile; gfx950: compile", _PER_CHIP.format(157, 164)),
    ("recurrence 64x64", "gfx942: compile; gfx950: compile", "LLVM runs four times: with and without pairs of f32, for the registers that it takes and for more waves; once, compiling takes 209 ms on gfx942, 211 on gfx950"),
)  # fmt: skip


def _causes() -> Iterator[tuple[tuple[str, str], str]]:
    for kernel, places, said in _SAID:
        for place in places.split("; "):
            chip, columns = place.split(": ")
            yield from (((f"{chip} {kernel}", column), said) for column in columns.split())


#: (case, column) -> the cause
CAUSES = dict(_causes())
