"""Plan of a reduction along one axis: within threads, then across lanes, then across warps, then across
blocks.

A layout sends (register, lane, warp) bits to coordinates.  Inputs that change only the coordinate along
the axis hold the elements to be combined; inputs that change nothing hold copies, which must not be
combined twice.  So of the combinations of lane bits that leave all other coordinates alone, those count
whose images along the axis are independent of each other and of what registers already reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tri_core.errors import Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.layouts import BLOCK, LANE, REGISTER, WARP, LinearLayout, gf2
from tri_gpu_dialect.plans.conversion import normalized

__all__ = ["ReductionPlan", "plan_reduction", "split"]


@dataclass(frozen=True)
class ReductionPlan:
    """``groups``: the registers to combine, by the position (flat, axis 0) they all contribute to.

    ``lane_masks``: xor masks of the lanes to combine with, in turn.  ``warp_masks``: combinations of warp
    bits along the axis, one per bit of the partial results' index.  ``kept`` is the layout with position 0
    along the axis, its outputs flat, row-major; ``partial`` sends a warp to the index of its partial result.
    ``block_masks`` and ``block_partial`` are the same of the blocks of a cluster.
    """

    groups: dict[int, tuple[int, ...]]
    lane_masks: tuple[int, ...]
    warp_masks: tuple[int, ...]
    kept: LinearLayout
    partial: LinearLayout
    positions: int
    block_masks: tuple[int, ...]
    block_partial: LinearLayout

    @property
    def partials(self) -> int:
        """Number of warps that contribute to a result."""
        return 1 << len(self.warp_masks)

    def scratch_bytes(self, element_bytes: Sequence[int]) -> int:
        """Shared memory needed for operands of these element sizes."""
        across_blocks = sum(self._padded(size) for size in element_bytes) if self.block_masks else 0
        return self.warp_bytes(element_bytes) + across_blocks

    def warp_bytes(self, element_bytes: Sequence[int]) -> int:
        """The first bytes of it: partial results of warps; those of blocks follow."""
        if not self.warp_masks:
            return 0
        return sum(self._padded(self.partials * size) for size in element_bytes)

    def _padded(self, size: int) -> int:
        return -(-self.positions * size // 16) * 16


@lru_cache(maxsize=1024)
def plan_reduction(layout: LinearLayout, axis: int) -> ReductionPlan:
    """The plan for a reduction along dimension ``axis`` of a tensor in ``layout``."""
    along, kept = split(normalized(layout), axis)
    groups = _groups(along, kept)
    reached = gf2.span(_reached(along, kept, REGISTER))
    lanes = _masks(along, kept, LANE, reached)
    reached = gf2.span([*reached, *(gf2.apply(along.packed(LANE), m) for m in lanes)])
    warps = _masks(along, kept, WARP, reached)
    reached = gf2.span([*reached, *(gf2.apply(along.packed(WARP), m) for m in warps)])
    blocks = _masks(along, kept, BLOCK, reached)
    reached = gf2.span([*reached, *(gf2.apply(along.packed(BLOCK), m) for m in blocks)])
    if len(reached) != along.out_bits:
        raise Unsupported(
            f"a reduction along axis {axis} of a tensor laid out as {layout}",
            remedy="convert it to a blocked layout first",
        )
    partials = _partial(along, WARP, warps), _partial(along, BLOCK, blocks)
    return ReductionPlan(groups, lanes, warps, kept, partials[0], 1 << kept.out_bits, blocks, partials[1])


def split(layout: LinearLayout, axis: int) -> tuple[LinearLayout, LinearLayout]:
    """The coordinate along the axis, and all others as a flat row-major position."""
    name = f"dim{axis}"
    others = [d for d in layout.out_dims if d != name]
    along = layout.sublayout(layout.in_dims, [name])
    kept = layout.sublayout(layout.in_dims, others)
    if not others:
        return along, LinearLayout(kept.ins, (("position", 0),), kept.columns)
    return along, kept.transpose_outs(others[::-1]).flatten_outs("position")


def _groups(along: LinearLayout, kept: LinearLayout) -> dict[int, tuple[int, ...]]:
    """Registers by position, one for each coordinate along the axis, in order of it."""
    found: dict[int, dict[int, int]] = {}
    for register, (position, place) in enumerate(
        zip(kept.images(REGISTER), along.images(REGISTER), strict=True)
    ):
        found.setdefault(position, {}).setdefault(place, register)
    return {p: tuple(places[k] for k in sorted(places)) for p, places in found.items()}


def _reached(along: LinearLayout, kept: LinearLayout, dim: str) -> list[int]:
    """Images along the axis of the inputs of ``dim`` that leave the other coordinates alone."""
    return [gf2.apply(along.packed(dim), x) for x in gf2.kernel(kept.packed(dim))]


def _masks(along: LinearLayout, kept: LinearLayout, dim: str, reached: list[int]) -> tuple[int, ...]:
    chosen: list[int] = []
    have = list(reached)
    for candidate in gf2.kernel(kept.packed(dim)):
        image = gf2.apply(along.packed(dim), candidate)
        if gf2.rank([*have, image]) > gf2.rank(have):
            have.append(image)
            chosen.append(candidate)
    return tuple(chosen)


def _partial(along: LinearLayout, dim: str, masks: tuple[int, ...]) -> LinearLayout:
    """A linear map from warps (or blocks: ``dim``) to the index of their partial result: mask i to ``1 << i``.

    Warps that differ by no combination of the masks hold copies, or other positions; both may share an
    index.
    """
    bits = len(along.packed(dim))
    basis = [*masks, *gf2.complement(masks, bits)]
    echelon = gf2.Echelon.of(basis)
    index = (1 << len(masks)) - 1
    columns = tuple((echelon.solve(1 << i) or 0) & index for i in range(bits))
    return LinearLayout(((dim, bits),), (("partial", len(masks)),), columns)
