"""Last part of the plan: where in the arena each buffer lies.

Two buffers may share bytes when no step needs both.  A buffer lives from the first step that touches it to
the last; what a loop touches of outside lives through the whole loop.
"""

from __future__ import annotations

from tri_backend_cpu.analysis.demand import Demands, is_inline_reshape
from tri_backend_cpu.analysis.plan import BlockPlan, Buffer, Plan, Step, View
from tri_core.dialects import tt
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.ttir import Block

__all__ = ["ALIGNMENT", "assign_offsets", "derive_views"]

#: every buffer starts at a multiple of this many bytes, a cache line
ALIGNMENT = 64


def derive_views(plan: Plan, body: Block) -> None:
    """Views of reshaped tensors: the source's buffer in another shape."""
    for op in body.walk():
        if not isa(op, tt.ReshapeOp) or is_inline_reshape(op):
            continue
        source = plan.views.get(op.operand("src"))
        if source is not None and op.result not in plan.views:
            plan.views[op.result] = View.dense(source.buffer, op.result.shape)


@dataclass
class _Life:
    """Places of the first and the last step that touch a buffer."""

    first: int
    last: int

    def overlaps(self, other: _Life) -> bool:
        return self.first <= other.last and other.first <= self.last


def assign_offsets(plan: Plan, demands: Demands) -> None:
    """Set the offset of every buffer and the size of the arena; the largest buffers choose first."""
    lives = _lives(plan, demands)
    placed: list[Buffer] = []
    for buffer in sorted(lives, key=lambda b: -b.nbytes):
        rivals = sorted((b for b in placed if lives[b].overlaps(lives[buffer])), key=lambda b: b.offset)
        offset = 0
        for rival in rivals:
            if offset + buffer.nbytes <= rival.offset:
                break
            offset = max(offset, -(-(rival.offset + rival.nbytes) // ALIGNMENT) * ALIGNMENT)
        buffer.offset = offset
        placed.append(buffer)
    plan.arena = max((b.offset + b.nbytes for b in placed), default=0)


def _lives(plan: Plan, demands: Demands) -> dict[Buffer, _Life]:
    spans = _spans(plan.body, {}, 0)[0]
    touching: dict[Buffer, set[Step]] = {}
    for step in spans:
        for view in step.written():
            touching.setdefault(view.buffer, set()).add(step)
    for value in demands.values():
        found = plan.views.get(value)
        if found is not None:
            touching.setdefault(found.buffer, set()).update(d.step for d in demands[value] if d.step in spans)
    lives: dict[Buffer, _Life] = {}
    for buffer, steps in touching.items():
        home = _common_block(steps)
        own = [spans[home.ancestor(s)] for s in steps]
        lives[buffer] = _Life(min(first for first, _ in own), max(last for _, last in own))
    return lives


def _spans(
    block: BlockPlan, spans: dict[Step, tuple[int, int]], clock: int
) -> tuple[dict[Step, tuple[int, int]], int]:
    """Number the steps in order of execution; a control step spans the steps within."""
    for step in block.steps:
        begin = clock
        for inner in step.inner():
            clock = _spans(inner, spans, clock + 1)[1]
        spans[step] = (begin, clock)
        clock += 1
    return spans, clock


def _common_block(steps: set[Step]) -> BlockPlan:
    """The innermost block that holds all ``steps``."""
    paths = [_path(s.block) for s in steps]
    common = paths[0][0]
    for level in zip(*paths, strict=False):
        if any(block is not level[0] for block in level):
            break
        common = level[0]
    return common


def _path(block: BlockPlan) -> list[BlockPlan]:
    path = [block]
    while path[-1].parent is not None:
        path.append(path[-1].parent.block)
    return path[::-1]
