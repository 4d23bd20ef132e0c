"""Stages of pipelined loops: as many iterations as can be are under way on a compute unit, and stages are given up for that alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core.target import ComputeUnit
from tri_gpu_dialect.analysis.liveness import Buffer
from tri_gpu_dialect.transforms.memory.placement import Need
from tri_gpu_dialect.transforms.pipeline.rings import Ring, Rings, Room, choose

KIB = 1024
NOBODY: Any = None
#: a unit of 228 KiB and 64 Ki registers, 227 KiB of which a CTA may have
UNIT = ComputeUnit(partitions=4, warps=16, registers=512, shared=228 * KIB, blocks=32, shared_reserved=KIB)


def room(
    *beside: int,
    warps: int = 4,
    registers: int = 48,
    unit: ComputeUnit | None = UNIT,
    is_alone: bool = False,
) -> Room:
    """Around a loop with buffers of ``beside`` bytes that live all through it."""
    needs = tuple(Need(Buffer(NOBODY, 0, 100), size, 16) for size in beside)
    return Room(needs, (10, 20), 0, 227 * KIB, unit, warps, registers, is_alone)


def in_place(*sizes: int) -> tuple[Ring, ...]:
    return tuple(Ring(size * KIB, in_place=True) for size in sizes)


def at_once(*sizes: int) -> tuple[Ring, ...]:
    return tuple(Ring(size * KIB, at_once=True) for size in sizes)


#: rings, stages asked for, whether dots may stay under way, what is beside, registers -> (stages, late, tight)
TABLE = {
    "128x64x64 of bytes, 4 stages: the fifth costs a CTA of four, for an eighth more under way": (
        in_place(8, 4), 4, True, room(registers=80), (3, True, False)
    ),
    "128x64x64 of f16, 4 stages: the fifth would cost a CTA of two": (
        in_place(16, 8), 4, True, room(registers=112), (3, True, False)
    ),
    "the same in a kernel that goes through tiles": (
        in_place(16, 8), 4, True, room(registers=112, is_alone=True), (4, True, False)
    ),
    "64x64x64 of f16, 4 stages: as many iterations in more CTAs": (
        in_place(8, 8), 4, True, room(registers=80), (3, True, False)
    ),
    "128x256x64 of f16: one CTA whatever it gets": (
        in_place(16, 32), 3, True, room(warps=8, registers=144), (3, True, False)
    ),
    "128x256x64 of f16, 4 stages: no room for the fifth": (
        in_place(16, 32), 4, True, room(warps=8, registers=144), (3, True, False)
    ),
    "registers end it before shared memory does": (
        in_place(8, 8), 3, True, room(registers=250), (3, True, False)
    ),
    "states of linear attention: what goes through registers has a buffer less": (
        (*at_once(8, 16, 16),), 3, False, room(8 * KIB, 8 * KIB), (3, False, True)
    ),
    "the same where that gains no CTA": (
        (*at_once(8), *in_place(8)), 3, False, room(8 * KIB), (3, False, False)
    ),
    "attention of 128 x 64, width 128": (in_place(16, 16), 3, False, room(32 * KIB, warps=8), (3, False, False)),
    "two stages of three fit": (in_place(64), 3, False, room(60 * KIB), (2, False, False)),
    "none fits": (in_place(64), 3, False, room(160 * KIB), None),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLE)
def test_stages_by_shape(case: str) -> None:
    rings, stages, is_late, around, wanted = TABLE[case]
    found = choose(Rings(rings, stages, is_late), around)
    assert (None if found is None else (found.stages, found.is_late, found.is_tight)) == wanted


#: as above, where copies may be issued behind dots -> (stages, deferred)
DEFERRED = {
    "128x128x64 of f16, 3 stages": (in_place(16, 16), 3, room(warps=8, registers=112), (3, True)),
    "the same with room for one CTA": (in_place(16, 16), 3, room(warps=8, registers=144), (3, False)),
    "the same in a kernel that goes through tiles": (
        in_place(16, 16), 3, room(warps=8, registers=112, is_alone=True), (3, False)
    ),
    "128x256x64, 4 stages, of which the fifth has no room": (in_place(16, 32), 4, room(warps=8, registers=144), (3, False)),
    "64x128x64, 3 stages: two CTAs that are further ahead": (in_place(8, 16), 3, room(registers=112), (3, False)),
    "two stages": (in_place(16, 16), 2, room(warps=8, registers=112), (2, False)),
}  # fmt: skip


@pytest.mark.parametrize("case", DEFERRED)
def test_copies_behind_dots_by_shape(case: str) -> None:
    rings, stages, around, wanted = DEFERRED[case]
    found = choose(Rings(rings, stages, is_late=True, is_deferred=True), around)
    assert found is not None
    assert (found.stages, found.is_deferred) == wanted
    assert found.is_late


RINGS = st.builds(
    Ring, st.sampled_from([2 << n for n in range(9, 17)]), in_place=st.booleans(), at_once=st.booleans()
).filter(lambda ring: not (ring.in_place and ring.at_once))
ROOMS = st.builds(
    room,
    st.integers(0, 160 * KIB),
    warps=st.sampled_from([1, 2, 4, 8, 16]),
    registers=st.integers(16, 255),
    unit=st.sampled_from([None, UNIT]),
    is_alone=st.booleans(),
)


@given(st.lists(RINGS, min_size=1, max_size=4), st.integers(2, 6), st.booleans(), st.booleans(), ROOMS)
def test_what_is_asked_for_is_kept_unless_it_does_not_fit(
    rings: list[Ring], stages: int, is_late: bool, is_deferred: bool, around: Room
) -> None:
    """One stage may be given up for CTAs more where there was one to spare, and none for nothing."""
    plain = Rings(tuple(rings), stages)
    found = choose(replace(plain, is_late=is_late, is_deferred=is_deferred), around)
    if not around.fits(plain):
        assert found is None or around.fits(found)
        return
    assert found is not None
    assert around.fits(found)
    assert found.buffers >= stages
    assert found.stages <= stages
    fewer = Rings(tuple(rings), max(stages - is_late, 2), is_late)
    if around.fits(fewer):
        assert around.under_way(found) >= around.under_way(fewer) / 1.25
        assert around.under_way(found) >= around.under_way(fewer) or around.ctas(found) > around.ctas(fewer)
    if around.is_alone and around.fits(replace(plain, is_late=is_late)):
        assert found.stages == stages
    if found.is_tight and around.fits(roomy := replace(found, is_tight=False)):
        assert around.ctas(found) > around.ctas(roomy)
    if is_late and stages > 2:
        assert found.is_late
    assert not found.is_deferred or (is_deferred and is_late)


@given(
    st.lists(RINGS, min_size=1, max_size=4),
    st.integers(2, 6),
    st.sampled_from(
        [
            (False, False, False),
            (True, False, False),
            (False, True, False),
            (True, True, False),
            (True, False, True),
        ]
    ),
)
def test_a_ring_holds_the_copies_under_way_and_what_is_read(
    rings: list[Ring], stages: int, form: tuple[bool, bool, bool]
) -> None:
    made = Rings(tuple(rings), stages, *form)
    is_late, is_tight, is_deferred = form
    for number, ring in enumerate(rings):
        under_way, is_read = stages - 1, not (ring.at_once and (is_tight or is_deferred))
        stays = ring.in_place and is_late and not is_deferred
        assert made.depth(number) == under_way + is_read + stays
    assert sum(made.bytes) == sum(ring.bytes * made.depth(i) for i, ring in enumerate(rings))


def test_what_lives_before_or_behind_the_loop_may_share_its_bytes() -> None:
    """As the rings of another loop do."""
    before = Need(Buffer(NOBODY, 0, 5), 128 * KIB, 16)
    rings = Rings(in_place(32), 4)
    assert Room((before,), (10, 20), 0, 227 * KIB).bytes(rings) == 128 * KIB
    assert choose(rings, Room((before,), (10, 20), 0, 227 * KIB)) == rings
    assert Room((before,), (10, 20), 0, 227 * KIB).free == 227 * KIB
