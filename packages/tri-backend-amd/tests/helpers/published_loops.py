"""Loops of which instructions and measured cycles are published: ROCm/gfx950-gluon-tutorials, f16, one work group on a compute unit.

Orders are the published assembly's (1 to 7: ``kernels/gemm/intra_wave/a16w16/*/ir_dump*``) or trace's (8:
``kernels/gemm/gfx942/intra_wave``): M is an MFMA of 4 passes, R and D a read and a write of LDS of 128 bits, G a load of 128 bits, W a wait
for LDS, V one for loads, with ``:n`` for all but n of them, B a barrier, v VALU, a a copy of accumulators, s scalar, n ``s_nop``; a number after
one, or after brackets, repeats it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tri_backend_amd.cycles import Kind, Step

__all__ = ["COUNTS", "LOOPS", "TILES", "Loop", "steps", "tile"]


@dataclass(frozen=True)
class Loop:
    """``cycles`` of a pass by ``waves`` wavefronts of a SIMD, each ``ahead`` steps of the next; ``ways`` of conflicts; ``is_ordered``: all of the order is published, else that of regions."""

    name: str
    chip: str
    order: str
    cycles: float
    waves: int = 1
    ahead: int = 0
    ways: float = 1.0
    is_ordered: bool = True


#: one of two halves of 64 along k; ``amdgcnas`` moves scalars and waits in between MFMA
_HALF = "W M4 W B (R M)7 R M3 (s n G M4)11 s n G M6 W M20 W B (R M)23 R M3 (s n G M4)3 s n G M6 s6"
_TIGHT = "M3 W M B (R M)7 R M3 (s M G M3)11 s M G M5 (s M)8 M11 W M B (R M)23 R M3 (s M G M3)3 s M G M5"
_FIRST = (
    "W B R4 M R4 M3 W B M R3 M V D V D2 V D G2 M G2 D4 M G4 M23 R M R M46 (R M)2 R W B D4 G3 D4 G5 "
    "M72 R3 M7 R3 M65 R3 M12 R3 M10 R3 M2 R M8"
)
#: four regions of 64 MFMA that read what the next one multiplies, as ``intra_wave/note.md`` has them: 1.3 (clumps of 10, 28, 21 and 27 before reads;
#: what is left of 256 stands at the end), 2.2, and 3.3; waits for LDS and barriers: where 3.1 says that hazards are, of which 1.4 says that one or
#: two MFMA stand beside them; waits for loads: 3.5
_LOADS = "G M2 G M4 G M4 G M5"
_SPACED = "(R M2)7 {} D M2 {} D M2 {} D M2 D M " + _LOADS
_PARKED = "M6 (R M2)7 R {} M23 {} D M {} D M2 {} D M2 D M " + _LOADS
_WAITING = "W:14 M W:12 M W:9 M4 (R M2)7 R M23 D M D M2 D M2 D M " + _LOADS
_NONE = ("", "", "")
_OPT_1 = (
    f"M W B M R M10 {_SPACED.format('W B V:3', 'V:1', 'V')} M28 R M2 {_SPACED.format(*_NONE)} "
    f"M20 W B M R M2 {_SPACED.format(*_NONE)} M27 R M2 {_SPACED.format(*_NONE)} M18"
)
_OPT_2 = (
    f"W B {_PARKED.format('W B', 'V:3', 'V:1', 'V')} {_PARKED.format('', *_NONE)} "
    f"W B {_PARKED.format('', *_NONE)} {_PARKED.format('', *_NONE)}"
)
_OPT_3, _OPT_5 = (
    f"W B {_PARKED.format('', *loads)} {_WAITING} B {_WAITING} {_WAITING}"
    for loads in (("V:3", "V:1", "V"), ("V:15", "V:13", "V:12"))
)
#: eight regions between barriers (``inter_wave/README.md``); 8 wavefronts, of which half are a region ahead
_REGIONS = "G4 R8 W B M32 B G4 R4 W B M32 B R8 V:4 D4 W B M32 B R4 V D4 W B M32 B"
_REGION = 14
_WAYS = 13.33 / 8
#: scalars and copies whose place is not published stand with the others of their kind
LOOPS = (
    Loop("v3_lds", "gfx950", "s27 a14 G16 V B R32 W v8 M4 W n M124", 4916),
    Loop("v4_global_prefetch", "gfx950", "s4 a W B (G s2 a2)16 a v W B R16 v R16 W (M W)7 M57 (W M8)8", 3593),
    Loop("v5_local_prefetch", "gfx950", "s7 (G s2 a)15 W M G W M W M v W M W B M124 R16 a3 v2 R16", 3493),
    Loop(
        "v5, scheduled",
        "gfx950",
        "W M28 V B (G s M4)15 G M6 s14 v2 n4 (R M)32 M2 a16 s7 W a24 (W a4)14",
        2695,
    ),
    Loop("v7_slice, registers", "gfx950", f"{_HALF} {_HALF} s7", 4260),
    Loop("v7_slice, amdgcnas", "gfx950", f"{_TIGHT} {_TIGHT} s", 4180),
    Loop("v8_beyond_hotloop", "gfx950", f"{_TIGHT} {_TIGHT} s", 4137),
    Loop("gfx942 intra, first", "gfx942", _FIRST, 5877, ways=_WAYS),
    Loop("gfx942 intra, 1", "gfx942", _OPT_1, 5343, ways=_WAYS, is_ordered=False),
    Loop("gfx942 intra, 2", "gfx942", _OPT_2, 4874, ways=_WAYS, is_ordered=False),
    Loop("gfx942 intra, 3", "gfx942", _OPT_3, 4601, ways=_WAYS, is_ordered=False),
    Loop("gfx942 intra, 5", "gfx942", _OPT_5, 4587.7, is_ordered=False),
    Loop("gfx942 inter", "gfx942", _REGIONS, 4187.7, waves=2, ahead=_REGION, is_ordered=False),
)
#: MFMA of 16 x 16 x 32, reads and loads of a wavefront, and cycles, of tiles m x n x 64 with two buffers (``docs/tcp_bound_tile_model.md``)
TILES = {
    (256, 256): 2133,
    (256, 128): 1234,
    (128, 256): 1219,
    (128, 128): 742,
    (256, 64): 931,
    (64, 256): 898,
    (128, 64): 545,
    (64, 128): 545,
}
#: MFMA, reads, writes, loads of the loops, as published
COUNTS = {
    "v3_lds": (128, 32, 0, 16),
    "v4_global_prefetch": (128, 32, 0, 16),
    "v5_local_prefetch": (128, 32, 0, 16),
    "v5, scheduled": (128, 32, 0, 16),
    "v7_slice, registers": (256, 64, 0, 32),
    "v7_slice, amdgcnas": (256, 64, 0, 32),
    "v8_beyond_hotloop": (256, 64, 0, 32),
    "gfx942 intra, first": (256, 32, 16, 16),
    "gfx942 intra, 1": (256, 32, 16, 16),
    "gfx942 intra, 2": (256, 32, 16, 16),
    "gfx942 intra, 3": (256, 32, 16, 16),
    "gfx942 intra, 5": (256, 32, 16, 16),
    "gfx942 inter": (128, 24, 8, 8),
}


def tile(m: int, n: int, cycles: float) -> Loop:
    """A pass over an m x n x 64 tile by 2 x 2 wavefronts: loads spread over the first MFMA, reads over the last."""
    count, reads, loads = m * n // 512, (m + n) // 16, (m + n) // 32
    first = count // 2 // loads or 1
    rest = count - first * loads
    order = f"B (G M{first}){loads} (R M){min(reads, rest)} M{max(rest - reads, 0)} R{max(reads - rest, 0)} W"
    return Loop(f"{m}x{n}", "gfx950", re.sub(r" [MR]0\b", "", order), cycles, is_ordered=False)


def steps(loop: Loop) -> Sequence[Step]:
    """The instructions of ``loop``."""
    source = 16 if loop.chip == "gfx950" else 8
    made = {
        "M": Step(Kind.MATRIX, passes=4, source=source),
        "R": Step(Kind.READ, ways=loop.ways),
        "D": Step(Kind.WRITE, ways=loop.ways),
        "G": Step(Kind.LOAD),
        "W": Step(Kind.WAIT, accesses=0),
        "V": Step(Kind.WAIT, loads=0),
        "B": Step(Kind.BARRIER),
        "v": Step(Kind.VECTOR),
        "a": Step(Kind.VECTOR),
        "s": Step(Kind.SCALAR),
        "n": Step(Kind.SCALAR),
    }
    order = re.sub(r"\(([^)]*)\)(\d+)", lambda m: " ".join([m[1]] * int(m[2])), loop.order)
    words = [re.fullmatch(r"([A-Za-z])(?::(\d+))?(\d*)", word) for word in order.split()]
    return [
        _waiting(made[word[1]], int(word[2] or 0)) for word in words if word for _ in range(int(word[3] or 1))
    ]


def _waiting(step: Step, left: int) -> Step:
    """``step``; of a wait, that for all but ``left``."""
    if step.kind is not Kind.WAIT:
        return step
    return replace(step, loads=left) if step.accesses < 0 else replace(step, accesses=left)
