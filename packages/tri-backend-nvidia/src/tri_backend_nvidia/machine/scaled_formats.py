"""Formats of block-scaled dots: kinds with the types of their operands and scales, instruction descriptors,
steps.

PTX ISA 9.0, 9.7.16.4.2, "Instruction descriptor", and 9.7.16.10.7, "Block Scaling".  Machine ops write these, simulators read them.
"""

from __future__ import annotations

from tri_core.lazy_dataclasses import dataclass

__all__ = ["SCALED_KINDS", "ScaledDescriptor", "ScaledKind", "ScaledStep"]


@dataclass(frozen=True)
class ScaledKind:
    """A ``.kind`` with block scaling: numbers of the operands' types and of the scales' types, and its shape along K.

    ``k`` elements along K of one instruction, ``scales`` of them per row; ``transposes``: whether rows of memory may run along
    m or n.  PTX ISA 9.0, tables "Instruction descriptor format for .kind::mxf8f6f4" and "for .kind::mxf4 and
    .kind::mxf4nvf4", "Valid combinations of scale_vectorsize with types and MMA-Kind".
    """

    types: dict[str, int]
    scale_types: dict[str, int]
    k: int
    scales: int
    transposes: bool = False

    @property
    def group(self) -> int:
        """Elements along K that share a scale."""
        return self.k // self.scales

    def vectors(self, *, family: bool) -> str:
        """Spelling of the scale vector size in an instruction's name: ``.blockN`` for a ``family`` of GPUs,
        which has no other form.
        """
        return f"block{self.group}" if family else f"scale_vec::{self.scales}X"


SCALED_KINDS: dict[str, ScaledKind] = {
    # e2m1 here takes 8 bytes of each 16, for 16 elements
    "mxf8f6f4": ScaledKind({"e4m3": 0, "e5m2": 1, "e2m1p": 5}, {"ue8m0": 1}, 32, 1, transposes=True),
    "mxf4": ScaledKind({"e2m1": 1}, {"ue8m0": 1}, 64, 2),
    "mxf4nvf4": ScaledKind({"e2m1": 1}, {"ue4m3": 0, "ue8m0": 1}, 64, 4),
}
#: the fields of an instruction descriptor that are zero with block scaling
_RESERVED = 0x8700604F


@dataclass(frozen=True)
class ScaledDescriptor:
    """Shape and types of one instruction: ``m x n`` of types ``a`` and ``b`` (``e2m1p``: padded e2m1) with
    scales of type ``scale``.

    ``a_rows``, ``b_rows``: whether rows of memory run along k.
    """

    kind: str
    m: int
    n: int
    a: str
    b: str
    scale: str
    a_rows: bool = True
    b_rows: bool = True

    @property
    def word(self) -> int:
        """The descriptor for scales from byte 0: types at bits 7 and 10, transpositions at 15 and 16, n / 8 at 17, the
        scales' type at 23, m / 128 at 27 (PTX ISA 9.7.16.4.2, "Instruction descriptor")."""
        kind = SCALED_KINDS[self.kind]
        return (
            kind.types[self.a] << 7
            | kind.types[self.b] << 10
            | int(not self.a_rows) << 15
            | int(not self.b_rows) << 16
            | self.n >> 3 << 17
            | kind.scale_types[self.scale] << 23
            | self.m >> 7 << 27
        )

    @classmethod
    def parse(cls, kind: str, word: int) -> ScaledDescriptor:
        """Undo :attr:`word`; ValueError for fields that are not what this kind has."""
        known = SCALED_KINDS[kind]
        types = {number: name for name, number in known.types.items()}
        scales = {number: name for name, number in known.scale_types.items()}
        a, b, scale = word >> 7 & 7, word >> 10 & 7, word >> 23 & 1
        transposed = word >> 15 & 1, word >> 16 & 1
        if word & (_RESERVED | 0x60000030) or a not in types or b not in types or scale not in scales:
            raise ValueError(f"{word:#010x} is no instruction descriptor of kind::{kind}")
        if any(transposed) and not known.transposes:
            raise ValueError(f"{word:#010x} transposes an operand; kind::{kind} does not")
        n, m = (word >> 17 & 63) << 3, (word >> 27 & 3) << 7
        return cls(kind, m, n, types[a], types[b], scales[scale], not transposed[0], not transposed[1])


@dataclass(frozen=True)
class ScaledStep:
    """One instruction: the accumulator's column, offsets of A and B in pieces of 16 bytes, columns of their scales, and from which
    byte of these on (``SFA_ID``, ``SFB_ID``)."""

    column: int
    a: int
    b: int
    a_scale: int
    b_scale: int
    a_id: int
    b_id: int

    @property
    def numbers(self) -> list[int]:
        """As the op's attribute has them."""
        return [self.column, self.a, self.b, self.a_scale, self.b_scale, self.a_id, self.b_id]
