"""A loop that is to be pipelined, with what is known of it: what strategies are given."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.api import Target
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import LayoutRules
from tri_gpu_dialect.analysis.pipelined_loads import PipelinedLoads
from tri_gpu_dialect.policies.operands import OperandLayout
from tri_gpu_dialect.remarks import add_remark
from tri_gpu_dialect.transforms.pipeline.copy_buffers import readers
from tri_gpu_dialect.transforms.pipeline.rings import Rings, Room

__all__ = ["PipelinedLoop", "staged"]


@dataclass(frozen=True)
class PipelinedLoop:
    """``loop``, a counted one, whose ``loads`` are to be issued ahead, in ``stages`` stages, two at least, as asked for.

    ``room``: the shared memory beside it; ``target``: None where it is unknown; ``warps`` of a CTA; ``operands``: how they lie in
    shared memory; ``chains_dots``: dots may stay under way beside the next iteration's; ``layout_rules``: the
    target's (all three as the policy says).
    """

    loop: ir.Operation
    loads: PipelinedLoads
    stages: int
    room: Room
    target: Target | None
    warps: int
    operands: OperandLayout
    chains_dots: bool
    layout_rules: LayoutRules

    def remark(self, text: str) -> None:
        """Say ``text`` of the loop."""
        add_remark("pipeline", self.loop, f"the loop {text}")

    def too_little(self, wanted: Rings, rings: Rings | None) -> str:
        """Reason that the loop has ``rings`` instead of ``wanted``."""
        asked = wanted.stages
        has = (
            f"is not pipelined in {asked} stages"
            if rings is None
            else f"has {rings.buffers} of {asked} stages"
        )
        each, room = sum(ring.bytes for ring in wanted.rings), self.room
        return f"{has}: each takes {each} bytes of shared memory, {room.free} of {room.limit} are free"


def staged(loads: Sequence[ir.Operation]) -> set[ir.Value]:
    """Results of the readers of ``loads``, which stages of rings will replace."""
    return {reader.results[0] for load in loads for reader in readers(load)}
