"""DPAS as a machine op: ``OpSubgroupMatrixMultiplyAccumulateINTEL``.

Source: the extension SPV_INTEL_subgroup_matrix_multiply_accumulate.  :meth:`DpasOp.simulate` follows its tables of which
work item holds what, and shares nothing with :class:`tri_backend_intel.dialect.encoding.Dpas`.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_intel.dialect.builtins import call_builtin
from tri_backend_intel.dialect.encoding import DEPTH
from tri_backend_intel.dialect.ttig import TTIG
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ext, ir
from tri_core.ring import elements
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["KINDS", "MOST_ELEMENTS", "DpasOp", "OperandKind", "packed"]

Array = npt.NDArray[Any]

#: LLVM's SPIR-V target crashes on vectors of more elements
MOST_ELEMENTS = 16


@dataclass(frozen=True)
class OperandKind:
    """Operands of DPAS: bits of an element, the extension's operand flags, MLIR's type of accumulators."""

    bits: int
    flags: int
    accumulator: str = "f32"


#: by the element types that the op is given; ``f32`` is read as tf32.  Flags: MatrixA and MatrixB PackedFloat16, PackedBFloat16, TF32,
#: PackedInt8 with SignedComponents, PackedInt8
KINDS = {
    "f16": OperandKind(16, 0x400 | 0x800),
    "bf16": OperandKind(16, 0x1000 | 0x2000),
    "f32": OperandKind(32, 0x100 | 0x200),
    "i8": OperandKind(8, 0x10 | 0x20 | 0x1 | 0x2, "i32"),
    "u8": OperandKind(8, 0x10 | 0x20, "i32"),
}

_LETTERS = {"f32": "f", "i32": "i", "i16": "s"}


class DpasOp(MachineOp, dialect=TTIG, name="dpas_multiply"):
    """One DPAS of a sub-group: rows of A, all of B, rows of the sum, one operand for each element that a lane has.

    ``kind`` is a key of :data:`KINDS`.
    """

    computes_floats = True

    outputs: Sequence[ext.Result[Any]]
    left: Sequence[ext.Operand[Any]]
    right: Sequence[ext.Operand[Any]]
    total: Sequence[ext.Operand[Any]]
    kind: ir.StringAttr

    @classmethod
    def of(
        cls, kind: str, left: Sequence[ir.Value], right: Sequence[ir.Value], total: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """The sum after the instruction."""
        sizes = [len(left), len(right), len(total)]
        attributes = {
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get(sizes),
            "kind": ir.StringAttr.get(kind),
        }
        return list(cls.build([*left, *right, *total], [v.type for v in total], attributes))

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """The builtin that LLVM makes the instruction of: K, A, B, the sum, operand flags.

        Components of A are 16 bits wide for 16 lanes, 32 for 8; those of B and of the sum 32.
        """
        kind = KINDS[self.kind.value]
        if kind.bits == 32:
            containers = [b.f32, b.f32]
        else:
            bits = len(self.left) * kind.bits // len(self.total)
            containers = [b.int_type(bits), b.i32]
        left, right = (
            packed(b, list(values), container)
            for values, container in zip((self.left, self.right), containers, strict=True)
        )
        total = _vector(b, list(self.total))
        code = "".join(_code(v.type) for v in (left, right, total))
        name = "__spirv_SubgroupMatrixMultiplyAccumulateINTEL"
        operands = [b.int_(DEPTH * 32 // kind.bits), left, right, total, b.int_(kind.flags)]
        made = call_builtin(b, f"_Z{len(name)}{name}i{code}i", operands, [total.type], convergent=True)[0]
        return b.unpack(made) if isinstance(made.type, ir.VectorType) else [made]

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Products in f64 (or i64), rounded once."""
        return self._multiplied(cta, operands, _numbers)

    def simulate_exactly(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Products of integers modulo a power of two."""
        if KINDS[self.kind.value].accumulator == "i32":
            return self.simulate(cta, operands)

        def numbers(values: Array, kind: str) -> Array:
            return elements(values, kind or "f32").astype(np.int32)

        made = self._multiplied(cta, operands, numbers)
        return [ring_values.view(np.float32) for ring_values in made]

    def _multiplied(
        self, cta: SimulatedCTA, operands: Sequence[Array], numbers: Callable[[Array, str], Array]
    ) -> Sequence[Array]:
        kind, lanes = self.kind.value, cta.threads_per_warp
        counts = len(self.left), len(self.right), len(self.total)
        left, right, total = (
            _by_warp(part, name, lanes, numbers)
            for part, name in zip(_parts(operands, counts), (kind, kind, ""), strict=True)
        )
        a = _matrix_a(left, DEPTH * 32 // KINDS[kind].bits, counts[2])
        # a lane's components of B, in order, are the rows of its column; those of the sum too
        made = a @ right.transpose(1, 0, 2) + total.transpose(1, 0, 2)
        result = np.int32 if made.dtype.kind == "i" else np.float32
        return list(made.transpose(1, 0, 2).reshape(counts[2], -1).astype(result))


def _parts(operands: Sequence[Array], counts: Sequence[int]) -> list[Sequence[Array]]:
    ends = np.cumsum([0, *counts])
    return [operands[first:last] for first, last in itertools.pairwise(ends)]


def _by_warp(
    registers: Sequence[Array], kind: str, lanes: int, numbers: Callable[[Array, str], Array]
) -> Array:
    """Numbers by (register, warp, lane)."""
    return np.stack([numbers(v, kind) for v in registers]).reshape(len(registers), -1, lanes)


def _numbers(values: Array, kind: str) -> Array:
    """Operand values as the instruction reads them: bf16 from bits, f32 truncated to tf32."""
    if kind == "bf16":
        return (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if kind == "f32":
        return (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
    if kind in ("i8", "u8"):
        values = values.view(np.int8 if kind == "i8" else np.uint8)
    return values.astype(np.int64 if values.dtype.kind in "iu" else np.float64)


def _matrix_a(left: Array, k: int, rows: int) -> Array:
    """A of every warp, ``rows x k``.

    Component c of a lane is row c, and has the lane's neighbours along k; of elements of 32 bits for 16 lanes component c
    is row 2 c in the lower 8 lanes, row 2 c + 1 in the upper ones.
    """
    count, warps, lanes = left.shape
    a = np.zeros((warps, rows, k), left.dtype)
    lane = np.arange(lanes)
    if k < lanes:
        for register in range(count):
            a[:, 2 * register + lane // k, lane % k] = left[register]
        return a
    neighbours = k // lanes
    for register in range(count):
        row, place = divmod(register, neighbours)
        a[:, row, lane * neighbours + place] = left[register]
    return a


def _vector(b: Builder, values: list[ir.Value]) -> ir.Value:
    """``values`` as a vector; one is a scalar."""
    return b.pack(values) if len(values) > 1 else values[0]


def packed(b: Builder, values: Sequence[ir.Value], container: ir.Type) -> ir.Value:
    """``values`` in order as a vector of ``container``, neighbours in one; through no vector that is too long.

    What was a word of 32 bits is taken as such: the driver's compiler gives each byte of it a register in between.
    """
    width = values[0].type.width
    if values[0].type == container:
        return _vector(b, list(values))
    per = container.width // width
    bits = [b.bitcast(v, b.int_type(width)) for v in values]
    if per == 1:
        return _vector(b, [b.bitcast(v, container) for v in bits])
    found: list[ir.Value] = []
    for first in range(0, len(bits), MOST_ELEMENTS):
        piece = bits[first : first + MOST_ELEMENTS]
        count = len(piece) // per
        type_ = container if count == 1 else b.vector_type(container, count)
        words = _words(piece)
        cast = b.bitcast(b.pack(piece) if words is None else b.pack(words), type_)
        if len(bits) <= MOST_ELEMENTS:
            return cast
        found += [cast] if count == 1 else b.unpack(cast)
    return _vector(b, found)


def _words(values: Sequence[ir.Value]) -> list[ir.Value] | None:
    """The numbers of 32 bits that ``values`` are all the parts of, in order; None: they are not."""
    per, found = 32 // values[0].type.width, list[ir.Value]()
    for i, value in enumerate(values):
        vector, place = _part_of(value)
        word = None if vector is None else _made_by(vector, "llvm.bitcast")
        if vector is None or word is None or place != i % per or vector.type.shape != [per]:
            return None
        if place == 0:
            found.append(word.operands[0])
        elif word.operands[0] != found[-1]:
            return None
    return (
        found if len(values) % per == 0 and all(isinstance(w.type, ir.IntegerType) for w in found) else None
    )


def _part_of(value: ir.Value) -> tuple[ir.Value | None, int]:
    """The vector that a scalar was taken out of, and from where; the first one, if it was put into others since."""
    while True:
        while (cast := _made_by(value, "llvm.bitcast")) is not None:
            value = cast.operands[0]
        op = _made_by(value, "llvm.extractelement")
        place = None if op is None else _number(op.operands[1])
        if op is None or place is None:
            return None, 0
        inserted = _inserted(op.operands[0], place)
        if inserted is None:
            return op.operands[0], place
        value = inserted


def _inserted(vector: ir.Value, place: int) -> ir.Value | None:
    """Value inserted into ``vector`` at ``place``; None if it was not made so."""
    while (op := _made_by(vector, "llvm.insertelement")) is not None:
        vector, value, at = op.operands
        if _number(at) == place:
            return value
    return None


def _number(value: ir.Value) -> int | None:
    op = _made_by(value, "llvm.mlir.constant")
    return None if op is None else ir.IntegerAttr(op.attributes["value"]).value


def _made_by(value: ir.Value, name: str) -> ir.Operation | None:
    if isinstance(value.owner, ir.Block):
        return None
    op = value.owner.operation
    return op if op.name == name else None


def _code(type_: ir.Type) -> str:
    """Itanium mangling of a scalar or vector type."""
    if isinstance(type_, ir.VectorType):
        return f"Dv{type_.shape[0]}_{_LETTERS[str(type_.element_type)]}"
    return _LETTERS[str(type_)]
