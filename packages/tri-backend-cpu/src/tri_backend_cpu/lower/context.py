"""Common state of all nests of a kernel while it is lowered."""

from __future__ import annotations

from dataclasses import field

from tri_backend_cpu.analysis.axis import AxisAnalysis
from tri_backend_cpu.analysis.plan import Buffer, Plan, View
from tri_backend_cpu.builder import I64, Builder
from tri_backend_cpu.lower.checks import Checks
from tri_backend_cpu.lower.records import Reports
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.ttir import Op, Value

__all__ = ["Context", "VectorFeatures"]


@dataclass(frozen=True)
class VectorFeatures:
    """A target's vectors: ``bits`` and number of ``registers``; native fused multiply-add, f16 conversion.

    ``x86``: whether it has the instructions that every x86 has; ``predicates``: whether AVX-512's mask registers.
    """

    bits: int
    registers: int
    fma: bool
    half: bool
    x86: bool = False
    predicates: bool = False


@dataclass
class Context:
    """State of one lowering.

    ``task`` and ``arena`` are the kernel's arguments, ``attention`` the address of its attention flag; ``program`` its index along
    x, y and z; ``features`` what the target's vectors can do.  ``scalars``: the SSA values of scalars;
    ``moved``: how far each induction has moved.  Addresses of buffers are made before ``start``.
    """

    b: Builder
    plan: Plan
    axis: AxisAnalysis
    address_axis: AxisAnalysis
    task: ir.Value
    arena: ir.Value
    attention: ir.Value
    start: ir.Operation
    features: VectorFeatures
    program: list[ir.Value] = field(default_factory=list)
    grid: list[ir.Value] = field(default_factory=list)
    #: i1: whether stores should go past the caches
    streaming: ir.Value | None = None
    #: whether any store may
    streams: bool = False
    #: whether ops are those of a counted loop in the source
    counted: bool = False
    scalars: dict[Value, ir.Value] = field(default_factory=dict)
    moved: dict[Value, ir.Value] = field(default_factory=dict)
    reports: Reports = field(default_factory=Reports)
    #: of a checked kernel
    checks: Checks | None = None
    _bases: dict[Buffer, ir.Value] = field(default_factory=dict)
    _records: dict[int, ir.Value] = field(default_factory=dict)
    _lanes: dict[int, ir.Value] = field(default_factory=dict)

    @property
    def native_lanes(self) -> int:
        """Lanes of f32 in a vector register."""
        return self.features.bits // 32

    def base(self, buffer: Buffer) -> ir.Value:
        """The address of ``buffer``."""
        found = self._bases.get(buffer)
        if found is None:
            with self.b.at(ir.InsertionPoint(self.start)):
                found = self.b.offset(self.arena, buffer.offset // buffer.dtype.nbytes, buffer.dtype)
            self._bases[buffer] = found
        return found

    def table(self, op: Op) -> View:
        """The elements of a constant tensor that differ, as a view of read-only memory."""
        numbers, dtype = op.attributes["value"], op.result.dtype
        buffer = Buffer(dtype, len(numbers))
        with self.b.at(ir.InsertionPoint(self.start)):
            self._bases[buffer] = self.b.table(numbers, dtype)
        return View.dense(buffer, op.result.shape)

    def every_lane(self, width: int) -> ir.Value:
        """A mask of ``width`` lanes that are all true, which LLVM's optimizer does not know."""
        found = self._lanes.get(width)
        if found is None:
            with self.b.at(ir.InsertionPoint(self.start)):
                found = self._lanes[width] = self.b.unknown_lanes(width)
        return found

    def record(self, count: int) -> ir.Value:
        """Stack memory for ``count`` numbers of 8 bytes."""
        found = self._records.get(count)
        if found is None:
            with self.b.at(ir.InsertionPoint(self.start)):
                found = self.b.stack(I64, max(count, 1))
            self._records[count] = found
        return found
