"""The machine ops of ``ttig``: what a work item says to its sub-group and work group.

Shuffles move 32 bits, as the lowering asks for them.  A shuffle reads registers of other lanes, so it is
not ``Pure``: it must not be moved into or out of control flow.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_intel.dialect.builtins import call_builtin, mangled
from tri_backend_intel.dialect.ttig import TTIG
from tri_core.ir.traits import Pure
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = [
    "BarrierOp",
    "ClockOp",
    "GroupIdOp",
    "LocalBarrierOp",
    "NumGroupsOp",
    "ShuffleOp",
    "ShuffleXorOp",
    "SubGroupIdOp",
    "SubGroupLaneOp",
]

_In = ext.Operand[Any]
_Out = ext.Result[Any]
Array = npt.NDArray[np.generic]

#: SPIR-V scopes and memory semantics
_WORKGROUP = 2
_ACQUIRE_RELEASE, _WORKGROUP_MEMORY, _CROSS_WORKGROUP_MEMORY = 0x8, 0x100, 0x200


def _per_thread(cta: SimulatedCTA, values: "int | Array") -> list[Array]:
    return [np.broadcast_to(np.asarray(values, np.int32), (cta.num_threads,)).copy()]


def _lanes(cta: SimulatedCTA) -> Array:
    return np.arange(cta.num_threads) % cta.threads_per_warp


def _from_lanes(cta: SimulatedCTA, values: Array, lanes: Array) -> list[Array]:
    """``values`` of the given lane of each thread's own sub-group."""
    first = np.arange(cta.num_threads) - _lanes(cta)
    return [values[first + lanes % cta.threads_per_warp]]


class _IndexOp(MachineOp, dialect=TTIG, traits=[Pure]):
    """A number along ``axis`` of the grid, i32."""

    axis: ir.IntegerAttr
    result: _Out

    BUILTIN = ""

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """A call of the 64-bit builtin, truncated: a grid has less than 2^31 programs along an axis."""
        axis = b.int_(self.axis.value)
        symbol = mangled(self.BUILTIN, [b.i32], unsigned=[0])
        return [b.int_cast(call_builtin(b, symbol, [axis], [b.i64])[0], b.i32)]


class GroupIdOp(_IndexOp, name="group_id"):
    """The index of this work group along ``axis``."""

    BUILTIN = "get_group_id"

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The CTA's place in the grid."""
        return _per_thread(cta, cta.program_id[self.axis.value])


class NumGroupsOp(_IndexOp, name="num_groups"):
    """The number of work groups along ``axis``."""

    BUILTIN = "get_num_groups"

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The grid's extent."""
        return _per_thread(cta, cta.num_programs[self.axis.value])


class SubGroupIdOp(MachineOp, dialect=TTIG, name="sub_group_id", traits=[Pure]):
    """The number of this sub-group in its work group, i32; the same in all its lanes."""

    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """A builtin variable."""
        return call_builtin(b, mangled("get_sub_group_id", []), [], [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Threads are numbered through their sub-groups."""
        return _per_thread(cta, np.arange(cta.num_threads) // cta.threads_per_warp)


class SubGroupLaneOp(MachineOp, dialect=TTIG, name="sub_group_lane", traits=[Pure]):
    """The number of this work item in its sub-group, i32."""

    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """A builtin variable."""
        return call_builtin(b, mangled("get_sub_group_local_id", []), [], [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Threads are numbered through their sub-groups."""
        return _per_thread(cta, _lanes(cta))


class _ShuffleOp(MachineOp, dialect=TTIG):
    """``value`` (i32) of the lane that ``lane`` (i32) says, in the way of the subclass."""

    value: _In
    lane: _In
    result: _Out

    BUILTIN = ""

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """A sub-group builtin."""
        symbol = mangled(self.BUILTIN, [b.i32, b.i32], unsigned=[1])
        return call_builtin(b, symbol, [self.value, self.lane], [b.i32], convergent=True)


class ShuffleOp(_ShuffleOp, name="shuffle"):
    """``value`` of lane ``lane``."""

    BUILTIN = "sub_group_shuffle"

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A gather within each sub-group."""
        value, lane = operands
        return _from_lanes(cta, value, lane)


class ShuffleXorOp(_ShuffleOp, name="shuffle_xor"):
    """``value`` of the lane that is this one's number xor ``lane``."""

    BUILTIN = "sub_group_shuffle_xor"

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A gather within each sub-group."""
        value, mask = operands
        return _from_lanes(cta, value, np.bitwise_xor(_lanes(cta), mask.astype(np.int64)))


class BarrierOp(MachineOp, dialect=TTIG, name="barrier"):
    """The work items of a work group wait for each other at a barrier; local and global memory written before is seen after."""

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """OpControlBarrier with acquire-release semantics."""
        return _control_barrier(b, _WORKGROUP, _WORKGROUP_MEMORY | _CROSS_WORKGROUP_MEMORY)

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The simulator's barrier."""
        cta.barrier()
        return []


class LocalBarrierOp(MachineOp, dialect=TTIG, name="local_barrier"):
    """The work items of a work group wait for each other; local memory written before is seen after, of global memory nothing is said."""

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """OpControlBarrier for local memory alone: no fence of global memory, 2 instructions fewer on pvc."""
        return _control_barrier(b, _WORKGROUP, _WORKGROUP_MEMORY)

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The simulator's barrier."""
        cta.barrier()
        return []


class ClockOp(MachineOp, dialect=TTIG, name="clock"):
    """Ticks of the device's clock since some time, i64; read anew each time."""

    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """OpReadClockKHR of device scope (``cl_khr_kernel_clock``)."""
        return call_builtin(b, mangled("clock_read_device", []), [], [b.i64], pure=False)

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The host's clock, in nanoseconds."""
        return [np.full(cta.num_threads, time.perf_counter_ns(), np.int64)]


def _control_barrier(b: Builder, scope: int, memory: int) -> Sequence[ir.Value]:
    symbol = mangled("__spirv_ControlBarrier", [b.i32] * 3, unsigned=[0, 1, 2])
    operands = [b.int_(n) for n in (scope, scope, _ACQUIRE_RELEASE | memory)]
    return call_builtin(b, symbol, operands, [], convergent=True, pure=False)
