"""Copies of dots' operands straight from global memory to LDS: which loads can be such, and the strategy for their loops.

A wavefront's lanes write side by side in LDS (:mod:`tri_backend_amd.dialect.copies`).  So a load has the layout of the buffer it goes to: its
vector, then lanes, then wavefronts are the low bits of an offset.  A swizzled buffer has rows whose pieces are in another order; a lane then
loads the piece that its place in LDS wants, and no access conflicts.
"""

from __future__ import annotations

from dataclasses import replace

from tri_backend_amd.lowering.small_arrays import is_small
from tri_core.api import Target
from tri_core.dialects.tt import LoadOp
from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.traits import source_of
from tri_core.ir.views import cast, defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.passes.origins import argument_of, is_zero
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis import AxisInfos
from tri_gpu_dialect.analysis.layout_rules import LayoutRules
from tri_gpu_dialect.analysis.pressure import accumulator_registers, operand_registers, registers_of
from tri_gpu_dialect.dialect import ConvertLayoutOp
from tri_gpu_dialect.encodings import SharedEncoding
from tri_gpu_dialect.layouts import BLOCK, LANE, OFFSET, REGISTER, WARP, Banks, LinearLayout, layout_for
from tri_gpu_dialect.transforms.pipeline.copy_buffers import CopyBuffer, readers
from tri_gpu_dialect.transforms.pipeline.loaded_loop import lacking_registers
from tri_gpu_dialect.transforms.pipeline.pipelined_loop import PipelinedLoop
from tri_gpu_dialect.transforms.pipeline.rings import Ring, Rings, Room
from tri_gpu_dialect.transforms.pipeline.strategies import AsyncCopy, ThroughRegisters
from tri_gpu_dialect.typed import TypedFields
from tri_gpu_dialect.types import tensor_info

__all__ = ["BITS", "DEEP", "DIRECT", "DirectCopies", "is_copy", "straight"]

#: what a lane moves at once
BITS = 128
#: stages of a ring in which a CTA has more iterations under way than in registers
DEEP = 3
#: the feature of targets that have such copies
DIRECT = "cdna4"


@dataclass(frozen=True)
class DirectCopies(TypedFields):
    """Copies to LDS in accesses of 128 bits, for loops all of whose loads can be such; through registers elsewhere.

    Registers hold the loads of one iteration, in fewer instructions: a copy sets the address in LDS (``m0``), is masked past the end, and a
    ring's stages have addresses of their own.  A ring takes more LDS, so fewer CTAs share a compute unit.  Copies are for loops that have
    more iterations under way on it by them, and for those whose registers are too few.

    ``requires``: the feature of targets that have such copies.
    """

    requires: str = DIRECT

    @property
    def _copies(self) -> AsyncCopy:
        return AsyncCopy(bits=(BITS,), requires=self.requires)

    def check(self, target: Target | None) -> None:
        """See :class:`tri_gpu_dialect.policies.loads.LoadStrategy`."""
        self._copies.check(target)

    def suits(self, load: ir.Operation, axes: AxisInfos, rules: LayoutRules) -> bool:
        """True if ``load`` gives a matrix that is to be issued ahead."""
        return ThroughRegisters().suits(load, axes, rules)

    def pipeline(self, asked: PipelinedLoop) -> None:
        """See :class:`tri_gpu_dialect.policies.loads.LoadStrategy`."""
        (self._copies if _is_copied(asked) else ThroughRegisters()).pipeline(asked)


def _is_copied(asked: PipelinedLoop) -> bool:
    """True if the loads of the loop are to be copies: they can be, and more of them are then in flight."""
    banks, loads = Banks.of(asked.target), asked.loads.loads
    if not all(_is_straight(load, banks) for load in loads):
        return False
    rings = tuple(Ring(CopyBuffer.of(load, banks).bytes) for load in loads)
    registers = accumulator_registers(asked.loop) + operand_registers(asked.loop)
    copied = max(
        _under_way(asked.room, Rings(rings, stages), registers, stages - 1)
        for stages in range(2, asked.stages + 1)
    )
    if lacking_registers(asked.loop, asked.loads, asked.target, asked.warps):
        return copied > 0
    loaded = registers + sum(registers_of(load.results[0]) for load in loads)
    return copied > _under_way(asked.room, Rings(rings, 1), loaded, 1)


def _under_way(room: Room, rings: Rings, registers: int, iterations: int) -> int:
    """Iterations whose loads are under way on a compute unit: ``iterations`` of each CTA that it holds; 0 where ``rings`` do not fit."""
    return replace(room, registers=registers).ctas(rings) * iterations if room.fits(rings) else 0


def is_copy(load: ir.Operation) -> bool:
    """True if ``load`` is of a small array, is zero where it is masked, and its matrix is used only as dot
    operands.
    """
    info = tensor_info(load.results[0].type)
    if not isa(load, LoadOp) or info is None or info.rank != 2 or reads_again(load):
        return False
    view = cast(load, LoadOp)
    root = argument_of(view.ptr)
    if root is None or not is_small(root) or (view.other is not None and not is_zero(_converted(view.other))):
        return False
    users, wanted = _users(load.results[0]), readers(load)
    return bool(users) and all(user in wanted for user in users)


def _converted(value: ir.Value) -> ir.Value:
    """Source of the conversion that ``value`` is, or ``value`` itself."""
    op = defining_op(value, ConvertLayoutOp)
    return value if op is None else _converted(source_of(op))


def _users(value: ir.Value) -> list[ir.Operation]:
    """Users of ``value``, without conversions that have no use, which exist until layouts settle."""
    users = [use.owner.operation for use in value.uses]
    return [user for user in users if not isa(user, ConvertLayoutOp) or _users(user.results[0])]


def straight(
    encoding: SharedEncoding, own: LinearLayout, shape: tuple[int, ...], bits: int
) -> LinearLayout | None:
    """The layout, for as many threads as ``own`` has, of a tensor of ``shape`` whose copy to ``encoding`` is one line; None where they are too many.

    ``bits``: of an element.
    """
    memory = layout_for(encoding, shape)
    columns, outs = list(memory.packed(OFFSET)), memory.outs
    vector, lanes, warps = (
        (n - 1).bit_length() for n in (BITS // bits, own.in_size(LANE), own.in_size(WARP))
    )
    if len(columns) < vector + lanes + warps:
        return None
    low, lane, warp = vector, vector + lanes, vector + lanes + warps
    registers = [*columns[:low], *columns[warp:]]
    ins = ((REGISTER, len(registers)), (LANE, lanes), (WARP, warps))
    return LinearLayout(ins, outs, (*registers, *columns[low:lane], *columns[lane:warp]))


def _is_straight(load: ir.Operation, banks: Banks) -> bool:
    """True if ``load`` has the layout of its destination buffer."""
    info = tensor_info(load.results[0].type)
    if info is None or not is_copy(load):
        return False
    own = layouts.of(load.results[0].type)
    wanted = straight(CopyBuffer.of(load, banks).encoding, own, info.shape, info.bitwidth)
    return (
        wanted is not None
        and not own.bases.get(BLOCK)
        and all(own.bases[dim] == bases for dim, bases in wanted.bases.items())
    )
