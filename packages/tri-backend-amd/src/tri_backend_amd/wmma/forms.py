"""The WMMA instructions of every processor as data.

Sources: AMD's instruction set guides of RDNA3 (section 7.9) and RDNA4 (section 7.12), LLVM's definitions of the intrinsics (their names
and operand types).  Nothing here needs MLIR: the target's list of matrix instructions is made from these rows as well.
"""

from __future__ import annotations

from functools import cache

from tri_backend_amd.processors import versions
from tri_core.lazy_dataclasses import dataclass

__all__ = ["LANES", "SIDE", "VERSIONS", "Form", "form_for", "forms", "neighbours"]

#: work items of a wavefront, and m and n of every instruction
LANES, SIDE = 32, 16
#: processor -> version of ``#ttg.amd_wmma``: 1 is RDNA3, 2 is RDNA4, 3 is CDNA5
VERSIONS = versions("wmma")

_F8 = {"f8E4M3FN": "fp8", "f8E5M2": "bf8"}


@dataclass(frozen=True)
class Form:
    """One instruction: 16 x k by k x 16.

    ``a``, ``b``, ``total``: MLIR's element types of the operands and of the result; ``intrinsic``: what follows
    ``llvm.amdgcn.wmma.``; ``per_lane``: elements of an operand that a lane holds; ``word``: LLVM's type of these, as MLIR spells it.
    """

    a: str
    b: str
    total: str
    version: int
    k: int
    intrinsic: str
    per_lane: int
    word: str

    @property
    def k_width(self) -> int:
        """Elements of an operand that a lane holds next to each other along k."""
        return self.per_lane if self.version == 1 else neighbours(self.k)


def neighbours(k: int) -> int:
    """Elements that a lane of RDNA4 or CDNA5 holds next to each other along k, before those of the wavefront's other half."""
    return min(k, SIDE) // 2


def _form(version: int, k: int, kinds: tuple[str, str], names: str, total: str, word: str, bits: int) -> Form:
    """``word``: LLVM's type of an element of the words, of ``bits``; ``names``: the operands' types in the intrinsic's name.

    RDNA3's two halves of a wavefront hold the same; those of the others share k.
    """
    count = k if version == 1 else k // 2
    size = {"i8": 8, "f8E4M3FN": 8, "f8E5M2": 8, "f32": 32}.get(kinds[0], 16)
    words = count * size // bits
    name = f"{total}.16x16x{k}.{names}.v8{total}.v{words}{word}"
    return Form(*kinds, total, version, k, name, count, f"vector<{words}x{word}>")


def _f8(version: int, k: int) -> list[Form]:
    return [_form(version, k, (a, b), f"{_F8[a]}.{_F8[b]}", "f32", "i32", 32) for a in _F8 for b in _F8]


@cache
def forms(processor: str) -> tuple[Form, ...]:
    """The instructions of ``processor``, of those alike the deepest first; empty where there are none."""
    version = VERSIONS.get(processor, 0)
    if not version:
        return ()
    wide = version == 3
    half, byte = (32, 64) if wide else (SIDE, SIDE)
    # bf16 came to LLVM late: older instructions take its bits
    found = [
        _form(version, half, ("f16", "f16"), "f16", "f32", "f16", 16),
        _form(version, half, ("bf16", "bf16"), "bf16", "f32", "bf16" if wide else "i16", 16),
        _form(version, byte, ("i8", "i8"), "iu8", "i32", "i32", 32),
    ]
    if version == 2:
        found += _f8(version, SIDE)
    if wide:
        found += [*_f8(version, 128), *_f8(version, 64)]
        found.append(_form(version, 4, ("f32", "f32"), "f32", "f32", "f32", 32))
    return tuple(found)


@cache
def form_for(processor: str, a: str, b: str, k: int) -> Form | None:
    """The instruction of ``processor`` for operands of MLIR types ``a`` and ``b`` that come ``k`` deep: the deepest whose k divides that.

    Where none does, the shallowest that is deeper, whose operands are filled with zeros.
    """
    alike = [form for form in forms(processor) if (form.a, form.b) == (a, b)]
    whole = [form for form in alike if k % form.k == 0]
    if whole:
        return max(whole, key=lambda form: form.k)
    return min((form for form in alike if form.k > k), key=lambda form: form.k, default=None)
