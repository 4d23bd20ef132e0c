"""Machine ops of threads: where a thread is, barriers, shuffles."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence

from tri_backend_nvidia.machine.base import NVM, Array, In, Out, text
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = [
    "BarrierOp",
    "ClockOp",
    "ElectOp",
    "GridDependencyOp",
    "PartitionBarrierOp",
    "ReadRegisterOp",
    "SetRegistersOp",
    "ShuffleOp",
    "WarpBarrierOp",
]

_ALL_LANES = -1
#: clamp operand of a shuffle over a whole warp: all five bits of the lane may change, or none below zero
_CLAMP = {"bfly": 31, "idx": 31, "down": 31, "up": 0}


class ReadRegisterOp(MachineOp, dialect=NVM, name="read_register", traits=[ext.Pure]):
    """A special register, i32: ``tid.x``, ``ctaid.{x,y,z}`` or ``nctaid.{x,y,z}``."""

    register: ir.StringAttr
    result: Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """LLVM's intrinsic, whose range it knows from the size of the CTA."""
        return b.intrinsic(f"llvm.nvvm.read.ptx.sreg.{text(self.register)}", [], [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The thread's index, or a number that is the same for all threads."""
        from tri_backend_nvidia.machine import simulation

        return [simulation.read_register(cta, text(self.register))]


class ClockOp(MachineOp, dialect=NVM, name="globaltimer"):
    """Nanoseconds since some time, i64."""

    result: Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly: LLVM has no intrinsic that is read anew each time."""
        return b.inline_asm("mov.u64 $0, %globaltimer;", "=l", [], [b.i64])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The host's clock."""
        from tri_backend_nvidia.machine import simulation

        return [simulation.nanoseconds(cta)]


class BarrierOp(MachineOp, dialect=NVM, name="barrier"):
    """All threads of the CTA meet (``bar.sync 0``)."""

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """LLVM's intrinsic."""
        return b.intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", [b.int_(0)], [])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The CTA's barrier."""
        cta.barrier()
        return []


class PartitionBarrierOp(MachineOp, dialect=NVM, name="partition_barrier"):
    """``threads`` threads of the CTA meet at barrier ``number`` (``bar.sync number, threads``)."""

    number: ir.IntegerAttr
    threads: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """LLVM's intrinsic."""
        given = [b.int_(ir.IntegerAttr(each).value) for each in (self.number, self.threads)]
        return b.intrinsic("llvm.nvvm.barrier.cta.sync.aligned.count", given, [])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A barrier of that name."""
        cta.barrier(ir.IntegerAttr(self.number).value, ir.IntegerAttr(self.threads).value)
        return []


class ElectOp(MachineOp, dialect=NVM, name="elect"):
    """Whether this is the one lane of its warp that is chosen (``elect.sync``), i1; all lanes ask."""

    result: Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """LLVM's intrinsic, which gives the lane as well."""
        both = b.intrinsic("llvm.nvvm.elect.sync", [b.int_(_ALL_LANES)], [b.struct_type([b.i32, b.i1])])[0]
        return b.struct_fields(both, [b.i32, b.i1])[1:]

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The first lane."""
        from tri_backend_nvidia.machine import simulation

        return [simulation.elect(cta)]


class SetRegistersOp(MachineOp, dialect=NVM, name="set_registers"):
    """``setmaxnreg``: the threads of this warp group give registers back (``dec``) or take more (``inc``)."""

    count: ir.IntegerAttr
    way: ir.StringAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly: all warps of the group execute it."""
        count = ir.IntegerAttr(self.count).value
        assembly = f"setmaxnreg.{text(self.way)}.sync.aligned.u32 {count};"
        return b.inline_asm(assembly, "~{memory}", [], convergent=True)

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Nothing: registers have no number here."""
        return []


class GridDependencyOp(MachineOp, dialect=NVM, name="griddepcontrol"):
    """What orders this grid and its neighbours on the stream: ``wait`` or ``launch_dependents``."""

    what: ir.StringAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly: LLVM takes its intrinsics for ones that leave memory alone, and moves loads over them."""
        return b.inline_asm(f"griddepcontrol.{text(self.what)};", "~{memory}", [])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Nothing: a simulated launch begins when the one before has ended."""
        return []


class WarpBarrierOp(MachineOp, dialect=NVM, name="warp_barrier"):
    """The lanes of a warp meet (``bar.warp.sync``)."""

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """LLVM's intrinsic."""
        return b.intrinsic("llvm.nvvm.bar.warp.sync", [b.int_(_ALL_LANES)], [])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The CTA's barrier where the warp is the CTA; else each warp's own."""
        if cta.num_threads == cta.threads_per_warp:
            cta.barrier()
        else:
            cta.warp_barrier()
        return []


class ShuffleOp(MachineOp, dialect=NVM, name="shuffle"):
    """``value`` (i32) of another lane: mode ``bfly`` (xor), ``idx``, ``up`` or ``down`` by ``lane`` (i32).

    A lane that an ``up`` or ``down`` shuffle does not have gives the thread's own value.
    """

    value: In
    lane: In
    mode: ir.StringAttr
    result: Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """LLVM's intrinsic."""
        mode = text(self.mode)
        operands = [b.int_(_ALL_LANES), self.value, self.lane, b.int_(_CLAMP[mode])]
        return b.intrinsic(f"llvm.nvvm.shfl.sync.{mode}.i32", operands, [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A gather within each warp."""
        from tri_backend_nvidia.machine import simulation

        value, lane = operands
        return [simulation.shuffle(cta, value, lane, text(self.mode))]
