"""Linear algebra over GF(2) on plain integers.

A vector is a non-negative int, bit ``i`` being its component ``i``; a matrix is the sequence of its
columns.  ``A x`` is the xor of the columns that the set bits of ``x`` select.  Everything here is exact
and quick for the sizes that layouts have (at most some forty columns).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tri_core.lazy_dataclasses import dataclass

__all__ = ["Echelon", "apply", "complement", "intersect", "inverse", "kernel", "rank", "span"]


def apply(columns: Sequence[int], vector: int) -> int:
    """``A x``: the xor of the columns selected by the bits of ``vector``."""
    result = 0
    while vector:
        low = vector & -vector
        result ^= columns[low.bit_length() - 1]
        vector ^= low
    return result


@dataclass(frozen=True)
class Echelon:
    """The columns of a matrix, eliminated: enough to solve ``A x = b`` for any number of ``b``.

    ``rows`` holds pairs (vector, combination): each vector has a leading bit of its own and is the image
    of its combination.  ``pivots`` lists the columns independent of those before them; only these occur
    in combinations, so a solution leaves every other column (the *free* ones) at 0.  ``kernel`` holds
    combinations of all columns whose image is 0.
    """

    rows: tuple[tuple[int, int], ...]
    pivots: tuple[int, ...]
    kernel: tuple[int, ...]

    @classmethod
    def of(cls, columns: Sequence[int]) -> Echelon:
        """Eliminate ``columns`` from first to last."""
        rows: list[tuple[int, int]] = []
        pivots: list[int] = []
        kernel: list[int] = []
        for index, column in enumerate(columns):
            rest, combination = _reduce(rows, column)
            if rest:
                rows.append((rest, combination ^ (1 << index)))
                rows.sort(reverse=True)
                pivots.append(index)
            else:
                kernel.append(combination ^ (1 << index))
        return cls(tuple(rows), tuple(pivots), tuple(kernel))

    def solve(self, vector: int) -> int | None:
        """Some ``x`` with ``A x = vector`` that is 0 in all free columns; None when there is none."""
        rest, combination = _reduce(self.rows, vector)
        return None if rest else combination


def _reduce(rows: Iterable[tuple[int, int]], vector: int) -> tuple[int, int]:
    """Remainder of ``vector`` after elimination by ``rows`` (largest first), and the combination used."""
    combination = 0
    for row, made_of in rows:
        # leading bits differ, so a row applies exactly when it makes the vector smaller
        if vector ^ row < vector:
            vector ^= row
            combination ^= made_of
    return vector, combination


def rank(columns: Iterable[int]) -> int:
    """The dimension of the span of ``columns``."""
    return len(span(columns))


def span(columns: Iterable[int]) -> list[int]:
    """A basis of the span of ``columns``, largest leading bit first."""
    rows: list[int] = []
    for column in columns:
        for row in rows:
            column = min(column, column ^ row)
        if column:
            rows.append(column)
            rows.sort(reverse=True)
    return rows


def kernel(columns: Sequence[int]) -> list[int]:
    """A basis of the ``x`` with ``A x = 0``."""
    return list(Echelon.of(columns).kernel)


def inverse(columns: Sequence[int]) -> list[int] | None:
    """The columns of the inverse of a square matrix; None when it is singular."""
    echelon = Echelon.of(columns)
    solutions = [x for i in range(len(columns)) if (x := echelon.solve(1 << i)) is not None]
    return solutions if len(solutions) == len(columns) else None


def complement(columns: Iterable[int], bits: int, preferred: Iterable[int] = ()) -> list[int]:
    """Vectors that extend ``columns`` to a basis of all ``bits``-bit vectors.

    ``preferred`` candidates are tried first, then the unit vectors from the lowest.
    """
    rows = [(row, 0) for row in span(columns)]
    chosen: list[int] = []
    for candidate in (*preferred, *(1 << i for i in range(bits))):
        rest, _ = _reduce(rows, candidate)
        if rest:
            rows.append((rest, 0))
            rows.sort(reverse=True)
            chosen.append(candidate)
    return chosen


def intersect(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """A basis of the intersection of the spans of ``left`` and ``right``."""
    left, right = span(left), span(right)
    mask = (1 << len(left)) - 1
    # l + r = 0 with l in one span and r in the other: l is in both
    return span(apply(left, x & mask) for x in kernel([*left, *right]))
