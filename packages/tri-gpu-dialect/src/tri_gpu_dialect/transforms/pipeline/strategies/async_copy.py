"""Asynchronous copies to rings of stages in shared memory (:mod:`tri_gpu_dialect.transforms.pipeline.copied_loop`)."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.api import OutOfResources, Target
from tri_core.dialects.tt import LoadOp
from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_core.passes.origins import is_zero
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis import AxisInfos
from tri_gpu_dialect.analysis.carried_dots import carried_dots, late_dots
from tri_gpu_dialect.analysis.layout_rules import LayoutRules
from tri_gpu_dialect.encodings import SharedEncoding
from tri_gpu_dialect.layouts import BLOCK, OFFSET, Banks, vector_access
from tri_gpu_dialect.layouts.shared import row_major
from tri_gpu_dialect.transforms.layout.rematerialize import can_be_rematerialized
from tri_gpu_dialect.transforms.pipeline.copied_loop import CopiedLoop
from tri_gpu_dialect.transforms.pipeline.copy_buffers import (
    CopyBuffer,
    chosen_encoding,
    readers,
    row_spread,
    stays_in_block,
)
from tri_gpu_dialect.transforms.pipeline.pipelined_loop import PipelinedLoop, staged
from tri_gpu_dialect.transforms.pipeline.rings import Ring, Rings, choose
from tri_gpu_dialect.transforms.pipeline.strategies.checks import check_shared, refused
from tri_gpu_dialect.typed import TypedFields
from tri_gpu_dialect.types import tensor_info

__all__ = ["AsyncCopy"]


@dataclass(frozen=True)
class AsyncCopy(TypedFields):
    """Copies from global to shared memory that run on their own, in accesses of ``bits`` each, ``stages - 1`` iterations ahead.

    ``requires``: the feature of targets that have such copies (empty: all do).  ``fewest``: the stages that a loop must have room for, if so many were asked
    for: OutOfResources otherwise.  Elsewhere a loop gets as many as fit, and a remark.
    """

    bits: tuple[int, ...] = (32, 64, 128)
    requires: str = ""
    fewest: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.bits or any(b < 8 or b & (b - 1) for b in self.bits):
            raise refused(
                f"AsyncCopy.bits is {self.bits}; powers of two from 8 on are expected",
                "name the copies' widths in bits",
            )

    def check(self, target: Target | None) -> None:
        """See :class:`tri_gpu_dialect.policies.loads.LoadStrategy`."""
        if target is not None and self.requires and not target.has(self.requires):
            raise refused(
                f"PipelinePolicy.loads is AsyncCopy, and {target} has no {self.requires}",
                "give ThroughRegisters() or None for targets without asynchronous copies",
            )
        check_shared("AsyncCopy", target)

    def suits(self, load: ir.Operation, axes: AxisInfos, rules: LayoutRules) -> bool:
        """True if ``load`` can be an asynchronous copy: of matrices, in accesses of one of the widths, or of
        rows.
        """
        return _suits(load, axes, self.bits, rules)

    def pipeline(self, asked: PipelinedLoop) -> None:
        """See :class:`tri_gpu_dialect.policies.loads.LoadStrategy`."""
        loop, loads = asked.loop, asked.loads.loads
        buffers = [CopyBuffer.of(load, Banks.of(asked.target)) for load in loads]
        chains = asked.chains_dots
        # dots may stay under way into the next iteration; who asks for chains of dots that overlap needs that of all
        late = carried_dots(loop) if chains else late_dots(loop, staged(loads))
        wanted = Rings(
            tuple(
                Ring(b.bytes, in_place=b.is_read_in_place, at_once=not readers(load))
                for b, load in zip(buffers, loads, strict=True)
            ),
            asked.stages,
            is_late=bool(late),
            # a dot of another kind has its operands computed, or its results used, before copies could be issued behind it
            is_deferred=all(each.only_adds for each in late),
        )
        rings = choose(wanted, asked.room, late_anyway=chains)
        if (0 if rings is None else rings.buffers) < min(self.fewest, asked.stages):
            raise self.lacking(asked, wanted)
        if rings is None or rings.buffers < asked.stages:
            asked.remark(asked.too_little(wanted, rings))
        if rings is not None:
            CopiedLoop(loop, asked.loads, buffers, rings, asked.layout_rules).run()

    def lacking(self, asked: PipelinedLoop, wanted: Rings) -> OutOfResources:
        """The error of a loop that does not get the fewest stages."""
        count = min(self.fewest, asked.stages)
        return OutOfResources(
            f"a loop has no room for the {count} stages that AsyncCopy.fewest demands: the loop {asked.too_little(wanted, None)}",
            resource="shared memory",
            need=count * sum(ring.bytes for ring in wanted.rings),
            have=asked.room.free,
            remedy="ask for fewer stages or smaller blocks, or lower AsyncCopy.fewest in the policy",
            location=source_location(asked.loop.location),
        )


def _suits(load: ir.Operation, axes: AxisInfos, widths: Sequence[int], rules: LayoutRules) -> bool:
    """True if ``load`` can be an asynchronous copy: of matrices, in accesses of one of the ``widths`` in
    bits, or of rows.
    """
    info = tensor_info(load.results[0].type)
    if not isa(load, LoadOp) or info is None or info.bitwidth < 8 or reads_again(load):
        return False
    view = cast(load, LoadOp)
    if view.other is not None and not is_zero(view.other):
        return False
    if info.rank == 1:
        given = [v for v in (view.ptr, view.mask, view.other) if v is not None]
        spread = row_spread(load)
        is_cheap = info.encoding == spread or all(can_be_rematerialized(v, spread, rules) for v in given)
        return is_cheap and info.bitwidth in widths and _is_one_block(load)
    if not stays_in_block(load):
        return False
    chosen = chosen_encoding(load)
    dims = range(info.rank) if chosen is None else [_contiguous(chosen, info.shape)]
    best = max(_run(view.ptr, view.mask, axes, dim, info.bitwidth) for dim in dims)
    return best * info.bitwidth >= min(widths)


def _is_one_block(load: ir.Operation) -> bool:
    """True if the loaded tensor is not shared within a cluster."""
    return not layouts.of(load.results[0].type).bases.get(BLOCK, ())


def _run(pointers: ir.Value, mask: ir.Value | None, axes: AxisInfos, dim: int, bits: int) -> int:
    """Elements that a thread accesses at once along ``dim``."""
    width = min(axes.contiguous(pointers, dim), max(128 // bits, 1))
    if mask is not None:
        width = min(width, axes.constant_run(mask, dim))
    shape = tuple(pointers.type.shape)
    order = [dim, *(d for d in reversed(range(len(shape))) if d != dim)]
    return vector_access(layouts.of(pointers.type), row_major(shape, order), width).width


def _contiguous(encoding: SharedEncoding, shape: tuple[int, ...]) -> int:
    """The dimension that neighbours in a buffer of ``shape`` differ in."""
    first = layouts.layout_for(encoding, shape).bases[OFFSET][0]
    return next(d for d, step in enumerate(first) if step)
