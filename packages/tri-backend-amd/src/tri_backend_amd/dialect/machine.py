"""Machine ops of ``amdg``: identity, movement between lanes, barriers.

Movement reads registers of other lanes, so its ops are not ``Pure``: they must not be moved into or out of
control flow.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_amd.dialect.amdg import AMDG
from tri_core.ir.traits import Pure
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = [
    "BarrierOp",
    "BpermuteOp",
    "DppOp",
    "ExecutionBarrierOp",
    "LocalBarrierOp",
    "NumWorkgroupsOp",
    "PermlaneSwapOp",
    "PermlaneX16Op",
    "ReadFirstLaneOp",
    "ReadLaneOp",
    "SwizzleOp",
    "WorkgroupIdOp",
    "WorkitemIdOp",
]

_In = ext.Operand[Any]
_Out = ext.Result[Any]
Array = npt.NDArray[np.generic]

_AXES = "xyz"
#: LLVM's orderings as the llvm dialect numbers them
_ACQUIRE, _RELEASE = 4, 5


def _threads(cta: SimulatedCTA, values: "int | Array") -> list[Array]:
    return [np.broadcast_to(np.asarray(values, np.int32), (cta.num_threads,)).copy()]


def _lanes(cta: SimulatedCTA) -> Array:
    return np.arange(cta.num_threads) % cta.threads_per_warp


def _from_lanes(cta: SimulatedCTA, values: Array, lanes: Array) -> list[Array]:
    """``values`` of the given lane of each thread's own wavefront."""
    first = np.arange(cta.num_threads) - _lanes(cta)
    return [values[first + lanes % cta.threads_per_warp]]


# --- identity -------------------------------------------------------------------------------------------


class WorkgroupIdOp(MachineOp, dialect=AMDG, name="workgroup_id", traits=[Pure]):
    """The index of this work group along ``axis``, i32, in a scalar register."""

    axis: ir.IntegerAttr
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic per axis."""
        return b.intrinsic(f"llvm.amdgcn.workgroup.id.{_AXES[self.axis.value]}", [], [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The CTA's place in the grid."""
        return _threads(cta, cta.program_id[self.axis.value])


class NumWorkgroupsOp(MachineOp, dialect=AMDG, name="num_workgroups", traits=[Pure]):
    """The number of work groups along ``axis``, i32."""

    axis: ir.IntegerAttr
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """One of ``hidden_block_count_x``, ``y``, ``z``: the first three implicit arguments, 4 bytes each."""
        implicit = b.intrinsic("llvm.amdgcn.implicitarg.ptr", [], [b.ptr(4)])[0]
        return [b.load(b.gep(implicit, b.int_(self.axis.value), b.i32), b.i32, 4)]

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The grid's extent."""
        return _threads(cta, cta.num_programs[self.axis.value])


class WorkitemIdOp(MachineOp, dialect=AMDG, name="workitem_id", traits=[Pure]):
    """The index of this work item in its work group, i32; work groups are one-dimensional."""

    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic."""
        return b.intrinsic("llvm.amdgcn.workitem.id.x", [], [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Threads in order."""
        return _threads(cta, np.arange(cta.num_threads))


class ReadFirstLaneOp(MachineOp, dialect=AMDG, name="readfirstlane"):
    """``value`` (i32) of the first active lane, in a scalar register."""

    value: _In
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic."""
        return b.intrinsic("llvm.amdgcn.readfirstlane.i32", [self.value], [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The lowest active thread of each wavefront."""
        waves = cta.active.reshape(-1, cta.threads_per_warp)
        return _from_lanes(cta, operands[0], np.repeat(waves.argmax(axis=1), cta.threads_per_warp))


