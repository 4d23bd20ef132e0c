"""The MFMA instructions of every processor as data.

Sources: AMD's instruction set guides of CDNA1 to CDNA4 (chapter "Matrix Arithmetic Instructions": forms and passes), LLVM's "User Guide
for AMDGPU Backend" and its definitions of the intrinsics (their names and operand types).  Nothing here needs MLIR: the target's
list of matrix instructions is made from these rows as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from tri_backend_amd.processors import versions
from tri_core.lazy_dataclasses import dataclass

__all__ = ["LANES", "VERSIONS", "Form", "forms"]

#: work items of a wavefront on CDNA
LANES = 64
#: processor -> version of ``#ttg.amd_mfma``: the generation of CDNA
VERSIONS = versions("mfma")

#: blocks of a 4 x 4 instruction: it multiplies as many pairs of matrices
_SMALL_BLOCKS = 16

_BITS = {"f16": 16, "bf16": 16, "i8": 8, "f32": 32, "f64": 64}
_F8 = {"f8E4M3FNUZ": "fp8", "f8E5M2FNUZ": "bf8", "f8E4M3FN": "fp8", "f8E5M2": "bf8"}
#: how ``f8f6f4`` numbers the formats of its operands
_FORMATS = {"f8E4M3FN": 0, "f8E5M2": 1}


@dataclass(frozen=True)
class Form:
    """One instruction, or (``m`` or ``n`` of 4) the 16 of one kind that together multiply 64 x k by k x 4 or 4 x k by k x 64.

    ``a``, ``b``, ``total``: MLIR's element types of the operands and of the result; ``xf32`` reads f32 with 10 bits of mantissa.
    ``intrinsic``: what follows ``llvm.amdgcn.mfma.``; ``passes``: of four cycles each, for all of it; ``formats``: of the
    operands of ``f8f6f4``.
    """

    a: str
    b: str
    total: str
    m: int
    n: int
    k: int
    intrinsic: str
    passes: int
    xf32: bool = False
    formats: tuple[int, int] | None = None

    @property
    def is_small(self) -> bool:
        """True if it is made of instructions of 4 x 4."""
        return min(self.m, self.n) < 16

    @property
    def bits(self) -> int:
        """Bits of an operand's element."""
        return 8 if self.a in _F8 else _BITS[self.a]

    @property
    def per_lane(self) -> int:
        """Number of elements of an operand per lane and instruction."""
        return self.k // _SMALL_BLOCKS if self.is_small else self.k * self.m // LANES

    @property
    def k_width(self) -> int:
        """Number of them that are contiguous along k: ``f8f6f4`` takes two runs of 16 bytes."""
        return min(self.per_lane, 128 // self.bits)

    @property
    def word(self) -> str:
        """LLVM's type of those elements, as MLIR spells it."""
        if self.formats is not None:
            return "vector<8xi32>"
        if self.a in ("f32", "f64"):
            return f"vector<{self.per_lane}x{self.a}>" if self.per_lane > 1 else self.a
        if self.bits == 8:
            return {4: "i32", 8: "i64", 16: "vector<4xi32>"}[self.per_lane]
        # bf16 came to LLVM late: the instructions before gfx950 take its bits
        element = "i16" if self.a == "bf16" and self.per_lane < 8 else self.a
        return f"vector<{self.per_lane}x{element}>"


def _square(kind: str, total: str, wide: tuple[int, int, int, str], *, xf32: bool = False) -> Iterator[Form]:
    """32 x 32 x k and 16 x 16 x 2k: k, the passes of both, and the name with ``{}`` for the shape."""
    k, passes, fewer, name = wide
    for m, deep, each in ((32, k, passes), (16, 2 * k, fewer)):
        yield Form(kind, kind, total, m, m, deep, f"{total}.{name.format(f'{m}x{m}x{deep}')}", each, xf32)


def _small(kind: str, total: str, k: int, name: str) -> Iterator[Form]:
    """4 x 64 and 64 x 4, from instructions of 4 x 4 x k."""
    spelling = f"{total}.{name.format(f'4x4x{k}')}"
    for m, n in ((4, 64), (64, 4)):
        yield Form(kind, kind, total, m, n, k * _SMALL_BLOCKS, spelling, 2 * _SMALL_BLOCKS)


def _f64(passes: int) -> Iterator[Form]:
    yield Form("f64", "f64", "f64", 16, 16, 4, "f64.16x16x4f64", passes)


def _f8(kinds: tuple[str, str]) -> Iterator[Form]:
    """8-bit floats, in all four pairs."""
    for a in kinds:
        for b in kinds:
            for m, k, passes in ((32, 16, 8), (16, 32, 4)):
                yield Form(a, b, "f32", m, m, k, f"f32.{m}x{m}x{k}.{_F8[a]}.{_F8[b]}", passes)


def _f8f6f4() -> Iterator[Form]:
    """8-bit floats by the instructions of gfx950 for all narrow floats, which take scales as well."""
    for a, first in _FORMATS.items():
        for b, second in _FORMATS.items():
            for m, k, passes in ((32, 64, 16), (16, 128, 8)):
                name = f"scale.f32.{m}x{m}x{k}.f8f6f4.v8i32.v8i32"
                yield Form(a, b, "f32", m, m, k, name, passes, formats=(first, second))


@cache
def forms(processor: str) -> tuple[Form, ...]:
    """The instructions of ``processor``, those of more k first; empty where there are none."""
    version = VERSIONS.get(processor, 0)
    if not version:
        return ()
    found: list[Form] = []
    fast = (8, 4) if version >= 3 else (16, 8)
    if version == 4:
        found += _f8f6f4()
        found += _square("f16", "f32", (16, 8, 4, "{}.f16"))
        found += _square("bf16", "f32", (16, 8, 4, "{}.bf16"))
        found += _square("i8", "i32", (32, 8, 4, "{}.i8"))
    found += _square("f16", "f32", (8, *fast, "{}f16"))
    found += _square("bf16", "f32", (8, *fast, "{}bf16.1k") if version > 1 else (4, 16, 8, "{}bf16"))
    found += _square("i8", "i32", (16, 8, 4, "{}.i8") if version >= 3 else (8, 16, 8, "{}i8"))
    if version == 3:
        found += _square("f32", "f32", (4, 8, 4, "{}.xf32"), xf32=True)
        found += _f8(("f8E4M3FNUZ", "f8E5M2FNUZ"))
    if version == 4:
        found += _f8(("f8E4M3FN", "f8E5M2"))
    found += _square("f32", "f32", (2, 16, 8, "{}f32"))
    if version > 1:
        found += _f64(8 if version < 4 else 16)
    found += _small("f16", "f32", 4, "{}f16")
    found += _small("bf16", "f32", 4, "{}bf16.1k") if version > 1 else _small("bf16", "f32", 2, "{}bf16")
    found += _small("i8", "i32", 4, "{}i8")
    found += _small("f32", "f32", 1, "{}f32")
    return tuple(found)
