"""Machine ops of threads: where a thread is, barriers, shuffles."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence

from tri_backend_nvidia.machine.base import NVM, Array, In, Out, text
from tri_core.ir.traits import Pure
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = [
    "BarrierOp",
    "ClockOp",
    "ElectOp",
    "GridDependencyOp",
    "OrderedBarrierOp",
    "PartitionBarrierOp",
    "ReadRegisterOp",
    "SetRegistersOp",
    "ShuffleOp",
    "WarpBarrierOp",
]

_ALL_LANES = -1
#: clamp operand of a shuffle over a whole warp: all five bits of the lane may change, or none below zero
_CLAMP = {"bfly": 31, "idx": 31, "down": 31, "up": 0}


class ReadRegisterOp(MachineOp, dialect=NVM, name="read_register", traits=[Pure]):
    """A special register, i32: ``tid.x``, ``{n,}ctaid.{x,y,z}``, ``{n,}clusterid.{x,y,z}`` or ``cluster.ctarank``.

    The last three are those of clusters: the cluster's place among all, how many there are, and the CTA's number in it.
    """

    register: ir.StringAttr
    result: Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """LLVM's intrinsic, whose range it knows from the size of the CTA."""
        return b.intrinsic(f"llvm.nvvm.read.ptx.sreg.{text(self.register)}", [], [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The thread's index, or a number that is the same for all threads."""
        from tri_backend_nvidia.machine.simulation import core as simulation

        return [simulation.read_register(cta, text(self.register))]


class ClockOp(MachineOp, dialect=NVM, name="globaltimer"):
    """Nanoseconds since some time, i64."""

    result: Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly: LLVM has no intrinsic that is read anew each time."""
        return b.inline_asm("mov.u64 $0, %globaltimer;", "=l", [], [b.i64])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The host's clock."""
        from tri_backend_nvidia.machine.simulation import core as simulation

        return [simulation.nanoseconds(cta)]


class BarrierOp(MachineOp, dialect=NVM, name="barrier"):
    """All threads of the CTA synchronise (``bar.sync 0``)."""

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """LLVM's intrinsic."""
        return b.intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", [b.int_(0)], [])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The CTA's barrier."""
        cta.barrier()
        return []


class PartitionBarrierOp(MachineOp, dialect=NVM, name="partition_barrier"):
    """``threads`` threads of the CTA synchronise at barrier ``number`` (``bar.sync number, threads``)."""

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


class OrderedBarrierOp(MachineOp, dialect=NVM, name="ordered_barrier"):
    """A step of an ordered barrier of ``groups`` groups of ``threads`` threads, of which this thread's is number ``group``: named barriers ``first`` and on.

    PTX ISA, "Parallel Synchronization and Communication Instructions": ``barrier``.  Group g goes on when barrier ``first + g`` is
    complete: its own threads wait there (``wait``, and the first group in ``close``), those of the group before only arrive (``pass``, and
    those of the last group in ``open``).
    """

    collective = True

    group: In
    step: ir.StringAttr
    first: ir.IntegerAttr
    groups: ir.IntegerAttr
    threads: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly: LLVM's arrival has no number that is computed."""
        first, groups, threads = (ir.IntegerAttr(x).value for x in (self.first, self.groups, self.threads))
        step, both = text(self.step), 2 * threads
        if step == "open":
            assembly = f"{{ .reg .pred p; setp.eq.s32 p, $0, {groups - 1}; @p bar.arrive {first}, {both}; }}"
        elif step == "close":
            assembly = f"{{ .reg .pred p; setp.eq.s32 p, $0, 0; @p bar.sync {first}, {both}; }}"
        else:
            assembly = f"{'bar.sync' if step == 'wait' else 'bar.arrive'} $0, {both};"
        number = self.group
        if step == "pass":
            following = b.add(number, b.int_(1))
            number = b.select(b.cmp("eq", following, b.int_(groups)), b.int_(0), following)
        if step in ("wait", "pass"):
            number = b.add(number, b.int_(first))
        return b.inline_asm(assembly, "r,~{memory}", [number], convergent=True)

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Groups of one partition run in step here, and values do not depend on who is first: the barriers are told, no more."""
        first, groups, threads = (ir.IntegerAttr(x).value for x in (self.first, self.groups, self.threads))
        from tri_backend_nvidia.machine.simulation import ordered_barriers

        ordered_barriers.step(cta, text(self.step), operands[0], range(first, first + groups), 2 * threads)
        return []


class ElectOp(MachineOp, dialect=NVM, name="elect"):
    """Predicate (i1) of the elected lane of a warp (``elect.sync``); all lanes must execute it."""

    result: Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """LLVM's intrinsic, which gives the lane as well."""
        both = b.intrinsic("llvm.nvvm.elect.sync", [b.int_(_ALL_LANES)], [b.struct_type([b.i32, b.i1])])[0]
        return b.struct_fields(both, [b.i32, b.i1])[1:]

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The first lane."""
        from tri_backend_nvidia.machine.simulation import core as simulation

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
    """Dependency between this grid and its neighbours on the stream: ``wait`` or ``launch_dependents``."""

    what: ir.StringAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly: LLVM takes its intrinsics for ones that leave memory alone, and moves loads over them."""
        return b.inline_asm(f"griddepcontrol.{text(self.what)};", "~{memory}", [])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Nothing: a simulated launch begins when the one before has ended."""
        return []


class WarpBarrierOp(MachineOp, dialect=NVM, name="warp_barrier"):
    """The lanes of a warp synchronise (``bar.warp.sync``)."""

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
        from tri_backend_nvidia.machine.simulation import core as simulation

        value, lane = operands
        return [simulation.shuffle(cta, value, lane, text(self.mode))]
