from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tri_runtime.simulator import Clocks

THREADS = 6
groups = st.sets(st.integers(0, THREADS - 1), min_size=1)


@given(st.lists(groups, max_size=12))
def test_an_access_is_ordered_exactly_when_a_chain_of_barriers_leads_from_it(
    barriers: list[set[int]],
) -> None:
    """Accesses of every thread before every barrier, against the sets of who knows of each."""
    clocks = Clocks(THREADS)
    stamps: list[tuple[int, int, set[int]]] = []  # thread, stamp, who knows of it
    for group in barriers:
        stamps += [(t, clocks.now, {t}) for t in range(THREADS)]
        mask = np.isin(np.arange(THREADS), list(group))
        clocks.synchronize(mask)
        for _, _, knowing in stamps:
            if knowing & group:
                knowing |= group
    for writer, stamp, knowing in stamps:
        for reader in set(range(THREADS)) - {writer}:
            found = clocks.ordered(np.array([reader]), np.array([writer]), np.array([stamp]))
            assert bool(found[0]) == (reader in knowing)
