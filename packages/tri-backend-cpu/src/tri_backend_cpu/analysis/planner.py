"""The plan of a kernel, from the graph: schedule, materialise, coalesce, lay out."""

from __future__ import annotations

from tri_backend_cpu.analysis.aliasing import Aliasing
from tri_backend_cpu.analysis.arena import assign_offsets, derive_views
from tri_backend_cpu.analysis.coalesce import coalesce
from tri_backend_cpu.analysis.depth import depths, prime
from tri_backend_cpu.analysis.materialise import materialise
from tri_backend_cpu.analysis.plan import Plan
from tri_backend_cpu.analysis.reduce_early import reduce_early
from tri_backend_cpu.analysis.schedule import schedule
from tri_backend_cpu.analysis.widen import widen_dots
from tri_core.ttir import Block

__all__ = ["make_plan"]


def make_plan(body: Block, *, ordered: bool = False) -> Plan:
    """Steps and memory for ``body``, which is rewritten where that is better.

    ``ordered``: right for arguments that overlap, too; otherwise ``plan.aliasing`` says which are taken not to.
    """
    widen_dots(body)
    reduce_early(body)
    plan = schedule(body, Aliasing(ordered))
    plan.depth = depths(body)
    prime(body, plan.cost.compute, plan.cost.is_index)
    demands = materialise(plan, body)
    coalesce(plan, demands)
    derive_views(plan, body)
    assign_offsets(plan, demands)
    return plan
