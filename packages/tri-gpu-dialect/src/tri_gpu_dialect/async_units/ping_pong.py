"""Groups of consumers alternate at the matrix unit: while one's dots run, the other computes between its own.

    open                                          of the whole region, once
    for: wait; s = dot(...); t = dot(...); pass; s = wait(s, 1); softmax; t = wait(t, 0)
    close

Two groups that run the same loop tend to start their dots at the same time, share the matrix unit, and then want the other units at the
same time.  An ordered barrier keeps them apart by half an iteration: FlashAttention-3 (Shah et al., 2024), section 3.1.

For loops and branches of consumers beside a producer (``ttg.warp_specialize``), in which dots are started together and something other
than them is computed that takes long: reductions, exponentials.  Dots that need what these give start outside of ordered barriers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import ReduceOp
from tri_core.ir.regions import For, If, is_control
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir, math
from tri_core.remarks import declined, is_listening
from tri_gpu_dialect.dialect import WarpGroupDotOp, WarpGroupDotWaitOp, WarpSpecializeOp
from tri_gpu_dialect.dialect.ordered_barriers import ORDERED_BARRIER
from tri_gpu_dialect.dialect.partitions import default_block
from tri_gpu_dialect.edit import all_ops, block_ops, functions, i32_attribute, make, module_int, terminator
from tri_gpu_dialect.policies.async_dots import AsyncInstruction
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy

__all__ = ["PingPong"]

#: what takes so long that another group's dots are done meanwhile
_LONG = (ReduceOp, math.ExpOp, math.Exp2Op)
#: what all groups of consumers go through in the same way
_BRANCHES = (For, If)


@dataclass(frozen=True)
class PingPong(Pass):
    """See the module; unless ``policy.async_units.ping_pong`` is False.  Runs when dots and waits are where they stay."""

    name: ClassVar[str] = "ping-pong"

    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Put ordered barriers into the consumers of every function of ``module``."""
        rows = self.policy.dots.instructions
        warps = max((row.group_warps for row in rows if isinstance(row, AsyncInstruction)), default=1)
        groups = module_int(module, "ttg.num-warps") // warps
        if self.policy.async_units.ping_pong is False or (groups < 2 and not is_listening()):
            return
        for function in functions(module):
            for op in [op for op in all_ops(function) if isa(op, WarpSpecializeOp)]:
                if groups < 2:
                    declined(
                        self.name,
                        op,
                        "one group of {} warps computes: two take num_warps={}",
                        warps,
                        2 * warps,
                    )
                else:
                    _alternate(default_block(op), warps)


def _alternate(block: ir.Block, warps: int) -> None:
    """Ordered barriers for what is in ``block``, the region of consumers."""
    ops = [op for outer in block_ops(block) for op in all_ops(outer) if is_control(op)]
    blocks = [inner for op in ops for region in op.regions for inner in region.blocks]
    found = [dots for inner in blocks if (dots := _started_together(inner))]
    if not found:
        why = "no two dots start together where exponentials or reductions take long, too"
        declined(PingPong.name, block.owner.operation, "groups of warps do not alternate: {}", why)
        return
    _turn("open", warps, ir.InsertionPoint.at_block_begin(block), found[0][0].location)
    for dots in found:
        _turn("wait", warps, ir.InsertionPoint(dots[0]), dots[0].location)
        _turn("pass", warps, ir.InsertionPoint.after(dots[-1]), dots[-1].location)
    _turn("close", warps, ir.InsertionPoint(terminator(block)), found[-1][-1].location)


def _started_together(block: ir.Block) -> Sequence[ir.Operation]:
    """The dots of ``block`` before its first wait behind one, two or more, if it computes something long besides."""
    ops = block_ops(block)
    places = [i for i, op in enumerate(ops) if isa(op, WarpGroupDotOp)]
    if not places or not any(isa(op, *_LONG) for op in ops):
        return ()
    end = next((i for i, op in enumerate(ops) if i > places[0] and isa(op, WarpGroupDotWaitOp)), len(ops))
    places = [i for i in places if i < end]
    if len(places) < 2 or any(len(op.regions) for op in ops[places[0] : places[-1]]):
        return ()
    return [ops[i] for i in places]


def _turn(step: str, warps: int, ip: ir.InsertionPoint, location: ir.Location) -> None:
    with ip, location:
        make(ORDERED_BARRIER, step=ir.StringAttr.get(step), group_warps=i32_attribute(warps))
