from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tri_gpu_dialect.layouts import gf2

matrices = st.lists(st.integers(0, 255), max_size=10)


def brute_span(columns: list[int]) -> set[int]:
    return {gf2.apply(columns, x) for x in range(1 << len(columns))}


@given(matrices)
def test_apply_is_matrix_times_vector_modulo_2(columns: list[int]) -> None:
    matrix = np.array([[(c >> i) & 1 for c in columns] for i in range(8)]).reshape(8, len(columns))
    for x in (0, 1, (1 << len(columns)) - 1):
        bits = np.array([(x >> i) & 1 for i in range(len(columns))], int)
        x &= (1 << len(columns)) - 1
        expected = matrix @ bits % 2
        assert [(gf2.apply(columns, x) >> i) & 1 for i in range(8)] == list(expected)


@given(matrices)
def test_span_and_rank_agree_with_enumeration(columns: list[int]) -> None:
    assert len(brute_span(columns)) == 1 << gf2.rank(columns)
    assert brute_span(gf2.span(columns)) == brute_span(columns)


@given(matrices)
def test_kernel_is_all_that_maps_to_zero(columns: list[int]) -> None:
    zeros = {x for x in range(1 << len(columns)) if gf2.apply(columns, x) == 0}
    assert brute_span(gf2.kernel(columns)) == zeros


@given(matrices, st.integers(0, 255))
def test_solve_finds_a_solution_exactly_when_there_is_one(columns: list[int], wanted: int) -> None:
    echelon = gf2.Echelon.of(columns)
    solution = echelon.solve(wanted)
    if solution is None:
        assert wanted not in brute_span(columns)
    else:
        assert gf2.apply(columns, solution) == wanted
        assert solution & ~sum(1 << p for p in echelon.pivots) == 0


@given(st.lists(st.integers(0, 63), min_size=6, max_size=6))
def test_inverse_undoes(columns: list[int]) -> None:
    inverse = gf2.inverse(columns)
    assert (inverse is None) == (gf2.rank(columns) < 6)
    if inverse is not None:
        assert all(gf2.apply(inverse, gf2.apply(columns, x)) == x for x in range(64))


@given(matrices, st.lists(st.integers(0, 255), max_size=3))
def test_complement_completes_a_basis(columns: list[int], preferred: list[int]) -> None:
    added = gf2.complement(columns, 8, preferred)
    assert len(added) == 8 - gf2.rank(columns)
    assert gf2.rank([*columns, *added]) == 8


@given(matrices, matrices)
def test_intersect_is_the_intersection(left: list[int], right: list[int]) -> None:
    assert brute_span(gf2.intersect(left, right)) == brute_span(left) & brute_span(right)
