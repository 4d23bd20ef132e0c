"""Machine ops of block-scaled dots by ``tcgen05``: scales come to tensor memory, dots read them there.

PTX ISA 9.0, 9.7.16.10.7, "Block Scaling": of ``(A * scale_A) @ (B * scale_B) + D``, each row of A and column of B has a scale
for each 32 (or 16) elements along K.  The scale of row ``i`` is in lane ``i % 32`` of column ``i / 32``, a byte of the
word there that the instruction descriptor names, and the same in all four quarters of the lanes.  ``tcgen05.cp`` with
``.32x128b.warpx4`` brings them there: 32 rows of 16 bytes to 4 columns of every quarter.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tri_backend_nvidia.machine.base import NVM, Array, In, text
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = [
    "SCALED_KINDS",
    "ScaledDescriptor",
    "ScaledKind",
    "ScaledStep",
    "TensorCopyOp",
    "TensorMultiplyScaledOp",
]


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
        """How an instruction's name says what has a scale: by ``.blockN`` for a ``family`` of GPUs, which knows no other way."""
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
    """What one instruction computes: ``m x n`` of types ``a`` and ``b`` (``e2m1p``: padded e2m1) with scales of type ``scale``.

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
    def parse(cls, kind: str, word: int) -> "ScaledDescriptor":
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


class TensorCopyOp(MachineOp, dialect=NVM, name="tcgen05_cp"):
    """``tcgen05.cp.32x128b.warpx4`` by the one thread that has ``predicate``: scales from shared to tensor memory.

    ``address``: in tensor memory; ``source``: the low word of a matrix descriptor (no swizzle) whose high word is ``high``.
    ``steps`` has two numbers per instruction, added to these two.  Dots that the same thread starts
    afterwards see what was copied (9.7.16.6.2, "Pipelined tcgen05 Instructions").
    """

    address: In
    source: In
    predicate: In
    high: ir.IntegerAttr
    steps: Any

    def plan(self) -> list[tuple[int, int]]:
        """(column, offset of the source) of each instruction."""
        flat = list(ir.DenseI32ArrayAttr(self.operation.attributes["steps"]))
        return list(zip(flat[::2], flat[1::2], strict=True))

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """One inline assembly."""
        high = ir.IntegerAttr(self.high).value
        lines = [".reg .b64 from;", ".reg .b32 word, to;"]
        for column, offset in self.plan():
            lines += [f"add.u32 to, $0, {column};", f"add.u32 word, $1, {offset};"]
            lines.append(f"mov.b64 from, {{word, {high}}};")
            lines.append("@$2 tcgen05.cp.cta_group::1.32x128b.warpx4 [to], from;")
        operands = list(self.operation.operands)
        b.inline_asm("{ " + " ".join(lines) + " }", "r,r,b,~{memory}", operands)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """There for the thread's dots now, for others with a commit."""
        from tri_backend_nvidia.machine.simulation import tcgen05_scaled as simulation

        simulation.copy(cta, self.plan(), ir.IntegerAttr(self.high).value, operands)
        return []


class TensorMultiplyScaledOp(MachineOp, dialect=NVM, name="tcgen05_mma_scaled"):
    """``tcgen05.mma`` with block scaling, of operands in shared memory, started by the one thread that has ``predicate``.

    Operands and attributes as of ``tcgen05_mma``; ``a_scale``, ``b_scale``: addresses of the scales in tensor memory;
    ``steps`` has the numbers of a :class:`ScaledStep` per instruction, ``vectors`` is :meth:`ScaledKind.vectors`.
    """

    total: In
    a: In
    b: In
    a_scale: In
    b_scale: In
    add: In
    predicate: In
    kind: ir.StringAttr
    vectors: ir.StringAttr
    descriptor: ir.IntegerAttr
    a_high: ir.IntegerAttr
    b_high: ir.IntegerAttr
    steps: Any

    def plan(self) -> list[ScaledStep]:
        """The instructions."""
        flat = list(ir.DenseI32ArrayAttr(self.operation.attributes["steps"]))
        return [ScaledStep(*flat[i : i + 7]) for i in range(0, len(flat), 7)]

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """One inline assembly."""
        word = ir.IntegerAttr(self.descriptor).value
        highs = [ir.IntegerAttr(high).value for high in (self.a_high, self.b_high)]
        name = f"tcgen05.mma.cta_group::1.kind::{text(self.kind)}.block_scale.{text(self.vectors)}"
        lines = [
            ".reg .b64 da, db;",
            ".reg .b32 word, sum, idesc, sa, sb;",
            ".reg .pred yes;",
            "setp.eq.u32 yes, 0, 0;",
        ]
        seen: set[int] = set()
        for step in self.plan():
            lines += [
                f"add.u32 sum, $0, {step.column};",
                *(f"add.u32 word, ${i}, {o}; mov.b64 d{n}, {{word, {h}}};"
                  for i, o, n, h in zip((1, 2), (step.a, step.b), "ab", highs, strict=True)),
                f"add.u32 sa, $3, {step.a_scale}; add.u32 sb, $4, {step.b_scale};",
                f"mov.b32 idesc, {word | step.b_id << 4 | step.a_id << 29};",
                f"@$6 {name} [sum], da, db, idesc, [sa], [sb], {'yes' if step.column in seen else '$5'};",
            ]  # fmt: skip
            seen.add(step.column)
        operands = list(self.operation.operands)
        b.inline_asm("{ " + " ".join(lines) + " }", "r,r,r,r,r,b,b,~{memory}", operands)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """As ``tcgen05_mma``; scales are read now, and must stay until somebody waits."""
        from tri_backend_nvidia.machine.simulation import tcgen05_scaled as simulation

        highs = (ir.IntegerAttr(self.a_high).value, ir.IntegerAttr(self.b_high).value)
        word = ir.IntegerAttr(self.descriptor).value & 0xFFFFFFFF
        descriptor = ScaledDescriptor.parse(text(self.kind), word)
        simulation.multiply(cta, descriptor, self.plan(), highs, operands)
        return []
