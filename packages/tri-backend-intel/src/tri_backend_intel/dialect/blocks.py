"""2D block loads, stores and prefetches as machine ops.

Source: the extension SPV_INTEL_2d_block_io.  A surface is a base address, a width and pitch in bytes and a height; (x, y)
is in elements and rows.  What is outside of a surface is read as zero and not written.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_intel.dialect.builtins import call_builtin
from tri_backend_intel.dialect.ttig import TTIG
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["AT_FIRST_USE", "BlockLoadOp", "BlockPrefetchOp", "BlockStoreOp", "Form"]

Array = npt.NDArray[Any]

#: elements of a vector: LLVM's SPIR-V target crashes on more
_MOST_ELEMENTS = 16
#: elements of memory that are read or written at once: what a DPAS takes of an operand is so many
_PIECE = 8
_GLOBAL = 1
#: attribute of a load: nothing is written between it and the first use of each of its results, so that it may stand there
AT_FIRST_USE = "at_first_use"


class Form(enum.IntEnum):
    """Distribution of a loaded block over lanes."""

    #: each row over the lanes, neighbours of a lane together where rows are wider
    PLAIN = 0
    #: a column for each lane, rows packed into 32 bits
    VNNI = 1
    #: a row for each lane
    TRANSPOSED = 2


_NAMES = {Form.PLAIN: "Load", Form.VNNI: "LoadTransform", Form.TRANSPOSED: "LoadTranspose"}


class _BlockOp(MachineOp, dialect=TTIG):
    """``count`` blocks beside each other, each ``rows x width`` elements of ``bits``, at (x, y) of a surface."""

    base: ext.Operand[Any]
    surface_width: ext.Operand[Any]
    surface_height: ext.Operand[Any]
    pitch: ext.Operand[Any]
    x: ext.Operand[Any]
    y: ext.Operand[Any]
    bits: ir.IntegerAttr
    width: ir.IntegerAttr
    rows: ir.IntegerAttr
    count: ir.IntegerAttr

    def call(self, b: Builder, name: str, operands: Sequence[str], memory: ir.Value | None = None) -> None:
        """The builtin that LLVM makes the instruction of; ``operands`` names groups in its order."""
        groups = {
            "shape": ([b.int_(v.value) for v in (self.width, self.rows, self.count)], "iii"),
            "surface": (
                [self.base, self.surface_width, self.surface_height, self.pitch, b.pack([self.x, self.y])],
                "PU3AS1viiiDv2_i",
            ),
            "memory": ([memory], "Pv"),
        }
        values, code = [b.int_(self.bits.value // 8)], "i"
        for group in operands:
            values += groups[group][0]
            code += groups[group][1]
        name = f"__spirv_Subgroup2DBlock{name}INTEL"
        call_builtin(b, f"_Z{len(name)}{name}{code}", values, [], convergent=True, pure=False)

    def private(self, b: Builder, count: int, element: ir.Type) -> ir.Value:
        """Private memory, which the driver's compiler makes registers of."""
        with b.at_entry():
            type_ = ir.TypeAttr.get(ir.Type.parse(f"!llvm.array<{count} x {element}>"))
            return b.op("llvm.alloca", (b.int_(1),), b.ptr(0), {"elem_type": type_})

    def places(
        self, cta: SimulatedCTA, operands: Sequence[Array], across: Any, down: Any
    ) -> tuple[Array, Array]:
        """Addresses of the elements ``across`` and ``down`` from (x, y), and which of them are inside."""
        base, width, height, pitch, x, y = (np.asarray(o, np.int64) for o in operands[:6])
        _check_surface(cta, base, width, height, pitch, x * (self.bits.value // 8))
        size = self.bits.value // 8
        column, row = x + across, y + down
        inside = (column >= 0) & ((column + 1) * size <= width) & (row >= 0) & (row < height) & cta.active
        return base + np.where(inside, row * pitch + column * size, 0), inside


def _check_surface(
    cta: SimulatedCTA, base: Array, width: Array, height: Array, pitch: Array, x: Array
) -> None:
    """Check requirements that the hardware does not, with undefined results: AssertionError."""
    ok = (base % 64 == 0) & (width >= 64) & (width % 4 == 0) & (width <= 1 << 24) & (pitch % 16 == 0)
    ok &= (pitch >= width) & (pitch <= 1 << 24) & (height >= 1) & (height <= 1 << 24) & (x % 4 == 0)
    if not np.all(ok[np.asarray(cta.active, bool)] if ok.ndim else ok):
        raise AssertionError("a 2D block of a surface that the hardware does not take")


class BlockLoadOp(_BlockOp, name="block_load"):
    """All elements of the blocks, in the order in which a lane's results of the instruction have them."""

    outputs: Sequence[ext.Result[Any]]
    form: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Through private memory, read in pieces."""
        outputs = self.operation.results
        element, form = outputs[0].type, Form(self.form.value)
        held = 32 if form is Form.VNNI else self.bits.value
        count = len(outputs) * element.width // held
        memory = self.private(b, count, b.int_type(held))
        self.call(b, _NAMES[form], ("shape", "surface", "memory"), memory)
        found: list[ir.Value] = []
        step = min(_PIECE, _MOST_ELEMENTS * element.width // held)
        for first in range(0, count, step):
            found += self._piece(b, memory, first, min(step, count - first), element, b.int_type(held))
        return found

    @staticmethod
    def _piece(
        b: Builder, memory: ir.Value, first: int, size: int, element: ir.Type, held: ir.Type
    ) -> list[ir.Value]:
        place = b.gep(memory, b.int_(first), held) if first else memory
        got = b.load(place, b.vector_type(held, size) if size > 1 else held)
        per = held.width // element.width
        if size * per > 1 and per > 1:
            got = b.bitcast(got, b.vector_type(b.int_type(element.width), size * per))
        parts = b.unpack(got) if size * per > 1 else [got]
        return [b.bitcast(v, element) for v in parts]

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """By the extension's text; a surface that the hardware does not take is an AssertionError."""
        lanes, form = cta.threads_per_warp, Form(self.form.value)
        lane = np.arange(cta.num_threads) % lanes
        width, rows, bits = self.width.value, self.rows.value, self.bits.value
        size = np.dtype({8: np.int8, 16: np.int16, 32: np.int32}[bits])
        columns = []
        for block in range(self.count.value):
            for i in range(rows * width // lanes):
                flat = i * lanes + lane
                turned = form is Form.TRANSPOSED
                down, across = (flat % rows, flat // rows) if turned else (flat // width, flat % width)
                addresses, inside = self.places(cta, operands, block * width + across, down)
                columns.append(cta.memory(_GLOBAL).load(addresses, size, inside).reshape(-1))
        return _as_elements(columns, self.operation.results[0].type)


def _as_elements(columns: Sequence[Array], element: ir.Type) -> list[Array]:
    """``columns`` in the type of results; what is wider is several neighbours."""
    names = {"f16": "float16", "f32": "float32"}
    kind = np.dtype(names.get(str(element), f"int{element.width}"))
    split = [np.ascontiguousarray(c).view(kind).reshape(len(c), -1) for c in columns]
    return [np.ascontiguousarray(s[:, i]) for s in split for i in range(s.shape[1])]


class BlockStoreOp(_BlockOp, name="block_store"):
    """A value for each row: a lane has a column."""

    values: Sequence[ext.Operand[Any]]

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Through private memory."""
        values, held = list(self.values), b.int_type(self.bits.value)
        memory = self.private(b, len(values), held)
        raw = [b.bitcast(v, held) for v in values]
        for first in range(0, len(raw), _PIECE):
            piece = raw[first : first + _PIECE]
            place = b.gep(memory, b.int_(first), held) if first else memory
            b.store(b.pack(piece) if len(piece) > 1 else piece[0], place)
        self.call(b, "Store", ("shape", "memory", "surface"), memory)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Write the part that is inside."""
        lane = np.arange(cta.num_threads) % cta.threads_per_warp
        for row, value in enumerate(operands[6:]):
            addresses, inside = self.places(cta, operands, lane, row)
            cta.memory(_GLOBAL).store(addresses, value, inside)
        return []


class BlockPrefetchOp(_BlockOp, name="block_prefetch"):
    """Into the cache."""

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """The instruction."""
        self.call(b, "Prefetch", ("shape", "surface"))
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Nothing but the check of the surface."""
        self.places(cta, operands, 0, 0)
        return []
