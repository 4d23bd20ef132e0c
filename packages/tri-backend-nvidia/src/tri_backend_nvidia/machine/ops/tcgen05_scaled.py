"""Machine ops of block-scaled dots by ``tcgen05``: scales come to tensor memory, dots read them there.

PTX ISA 9.0, 9.7.16.10.7, "Block Scaling": of ``(A * scale_A) @ (B * scale_B) + D``, each row of A and column of B has a scale
for each 32 (or 16) elements along K.  The scale of row ``i`` is in lane ``i % 32`` of column ``i / 32``, a byte of the
word there that the instruction descriptor names, and the same in all four quarters of the lanes.  ``tcgen05.cp`` with
``.32x128b.warpx4`` brings them there: 32 rows of 16 bytes to 4 columns of every quarter.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

from tri_backend_nvidia.machine.base import NVM, Array, In, text
from tri_backend_nvidia.machine.descriptors import descriptor, descriptor_registers
from tri_backend_nvidia.machine.scaled_formats import ScaledDescriptor, ScaledStep
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["TensorCopyOp", "TensorMultiplyScaledOp"]


class TensorCopyOp(MachineOp, dialect=NVM, name="tcgen05_cp"):
    """``tcgen05.cp.32x128b.warpx4`` by the one thread that has ``predicate``: scales from shared to tensor memory.

    ``address``: in tensor memory; ``source``: the low word of a matrix descriptor (no swizzle) whose high word is ``high``.
    ``steps`` has two numbers per instruction, added to these two.  Dots that the same thread starts
    afterwards see what was copied (9.7.16.6.2, "Pipelined tcgen05 Instructions").
    """

    collective = True

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
        plan = self.plan()
        lines = [*descriptor_registers("s", len(plan)), f".reg .b32 to<{len(plan)}>;"]
        for step, (column, offset) in enumerate(plan):
            lines += [f"add.u32 to{step}, $0, {column};", descriptor("s", step, 1, offset, high)]
            lines.append(f"@$2 tcgen05.cp.cta_group::1.32x128b.warpx4 [to{step}], ds{step};")
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

    computes_floats = True

    collective = True

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
        plan = self.plan()
        count = len(plan)
        lines = [
            *descriptor_registers("ab", count),
            f".reg .b32 sum<{count}>, idesc<{count}>, sa<{count}>, sb<{count}>;",
            ".reg .pred yes;",
            "setp.eq.u32 yes, 0, 0;",
        ]
        seen: set[int] = set()
        for i, step in enumerate(plan):
            adds = "yes" if step.column in seen else "$5"
            lines += [
                f"add.u32 sum{i}, $0, {step.column};",
                descriptor("a", i, 1, step.a, highs[0]),
                descriptor("b", i, 2, step.b, highs[1]),
                f"add.u32 sa{i}, $3, {step.a_scale}; add.u32 sb{i}, $4, {step.b_scale};",
                f"mov.b32 idesc{i}, {word | step.b_id << 4 | step.a_id << 29};",
                f"@$6 {name} [sum{i}], da{i}, db{i}, idesc{i}, [sa{i}], [sb{i}], {adds};",
            ]
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