class PermuteBytesOp(MachineOp, dialect=AMDG, name="permute_bytes", traits=[Pure]):
    """Byte i of the result is number ``selector >> 8 i`` (0 to 7) of the eight of ``low``, then ``high``: ``v_perm_b32``."""

    low: _In
    high: _In
    selector: ir.IntegerAttr
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic; the instruction's first source is the upper word."""
        operands = [self.high, self.low, b.int_(self.selector.value)]
        return b.intrinsic("llvm.amdgcn.perm", operands, [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Of both words as one of 64 bits."""
        low, high = (operand.astype(np.uint32).astype(np.uint64) for operand in operands)
        both, made = low | high << np.uint64(32), np.zeros(low.shape, np.uint64)
        for byte in range(4):
            number = self.selector.value >> 8 * byte & 7
            made |= (both >> np.uint64(8 * number) & np.uint64(255)) << np.uint64(8 * byte)
        return [made.astype(np.uint32).view(operands[0].dtype)]


class ReadLaneOp(MachineOp, dialect=AMDG, name="readlane"):
    """``value`` (i32) of lane ``lane``, in a scalar register."""

    value: _In
    lane: ir.IntegerAttr
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic."""
        return b.intrinsic("llvm.amdgcn.readlane.i32", [self.value, b.int_(self.lane.value)], [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """That lane of each wavefront."""
        return _from_lanes(cta, operands[0], np.full(cta.num_threads, self.lane.value))


class ClockOp(MachineOp, dialect=AMDG, name="realtime"):
    """Nanoseconds since some time, i64; the clock counts 100 MHz on all processors here."""

    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """LLVM's intrinsic: ``s_memrealtime``, or the message that replaced it."""
        ticks = b.intrinsic("llvm.readsteadycounter", [], [b.i64])[0]
        return [b.mul(ticks, b.int_(10, 64))]

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The host's clock."""
        return [np.full(cta.num_threads, time.perf_counter_ns(), np.int64)]


# --- movement between lanes -----------------------------------------------------------------------------


class BpermuteOp(MachineOp, dialect=AMDG, name="ds_bpermute"):
    """``value`` (i32) of the lane whose number is ``address`` (i32) over 4: any lane, through LDS hardware."""

    address: _In
    value: _In
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic."""
        return b.intrinsic("llvm.amdgcn.ds.bpermute", [self.address, self.value], [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A gather within each wavefront."""
        address, value = operands
        return _from_lanes(cta, value, address.astype(np.int64) // 4)


class SwizzleOp(MachineOp, dialect=AMDG, name="ds_swizzle"):
    """``value`` (i32) of lane ``((lane & and) | or) ^ xor`` among 32; ``offset`` holds xor, or, and, 5 bits each."""

    value: _In
    offset: ir.IntegerAttr
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic."""
        return b.intrinsic("llvm.amdgcn.ds.swizzle", [self.value, b.int_(self.offset.value)], [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A gather within each half of a wavefront."""
        offset, lane = self.offset.value, _lanes(cta)
        source = ((lane % 32) & (offset & 31) | (offset >> 5 & 31)) ^ (offset >> 10 & 31)
        return _from_lanes(cta, operands[0], lane - lane % 32 + source)


#: data-parallel primitives: control word -> source lane, itself where a lane has none
def dpp_source(control: int, lane: Array) -> Array:
    """The lane that ``lane`` reads under DPP ``control``."""
    row, place = lane - lane % 16, lane % 16
    if control <= 0xFF:  # quad_perm: two bits for each lane of four
        return lane - lane % 4 + (control >> (2 * (lane % 4)) & 3)
    match control & 0x1F0, control & 0xF:
        case 0x140, (2 | 3) as which:  # row_bcast:15, row_bcast:31: the last lane of 16, or of 32, before
            size = 16 * (which - 1)
            return np.where(lane < size, lane, lane - lane % size - 1)
        case 0x120, amount:  # row_ror
            return row + (place - amount) % 16
        case 0x140, 0:  # row_mirror
            return row + 15 - place
        case 0x140, 1:  # row_half_mirror
            return row + (place ^ 7)
        case 0x160, mask:  # row_xmask
            return row + (place ^ mask)
    raise ValueError(f"DPP control {control:#x}")


class DppOp(MachineOp, dialect=AMDG, name="dpp"):
    """``value`` (i32) moved among lanes as ``control`` says, at the speed of a move; anything where a lane has no source."""

    value: _In
    control: ir.IntegerAttr
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """All rows and banks; the old value never shows."""
        operands = [b.undef(b.i32), self.value, b.int_(self.control.value), b.int_(15), b.int_(15), b.true()]
        return b.intrinsic("llvm.amdgcn.update.dpp.i32", operands, [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A gather within each wavefront."""
        return _from_lanes(cta, operands[0], dpp_source(self.control.value, _lanes(cta)))


class PermlaneX16Op(MachineOp, dialect=AMDG, name="permlanex16"):
    """``value`` (i32) of the other 16 of the same 32 lanes: lane i of a row gets that of the other row which hexadecimal digit i of ``lanes`` (i64) names."""

    value: _In
    lanes: ir.IntegerAttr
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Selectors of lanes 0 to 7, and of 8 to 15, as two words."""
        words = np.array([self.lanes.value], np.int64).view(np.int32)
        operands = [b.undef(b.i32), self.value, *(b.int_(int(word)) for word in words), b.true(), b.true()]
        return b.intrinsic("llvm.amdgcn.permlanex16.i32", operands, [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A gather within each 32 lanes."""
        lane = _lanes(cta)
        chosen = np.int64(self.lanes.value) >> 4 * (lane % 16).astype(np.int64) & 15
        return _from_lanes(cta, operands[0], (lane - lane % 16 ^ 16) + chosen)


class PermlaneSwapOp(MachineOp, dialect=AMDG, name="permlane_swap"):
    """``first`` and ``second`` (i32): what lanes with bit ``lanes`` (16 or 32) have of the former, and those without it of the latter, change places."""

    first: _In
    second: _In
    lanes: ir.IntegerAttr
    low: _Out
    high: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """``v_permlane16_swap_b32`` or ``v_permlane32_swap_b32``; all lanes take part, so neither of the last two operands matters."""
        operands = [self.first, self.second, b.int_(0, 1), b.int_(0, 1)]
        name = f"llvm.amdgcn.permlane{self.lanes.value}.swap"
        fields = [b.i32, b.i32]
        return b.struct_fields(b.intrinsic(name, operands, [b.struct_type(fields)])[0], fields)

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Gathers within each wavefront, of lanes with the bit and without."""
        lane, bit = _lanes(cta), self.lanes.value
        first, second = operands
        has = lane & bit != 0
        (below,) = _from_lanes(cta, second, lane & ~bit)
        (above,) = _from_lanes(cta, first, lane | bit)
        return [np.where(has, below, first), np.where(has, second, above)]


# --- barriers -------------------------------------------------------------------------------------------


class ExecutionBarrierOp(MachineOp, dialect=AMDG, name="execution_barrier"):
    """A wavefront waits until each of its work group has come to some barrier; orders no memory."""

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """LLVM's barrier intrinsic alone."""
        b.intrinsic("llvm.amdgcn.s.barrier", [], [])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The simulator's barrier, which counts threads wherever they are."""
        cta.barrier()
        return []


class BarrierOp(MachineOp, dialect=AMDG, name="barrier"):
    """The work items of a work group wait for each other at a barrier; LDS and global memory written before is seen after."""

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """LLVM's barrier intrinsic orders nothing by itself: fences of work-group scope stand around it."""
        scope = ir.StringAttr.get("workgroup")
        for ordering in (_RELEASE, _ACQUIRE):
            if ordering == _ACQUIRE:
                b.intrinsic("llvm.amdgcn.s.barrier", [], [])
            b.run("llvm.fence", (), (), {"ordering": ir.IntegerAttr.get(b.i64, ordering), "syncscope": scope})
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The simulator's barrier."""
        cta.barrier()
        return []


class LocalBarrierOp(MachineOp, dialect=AMDG, name="local_barrier"):
    """As ``amdg.barrier``, for LDS alone: loads from global memory stay under way.

    ``waits`` is the word of an ``s_waitcnt`` for accesses of LDS, with which the fences, which wait for copies to LDS as well, order the
    compiler's instructions only; 0: they are fences of the work group that synchronise LDS (``amdgpu-synchronize-as``).
    """

    waits: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """The barrier between two fences."""
        waits = self.waits.value
        attributes: dict[str, ir.Attribute] = {
            "syncscope": ir.StringAttr.get("singlethread" if waits else "workgroup")
        }
        if waits:
            b.intrinsic("llvm.amdgcn.s.waitcnt", [b.int_(waits)], [])
        else:
            attributes["llvm.mmra"] = ir.Attribute.parse('#llvm.mmra_tag<"amdgpu-synchronize-as":"local">')
        for ordering in (_RELEASE, _ACQUIRE):
            if ordering == _ACQUIRE:
                b.intrinsic("llvm.amdgcn.s.barrier", [], [])
            b.run("llvm.fence", (), (), {"ordering": ir.IntegerAttr.get(b.i64, ordering), **attributes})
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The simulator's barrier."""
        cta.barrier()
        return []
