"""Checks that the layouts of a TTGIR module agree: what no op's own verifier can see.

Every tensor has an encoding whose layout covers it and has as many lanes, warps and blocks as the module
(within a partition: as many warps as its ``ttg.warp_specialize``) says; and the operands and results of every op go together, as
the target's rules (:mod:`tri_gpu_dialect.analysis.layout_rules`) say.  For tests, and for authors of passes.
"""

from __future__ import annotations

from typing import ClassVar

from tri_core.api import Pass, StageContext, VerificationError
from tri_core.dialects.tt import ReduceOp
from tri_core.ir.regions import edges_of, is_control
from tri_core.ir.traits import source_of
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import Kind, LayoutRules, encoding_of
from tri_gpu_dialect.dialect import WarpSpecializeOp
from tri_gpu_dialect.dialect.partitions import partition_blocks, warp_counts
from tri_gpu_dialect.edit import all_ops, functions, module_int
from tri_gpu_dialect.layouts import BLOCK, LANE, WARP, layout_for, of
from tri_gpu_dialect.layouts.encoding import Encoding
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.types import shape_of, tensor_info

__all__ = ["VerifyLayouts"]


@dataclass(frozen=True)
class VerifyLayouts(Pass):
    """See the module; raises VerificationError at the first disagreement."""

    name: ClassVar[str] = "verify-layouts"

    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Check all functions; changes nothing."""
        sizes = {
            LANE: module_int(module, "ttg.threads-per-warp"),
            WARP: module_int(module, "ttg.num-warps"),
            BLOCK: module_int(module, "ttg.num-ctas"),
        }
        for function in functions(module):
            warps = _warps_of_partitions(function)
            for op in all_ops(function):
                own = {**sizes, WARP: warps.get(op, sizes[WARP])}
                if (complaint := _complaint(op, own, self.policy.layout_rules)) is not None:
                    raise VerificationError(f"{op.name}: {complaint}", location=source_location(op.location))


def _warps_of_partitions(function: ir.Operation) -> dict[ir.Operation, int]:
    """The number of warps of each op that is in a partition."""
    found: dict[ir.Operation, int] = {}
    for op in all_ops(function):
        if isa(op, WarpSpecializeOp):
            for block, warps in zip(partition_blocks(op), warp_counts(op), strict=True):
                for view in block:
                    found.update(dict.fromkeys(all_ops(view.operation), warps))
    return found


def _complaint(op: ir.Operation, sizes: dict[str, int], rules: LayoutRules) -> str | None:
    for result in op.results:
        if tensor_info(result.type) is not None and (found := _wrong_size(result.type, sizes)):
            return found
    if is_control(op):
        return _control(op)
    rule = rules.of(op)
    if rule.kind in (Kind.SOURCE, Kind.SINK, Kind.FIXED):
        return None
    own = next((e for r in op.results if (e := encoding_of(r)) is not None), None)
    if own is None and not len(op.results) and len(op.operands):
        own = encoding_of(source_of(op))
    if own is None:
        return None
    wanted = rule.operands(op, own)
    if wanted is None or (isa(op, ReduceOp) and len(op.operands) == 1):
        # of a reduction's result, which has an equal layout by other names, no operand can be told
        made = rule.results(op, [encoding_of(v) for v in op.operands])
        return None if made is not None and _same(made, own, op.results[0]) else f"{own} does not follow"
    for i, (value, encoding) in enumerate(zip(op.operands, wanted, strict=True)):
        if encoding is not None and not _same(encoding, encoding_of(value), value):
            return f"operand {i} is {value.type}; {encoding} is expected"
    return None


def _wrong_size(type_: ir.Type, sizes: dict[str, int]) -> str | None:
    layout = of(type_)
    for dim, size in sizes.items():
        have = layout.in_size(dim) if layout.has_in(dim) else 1
        if have != size:
            return f"the layout of {type_} has {dim} of size {have}; the module says {size}"
    return None if layout.is_surjective else f"the layout of {type_} leaves out elements"


def _same(left: Encoding, right: Encoding | None, value: ir.Value) -> bool:
    if right is None:
        return False
    shape = shape_of(value.type)
    return left == right or layout_for(left, shape) == layout_for(right, shape)


def _control(op: ir.Operation) -> str | None:
    """What an edge forwards has the type of what it becomes."""
    for edge in edges_of(op):
        for a, b in zip(edge.values, edge.targets, strict=True):
            if a.type != b.type:
                return f"{a.type} and {b.type} are tied together"
    return None
