"""Nearest configurations that fit, for a kernel that needs more shared memory than there is.

Buffers are placed again, with fewer stages where loops are pipelined, or with halves of all blocks: the answers are those
of the allocation itself, not estimates of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import field

from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import LocalAllocOp
from tri_gpu_dialect.transforms.memory.placement import Need

__all__ = ["NearestFit", "depth", "nearest_fit"]

#: blocks are not made smaller than by this power of two
_HALVINGS = 12


@dataclass(frozen=True)
class NearestFit:
    """Options with which a kernel fits (empty where none is known), and the remedy in words."""

    options: dict[str, int] = field(default_factory=dict)
    remedy: str = ""


def depth(need: Need) -> int:
    """Tiles that a buffer holds, one for each iteration under way: what it is indexed by; 1 for other buffers."""
    op = need.buffer.op
    if need.buffer.is_scratch or not isa(op, LocalAllocOp) or len(op.operands):
        return 1
    users = {use.owner.operation.name for use in op.results[0].uses} - {"ttg.local_dealloc"}
    return int(op.results[0].type.shape[0]) if users == {"ttg.memdesc_index"} else 1


def nearest_fit(
    needs: Sequence[Need], limit: int, num_stages: int, extent: Callable[[list[Need]], int]
) -> NearestFit:
    """The most stages with which ``needs`` take at most ``limit`` bytes; else the largest share of the blocks.

    ``extent`` gives the bytes that needs take once they are placed.
    """
    most = max(map(depth, needs), default=1)
    for count in range(most - 1, 0, -1):
        stages = count - max(most - num_stages, 0)
        if stages >= 1 and (total := extent([_with_depth(n, count) for n in needs])) <= limit:
            return NearestFit(
                {"num_stages": stages}, f"num_stages={stages} fits ({total} bytes); so may smaller blocks"
            )
    return _smaller_blocks(needs, limit, extent)


def _with_depth(need: Need, count: int) -> Need:
    own = depth(need)
    return dataclasses.replace(need, size=need.size // own * min(own, count))


def _smaller_blocks(needs: Sequence[Need], limit: int, extent: Callable[[list[Need]], int]) -> NearestFit:
    for halvings in range(1, _HALVINGS + 1):
        total = extent([dataclasses.replace(n, size=-(-n.size >> halvings)) for n in needs])
        if total <= limit:
            share = f"1/{1 << halvings}"
            return NearestFit(
                remedy=f"use smaller blocks: {share} of the elements fit ({total} bytes); {_largest(needs)}"
            )
    return NearestFit(remedy=f"use smaller blocks; {_largest(needs)}")


def _largest(needs: Sequence[Need]) -> str:
    need = max(needs, key=lambda n: n.size)
    op = need.buffer.op
    what = f"scratch memory of {op.name}" if need.buffer.is_scratch else _shape(op)
    place = source_location(op.location)
    where = f" at {place.file}:{place.line}" if place is not None else ""
    return f"the largest part, {need.size} bytes, is {what}{where}"


def _shape(op: ir.Operation) -> str:
    type_ = op.results[0].type
    return f"a buffer of {'x'.join(map(str, type_.shape))}x{type_.element_type}"
