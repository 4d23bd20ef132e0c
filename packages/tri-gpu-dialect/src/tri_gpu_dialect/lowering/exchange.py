"""Emits the plans of layout conversions."""

from __future__ import annotations

from collections.abc import Callable

from tri_core.mlir import ir
from tri_gpu_dialect.layouts import LANE, REGISTER, WARP, Banks, LinearLayout
from tri_gpu_dialect.lowering.context import Lowering, Registers, SharedTensor
from tri_gpu_dialect.lowering.indices import apply
from tri_gpu_dialect.lowering.views import load_from_peers, load_vectors, store_vectors
from tri_gpu_dialect.lowering.words import bit_width, from_words, memory_type, to_words
from tri_gpu_dialect.plans import Exchange, ThroughShared, in_words, plan_conversion

__all__ = ["banks", "convert"]

Columns = tuple[int, ...]

#: bits of a register, which is what a shuffle moves
_WORD = 32


def convert(
    ctx: Lowering, values: Registers, have: LinearLayout, want: LinearLayout, scratch: Callable[[], ir.Value]
) -> Registers:
    """Registers in layout ``have`` as layout ``want``; ``scratch()`` points at memory, when it is needed."""
    if have == want:
        return values
    plan = plan_conversion(have, want, bit_width(values[0].type), banks(ctx), ctx.conversion_bytes)
    if isinstance(plan, Exchange):
        return _in_words(ctx, values, have, want) or _exchange(ctx, values, plan)
    return _through_shared(ctx, values, plan, scratch(), want.in_size(REGISTER))


def banks(ctx: Lowering) -> Banks:
    """The banks of the target's shared memory."""
    return Banks.of(ctx.target)


# --- within warps -----------------------------------------------------------------------------------------


def _in_words(ctx: Lowering, values: Registers, have: LinearLayout, want: LinearLayout) -> Registers | None:
    """Values of 8 or 16 bits that stay neighbours are selected, and travel, as one word; None where they do not, or none moves."""
    type_ = values[0].type
    per = _WORD // bit_width(type_)
    found = in_words(have, want, per) if per in (2, 4) else None
    if found is None:
        return None
    plan = plan_conversion(*found, _WORD, banks(ctx))
    if not isinstance(plan, Exchange) or plan.only_renames:
        return None
    words = _exchange(ctx, to_words(ctx.b, values), plan)
    return from_words(ctx.b, words, type_, len(words) * per)


def _exchange(ctx: Lowering, values: Registers, plan: Exchange) -> Registers:
    sent = _permuted(ctx, values, plan.send_lane, plan.send_warp)
    chosen = [sent[register] for register, _ in plan.rounds]
    if plan.shuffles:
        chosen = _shuffled(ctx, chosen, plan)
    received = _permuted(ctx, chosen, plan.receive_lane, ())
    return [received[t] for t in plan.expand]


def _permuted(ctx: Lowering, values: Registers, lane: Columns, warp: Columns) -> Registers:
    """``result[x] = values[x ^ M(lane, warp)]`` for the linear map of these columns."""
    used = 0
    for column in (*lane, *warp):
        used |= column
    if not used:
        return values
    b = ctx.b
    shift = _linear(ctx, lane, warp)
    for bit in range(used.bit_length()):
        if used >> bit & 1:
            flip = b.cmp("ne", b.and_(shift, b.int_(1 << bit)), b.int_(0))
            values = [b.select(flip, values[x ^ 1 << bit], v) for x, v in enumerate(values)]
    return values


def _linear(ctx: Lowering, lane: Columns, warp: Columns) -> ir.Value:
    """A linear map of the lane and the warp, as i32."""
    bits = max((c.bit_length() for c in (*lane, *warp)), default=0)
    ins = ((LANE, len(lane)), (WARP, len(warp)))
    layout = LinearLayout(ins, (("value", bits),), (*lane, *warp))
    return apply(ctx.b, layout, {LANE: ctx.lane, WARP: ctx.warp})[0]


def _shuffled(ctx: Lowering, values: Registers, plan: Exchange) -> Registers:
    """One value per round from its lane; values narrower than a word travel together."""
    type_ = values[0].type
    per = {1: 4, 8: 4, 16: 2}.get(bit_width(type_), 1)
    groups: dict[int, list[int]] = {}
    for t, (_, constant) in enumerate(plan.rounds):
        groups.setdefault(constant, []).append(t)
    result: dict[int, ir.Value] = {}
    for constant, rounds in groups.items():
        fetch = _fetcher(ctx, plan, constant)
        unique = list({id(values[t]): values[t] for t in rounds}.values())
        moved: dict[int, ir.Value] = {}
        for first in range(0, len(unique), per):
            part = unique[first : first + per]
            words = [fetch(word) for word in to_words(ctx.b, part)]
            moved |= zip(map(id, part), from_words(ctx.b, words, type_, len(part)), strict=True)
        result |= {t: moved[id(values[t])] for t in rounds}
    return [result[t] for t in range(len(values))]


def _fetcher(ctx: Lowering, plan: Exchange, constant: int) -> Callable[[ir.Value], ir.Value]:
    """Fetches a word from the lane that the plan says."""
    if plan.lane_of_lane == tuple(1 << i for i in range(len(plan.lane_of_lane))) and not any(
        plan.lane_of_warp
    ):
        if constant == 0:
            return lambda word: word
        return lambda word: ctx.hw.shuffle_xor(ctx.b, word, constant)
    lane = ctx.b.xor(_linear(ctx, plan.lane_of_lane, plan.lane_of_warp), ctx.b.int_(constant))
    return lambda word: ctx.hw.shuffle_idx(ctx.b, word, lane)


# --- through shared memory --------------------------------------------------------------------------------


def _through_shared(
    ctx: Lowering, values: Registers, plan: ThroughShared, base: ir.Value, count: int
) -> Registers:
    type_ = values[0].type
    view = SharedTensor(base, plan.shared, (0,), memory_type(ctx.b, type_), type_)
    crosses = plan.crosses_blocks
    barrier = ctx.cluster_barrier if crosses else ctx.barrier
    result: dict[int, ir.Value] = {}
    for i, piece in enumerate(plan.pieces):
        if i:
            barrier()
        store_vectors(ctx, [values[r] for r in piece.source], plan.source, view)
        barrier()
        loaded = (
            load_from_peers(ctx, plan.destination, view, plan.reads)
            if crosses
            else load_vectors(ctx, plan.destination, view)
        )
        result |= zip(piece.destination, loaded, strict=True)
    if crosses:
        barrier()  # other blocks have read what is here
    return [result[r] for r in range(count)]
