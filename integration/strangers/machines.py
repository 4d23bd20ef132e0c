"""Figures of machine code for each target."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

from integration.bench_amd_static.machine import instructions
from integration.strangers.figures import Code, Patterns, figures_of
from tri_backend_amd.cycles import innermost
from tri_backend_nvidia.disassembly import loops, sass
from tri_core.occupancy import occupancy
from tri_core.target_selection import resolve

__all__ = ["figures"]

_WORD = 4
_PREDICATE = r"(?:@!?U?P\w+ )?"
_SASS = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;")
#: the registers of a function in a section `.nv.info`: format, attribute and size, then symbol and number
_REGISTERS = re.compile(rb"\x04\x2f\x08\x00....(..)\x00\x00", re.DOTALL)
_BITS = re.compile(r"\.(?:U|S)?(8|16|64|128)\b")
_MATRIX = re.compile(r"(?:HMMA|IMMA|QMMA|BMMA|DMMA)\.(?:SP\.)?(\d+)")
_GROUP = re.compile(r"[HIQ]GMMA\.(\d+)x(\d+)x(\d+)")
#: products of a warp by the digits of an instruction
_SHAPES = {"16816": 2048, "1688": 1024, "16832": 4096, "16864": 8192, "884": 256, "8816": 1024, "1684": 512}
_AHEAD = re.compile(_PREDICATE + r"DEPBAR\.LE SB0, 0x([0-9a-f]+)")


def _sass_width(instruction: str) -> int:
    if "UTMA" in instruction:
        return 16
    found = _BITS.search(instruction.partition(" [")[0].partition(",")[0])
    packed = {"F16x8": 16, "BF16x8": 16, "F16x4": 8, "BF16x4": 8, "F32x4": 16, "F32x2": 8}
    return next((n for t, n in packed.items() if t in instruction), int(found[1]) // 8 if found else _WORD)


def _sass_dot(instruction: str) -> float:
    group = _GROUP.search(instruction)
    if group:
        return float(group[1]) * float(group[2]) * float(group[3]) / 4  # of the four warps of a group
    found = _MATRIX.search(instruction)
    return float(_SHAPES.get(found[1], 2048)) if found else 0.0


def _p(text: str) -> re.Pattern[str]:
    return re.compile(_PREDICATE + f"(?:{text})")


_NVIDIA = Patterns(
    load=_p(r"LDG?\.(?!L)E?|LDG\b"),
    store=_p(r"STG|ST\.E"),
    shared=_p(r"LDS\b|LDSM|STS\b|STSM"),
    asynchronous=_p(r"LDGSTS|UTMALDG|UBLKCP"),
    atomic=_p(r"ATOMG?\b|RED[G]?\b"),
    cas=_p(r"ATOMG?\S*\.CAS"),
    fence=_p(r"MEMBAR(?!\.\w+\.CTA)|CCTL\.IVALL|ERRBAR"),
    proxy=_p(r"FENCE\.VIEW|MEMBAR\.\w+\.CTA"),
    barrier=_p(r"BAR\.|WARPSYNC\.ALL"),
    local=_p(r"LDL|STL"),
    wait=re.compile(r"(?!)"),
    width=_sass_width,
    dot=_sass_dot,
    rank=lambda i: 2 if "GMMA" in i else 1,
    quarter=8,
)
_MFMA = re.compile(r"v_(?:mfma|wmma|smfmac)_\w*?(\d+)x(\d+)x(\d+)")
_SIZES = {"ubyte": 1, "sbyte": 1, "byte": 1, "ushort": 2, "sshort": 2, "short": 2, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16, "dword": 4, "b128": 16, "b96": 12, "b64": 8, "b32": 4, "b16": 2, "u16": 2, "u8": 1, "x2": 8}  # fmt: skip


def _gcn_width(instruction: str) -> int:
    name = instruction.partition(" ")[0]
    twice = 2 if re.match(r"ds_(read|write|load|store)2", name) else 1
    return twice * next((n for t, n in _SIZES.items() if t in name), _WORD)


def _gcn_dot(instruction: str) -> float:
    found = _MFMA.match(instruction)
    return float(found[1]) * float(found[2]) * float(found[3]) if found else 0.0


_AMD = Patterns(
    load=re.compile(r"(?:global|buffer|flat)_load_(?!lds)(?!.*\blds$)"),
    store=re.compile(r"(?:global|buffer|flat)_store"),
    shared=re.compile(r"ds_(?:read|write|load|store)"),
    asynchronous=re.compile(r"global_load_lds|buffer_load\w* .*\blds$"),
    atomic=re.compile(r"(?:global|buffer|flat)_atomic"),
    cas=re.compile(r"(?:global|buffer|flat)_atomic_cmpswap"),
    fence=re.compile(r"buffer_(?:wbl2|inv|gl|wbinv)"),
    barrier=re.compile(r"s_barrier"),
    local=re.compile(r"scratch_|buffer_(?:load|store)\w* .*\boff, s\[\d+:\d+\], 0 offset.*; .*Spill"),
    wait=re.compile(r"s_waitcnt .*vmcnt\(0\)"),
    width=_gcn_width,
    dot=_gcn_dot,
    rank=lambda i: 1,
)


def figures(result: Mapping[str, Any], target: str) -> dict[str, float]:
    """The figures of a compile's result for ``target``."""
    return (_of_sass if target.startswith("nvidia") else _of_assembly)(result, target)


