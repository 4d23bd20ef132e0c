"""Loads that addresses of a loop's pipelined loads are computed from (page numbers, rows of experts): an iteration ahead of these.

    for i: n = load(pages(i)); x = load(p(n)); y = dot(x, ...)

becomes

    n = load(pages(0))                                                      where there is an iteration
    for i, n: next = load(pages(i + 1)) where there is one; x = load(p(n)); y = dot(x, ...); n = next

What is pipelined then runs ahead without waiting: an address is there an iteration before its load is issued.  Of loads in a chain (the page
of a page), all come an iteration ahead, together.
"""

from __future__ import annotations

from collections.abc import Iterable

from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.access import global_load
from tri_core.ir.regions import For
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.pipelined_loads import PipelinedLoads, pipelined_loads
from tri_gpu_dialect.edit import block_ops
from tri_gpu_dialect.transforms.pipeline.copy_buffers import stays_in_block
from tri_gpu_dialect.transforms.pipeline.loaded_loop import LoadedLoop
from tri_gpu_dialect.types import tensor_info

__all__ = ["load_addresses_ahead"]


def load_addresses_ahead(loop: ir.Operation, loads: PipelinedLoads) -> bool:
    """Replace ``loop``, whose ``loads`` are to be pipelined, if their addresses need loads of the same iteration; whether it was."""
    body = For(loop).body
    needed = [op for op in _computed_from(loads.loads, body) if global_load(op) is not None]
    wanted = {op for op in needed if op not in loads.loads and _can_wait(op)}
    plan = pipelined_loads(loop, wanted.__contains__, whatever_they_feed=True) if wanted else None
    if plan is None:
        return False
    LoadedLoop(loop, plan, {}, peels=False, is_last=False).run()
    return True


def _can_wait(load: ir.Operation) -> bool:
    """True if the result of ``load`` may stay in registers of the block that loads it."""
    result = load.results[0]
    return not reads_again(load) and (tensor_info(result.type) is None or stays_in_block(load))


def _computed_from(loads: Iterable[ir.Operation], body: ir.Block) -> list[ir.Operation]:
    """Ops of an iteration of ``body`` that operands of ``loads`` are computed from in it."""
    own = {result: op for op in block_ops(body) for result in op.results}
    found: dict[ir.Operation, None] = {}
    ahead = [value for load in loads for value in load.operands]
    while ahead:
        op = own.get(ahead.pop())
        if op is not None and op not in found:
            found[op] = None
            ahead += op.operands
    return list(found)
