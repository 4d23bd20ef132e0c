"""Why a kernel falls short of a goal, as measured: by what its name begins with behind the chip, and the columns on each chip."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["CAUSES"]

#: kernel and label, ``chip: columns; ...``, cause
_SAID = (
    ("mxfp4_weights_matmul 64x64x128", "gfx942: waves; gfx1201: waves", "B waits in LDS as bf16, 16 KiB of a group's 32, where Triton's waits as e2m1"),
    ("split_int8_matmul 16x128x128", "gfx1201: waves", "249 registers: all of a step's operands are read from LDS before its first WMMA"),
    ("convolution 3x3 64x64x32", "gfx1201: total waves", "117 registers, and a select for each element of what masked loads give; Triton's loads have a mask in their offset, too, but in 91"),
    ("grouped_attention D64", "gfx942: total; gfx950: total waves; gfx1201: total", "the loop is there twice, with the masks and without them, each with a last iteration: 128 MFMA for 64 on gfx942"),
    ("grouped_attention D128", "gfx942: total; gfx950: total waves", "the loop is there twice, each with a last iteration: 256 MFMA for 128 on gfx942; with 22 scalar registers spilt on gfx950"),
    ("grouped_attention D128", "gfx950: cycles", "324 of the cycles are the issue of eight loads of keys and 404 their waits; Triton copies to LDS two steps ahead"),
    ("grouped_attention D128", "gfx1201: waves", "48 KiB of LDS: queries wait there beside keys and values, where Triton spills 1188 bytes"),
    ("grouped_attention capped D128", "gfx942: total; gfx950: total waves", "the loop is there twice, each with a last iteration: 256 MFMA for 128 on gfx942, with the cap's 450 vector instructions in each"),
    ("grouped_attention capped D128", "gfx950: cycles", "2804 cycles are vector instructions for 2120: the cap's division takes its scaling and its correction, and 596 cycles are pairs for 192"),
    ("grouped_attention capped D128", "gfx1201: waves", "48 KiB of LDS: queries wait there beside keys and values, where Triton spills 1428 bytes"),
    ("causal_gradients D64", "gfx1201: total scratch", "the loop is there twice, with the mask and without it, each with 256 registers in use"),
    ("chunk_states 64x64x64", "gfx942: cycles total; gfx950: total; gfx1201: total waves", "masked rows of k make the loop two, one of them with an iteration behind it: 24 MFMA for 16; 6 cycles are above the goal on gfx942"),
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
