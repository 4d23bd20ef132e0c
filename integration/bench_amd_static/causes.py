"""Why a kernel falls short of a goal, as measured: by what its name begins with behind the chip, and the columns on each chip."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["CAUSES"]

#: kernel and label, ``chip: columns; ...``, cause
_SAID = (
    ("mxfp4_weights_matmul 64x64x128", "gfx942: waves; gfx1201: waves", "B waits in LDS as bf16, 16 KiB of a group's 32, where Triton's waits as e2m1"),
    ("split_int8_matmul 16x128x128", "gfx1201: waves", "249 registers: all of a step's operands are read from LDS before its first WMMA"),
    ("convolution 3x3 64x64x32", "gfx1201: total waves", "117 registers, and a select for each element of what masked loads give; Triton's loads have a mask in their offset, too, but in 91"),
    ("grouped_attention D128", "gfx950: waves", "272 registers: keys and values of the next step wait there, where Triton copies them to LDS"),
    ("grouped_attention D128", "gfx1201: waves", "48 KiB of LDS: queries wait there beside keys and values, where Triton spills 1188 bytes"),
    ("grouped_attention capped D128", "gfx950: waves", "265 registers: keys and values of the next step wait there, where Triton copies them to LDS"),
    ("grouped_attention capped D128", "gfx1201: waves", "48 KiB of LDS: queries wait there beside keys and values, where Triton spills 1428 bytes"),
    ("chunk_states 64x64x64", "gfx942: cycles; gfx1201: waves", "6 cycles are above the goal on gfx942; 199 registers for 171 on gfx1201, of which a step has 8 waves where they are 192 at most"),
    ("linear_attention D64", "gfx1201: total waves", "40 KiB of LDS, and the state's operand goes through it from registers that the accumulator holds"),
    ("rms_rope", "gfx950: total", "172 instructions for 149: loads of cosines have their own addresses"),
    ("recurrence 64x64", "gfx942: waves; gfx950: waves", "146 and 124 registers for 92: the next rows are loaded before the scan of these, and pairs of f32 take copies"),
    ("local_sums 128x64", "gfx950: waves", "78 registers for 72: a swap of rows writes both of its operands, so each value has two copies"),
)  # fmt: skip


def _causes() -> Iterator[tuple[tuple[str, str], str]]:
    for kernel, places, said in _SAID:
        for place in places.split("; "):
            chip, columns = place.split(": ")
            yield from (((f"{chip} {kernel}", column), said) for column in columns.split())


#: (case, column) -> the cause
CAUSES = dict(_causes())
