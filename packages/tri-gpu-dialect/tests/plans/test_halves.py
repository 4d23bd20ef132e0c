from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_gpu_dialect.encodings import Blocked, Encoding, transform
from tri_gpu_dialect.layouts import BLOCK, LANE, REGISTER, WARP, layout_for
from tri_gpu_dialect.plans.conversion import normalized
from tri_gpu_dialect.plans.halves import ROW_BYTES, cut


def places(encoding: Encoding, shape: tuple[int, ...]) -> np.ndarray:  # type: ignore[type-arg]
    """The coordinates that each thread has: (warps, lanes, registers, rank)."""
    layout = normalized(layout_for(encoding, shape))
    warp, lane, register = np.ogrid[tuple(slice(layout.in_size(d)) for d in (WARP, LANE, REGISTER))]
    found = layout.apply({WARP: warp, LANE: lane, REGISTER: register, BLOCK: 0})
    return np.stack(np.broadcast_arrays(*found.values()), axis=-1)


def rows(given: np.ndarray) -> list[list[tuple[int, ...]]]:  # type: ignore[type-arg]
    """The coordinates of each thread, sorted."""
    return [sorted(map(tuple, each.tolist())) for each in given.reshape(-1, *given.shape[2:])]


def check(encoding: Encoding, shape: tuple[int, ...], bits: int) -> bool:
    """Whether a tile can be cut; if so, threads have the same elements of the halves as of the whole."""
    how = cut(encoding, shape, bits)
    if how is None:
        return False
    assert [a * (1 + (d == how.axis)) for d, a in enumerate(how.shape)] == list(shape)
    part = places(how.encoding, how.shape)
    shift = np.eye(len(shape), dtype=int)[how.axis] * how.shape[how.axis]
    assert rows(np.concatenate([part, part + shift], axis=2)) == rows(places(encoding, shape))
    return True


SIZES = st.sampled_from([1, 2, 4, 8])


@settings(deadline=None, max_examples=60)
@given(
    SIZES,
    SIZES,
    st.sampled_from([1, 4, 8, 32]),
    st.sampled_from([(1, 0), (0, 1)]),
    st.sampled_from([8, 16, 32]),
)
def test_threads_keep_what_they_have(
    down: int, columns: int, lanes: int, order: tuple[int, ...], bits: int
) -> None:
    check(Blocked((down, columns), (32 // lanes, lanes), (2, 2), order), (64, 128), bits)


@pytest.mark.parametrize(("bits", "axis"), [(8, 0), (16, 1), (32, 1)])
def test_rows_stay_as_wide_as_a_swizzle(bits: int, axis: int) -> None:
    encoding = Blocked((1, 4), (8, 4), (4, 1), (1, 0))
    how = cut(encoding, (64, 128), bits)
    assert how is not None
    assert how.axis == axis
    assert check(encoding, (64, 128), bits)
    assert how.shape[1] * bits >= 8 * ROW_BYTES


def test_what_lanes_and_warps_share_is_not_cut() -> None:
    assert cut(Blocked((1, 4), (1, 32), (4, 1), (1, 0)), (4, 128), 32) is None
    assert cut(Blocked((1, 4), (4, 8), (4, 1), (1, 0)), (16, 32), 32) is None


def test_pieces_are_cut_again() -> None:
    encoding: Encoding = Blocked((1, 4), (8, 4), (4, 1), (1, 0))
    shape, found = (128, 128), []
    while (how := cut(encoding, shape, 32)) is not None:
        assert check(encoding, shape, 32)
        encoding, shape = how.encoding, how.shape
        found.append(shape)
    assert found == [(128, 64), (128, 32), (64, 32), (32, 32)]
    assert transform.joined(encoding, shape) is not None