def _of_sass(result: Mapping[str, Any], target: str) -> dict[str, float]:
    unit = resolve(target).spec.unit
    cubin = base64.b64decode(result["code"])
    text = sass(cubin)
    body = [i for i in _SASS.findall(text) if not re.match(_PREDICATE + r"(NOP|BRA 0x|EXIT$)", i)]
    registers = max((int.from_bytes(n, "little") for n in _REGISTERS.findall(cubin)), default=0)
    spilled = sum(_sass_width(i) for i in body if re.match(_PREDICATE + "STL", i))
    return _reported(result, unit, body, _innermost(loops(text)), registers, spilled, _NVIDIA)


def _innermost(found: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Those that hold no other."""
    kept: list[Sequence[str]] = []
    for body in sorted(found, key=len):
        if not any(_holds(body, other) for other in kept if len(other) > _WORD):
            kept.append(body)
    return kept


def _holds(body: Sequence[str], other: Sequence[str]) -> bool:
    size = len(other)
    return any(
        body[i] == other[0] and list(body[i : i + size]) == list(other) for i in range(len(body) - size + 1)
    )


def _of_assembly(result: Mapping[str, Any], target: str) -> dict[str, float]:
    unit = resolve(target).spec.unit
    text = result["code"]
    lines = instructions(text)
    inner = [[i for i in lines[a : b + 1] if not i.endswith(":")] for a, b in innermost(lines)]
    registers, spilled = (
        max(map(int, re.findall(rf"\.{n}:\s*(\d+)", text)), default=0)
        for n in ("vgpr_count", "vgpr_spill_count")
    )
    body = [i for i in lines if not i.endswith(":")]
    return _reported(result, unit, body, inner, registers, _WORD * spilled, _AMD)


def _reported(
    result: Mapping[str, Any], unit: Any, body: Sequence[str], inner: Sequence[Sequence[str]],
    registers: int, spilled: int, patterns: Patterns,
) -> dict[str, float]:  # fmt: skip
    room = occupancy(unit, warps=result["warps"], registers=registers, shared=result["shared"]).blocks
    code = Code(body, inner, registers, spilled, result["shared"], room, _ahead)
    return figures_of(code, patterns, result["ms"])


def _ahead(loop: Sequence[str]) -> int:
    """Groups of asynchronous copies that a wait of the loop leaves under way."""
    return max((int(found[1], 16) for i in loop if (found := _AHEAD.match(i))), default=0)
