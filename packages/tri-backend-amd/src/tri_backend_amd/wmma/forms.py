"""The WMMA instructions of every processor as data.

Sources: AMD's instruction set guides of RDNA3 (section 7.9) and RDNA4 (section 7.12), LLVM's definitions of the intrinsics (their names
and operand types).  Nothing here needs MLIR: the target's list of matrix instructions is made from these rows as well.
"""

from __future__ import annotations

from functools import cache

from tri_core.lazy_dataclasses import dataclass

__all__ = ["LANES", "SIDE", "VERSIONS", "Form", "forms"]

#: work items of a wavefront, and m, n and k of every instruction
LANES, SIDE = 32, 16
#: processor -> version of ``#ttg.amd_wmma``: 1 is RDNA3, 2 is RDNA4
VERSIONS = {"gfx1100": 1, "gfx1200": 2, "gfx1201": 2}

_F8 = {"f8E4M3FN": "fp8", "f8E5M2": "bf8"}


@dataclass(frozen=True)
class Form:
    """One instruction: 16 x 16 by 16 x 16.

    ``a``, ``b``, ``total``: MLIR's element types of the operands and of the result; ``intrinsic``: what follows
    ``llvm.amdgcn.wmma.``; ``per_lane``: elements of an operand that a lane holds, neighbours along k; ``word``: LLVM's type of
    these, as MLIR spells it.
    """

    a: str
    b: str
    total: str
    version: int
    intrinsic: str
    per_lane: int
    word: str

    @property
    def is_integer(self) -> bool:
        """Whether operands say whether they are signed, and the result whether it is clamped."""
        return self.total == "i32"


def _f16(version: int, kind: str) -> Form:
    """bf16 came to LLVM late: these instructions take its bits."""
    count, element = _per_lane(version), {"f16": "f16", "bf16": "i16"}[kind]
    name = f"f32.16x16x16.{kind}.v8f32.v{count}{element}"
    return Form(kind, kind, "f32", version, name, count, f"vector<{count}x{element}>")


def _i8(version: int) -> Form:
    count = _per_lane(version)
    words = count // 4
    return Form(
        "i8", "i8", "i32", version, f"i32.16x16x16.iu8.v8i32.v{words}i32", count, f"vector<{words}xi32>"
    )


def _f8(version: int, a: str, b: str) -> Form:
    count = _per_lane(version)
    name = f"f32.16x16x16.{_F8[a]}.{_F8[b]}.v8f32.v{count // 4}i32"
    return Form(a, b, "f32", version, name, count, f"vector<{count // 4}xi32>")


def _per_lane(version: int) -> int:
    """RDNA3's two halves of a wavefront hold the same; RDNA4's share k."""
    return SIDE if version == 1 else SIDE // 2


@cache
def forms(processor: str) -> tuple[Form, ...]:
    """The instructions of ``processor``; empty where there are none."""
    version = VERSIONS.get(processor, 0)
    if not version:
        return ()
    found = [_f16(version, "f16"), _f16(version, "bf16"), _i8(version)]
    if version == 2:
        found += [_f8(version, a, b) for a in _F8 for b in _F8]
    return tuple(found)
