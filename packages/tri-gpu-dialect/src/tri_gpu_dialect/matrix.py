"""Matrix instructions as data: what a backend's table says, and which row suits a dot.

A backend hands the rows to :class:`tri_gpu_dialect.policy.DefaultPolicy`; the pass ``accelerate-matmul`` asks
:func:`choose`.  How an instruction is emitted is the matter of ``Primitives.matrix_multiply``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tri_core.mlir import ir
from tri_gpu_dialect.encodings import DotOperand
from tri_gpu_dialect.encodings.matrix import MatrixEncoding
from tri_gpu_dialect.types import tensor_info

__all__ = ["MatrixInstruction", "choose", "split_warps"]

Shape = tuple[int, ...]

#: element types whose values another type holds exactly, by MLIR's names: operands may be widened so
_WIDER = {"f8E4M3FN": "f16", "f8E5M2": "f16"}


@dataclass(frozen=True)
class MatrixInstruction:
    """One row: MLIR element types of operands and accumulator, the shape ``(m, n, k)``, the layouts.

    ``encoding`` is the accumulator's for a single warp; ``k_width`` how many elements of an operand a lane has
    next to each other along k; ``precisions`` the values of ``tt.dot``'s ``inputPrecision`` that the instruction
    satisfies (empty: all).
    """

    a: str
    b: str
    accumulator: str
    shape: tuple[int, int, int]
    k_width: int
    encoding: MatrixEncoding
    precisions: tuple[int, ...] = ()

    def result(self, warps: Shape) -> MatrixEncoding:
        """The encoding of a result over ``warps`` (one number per dimension)."""
        made: MatrixEncoding = replace(self.encoding, warps_per_cta=warps)  # type: ignore[type-var]  # a dataclass by contract
        return made

    def operand(self, index: int, result: MatrixEncoding) -> DotOperand:
        """The encoding of operand 0 or 1."""
        return DotOperand(index, result, self.k_width)


def choose(table: Sequence[MatrixInstruction], dot: ir.Operation) -> MatrixInstruction | None:
    """The first row that computes ``tt.dot`` as it is, else the first that does with operands widened exactly.

    None where no row fits.  A result of a narrower float than the accumulator is rounded once, at the end.
    """
    left, right, result = (tensor_info(v.type) for v in (*list(dot.operands)[:2], dot.results[0]))
    if left is None or right is None or result is None:
        return None
    precision = ir.IntegerAttr(dot.attributes["inputPrecision"]).value
    (*_, m, n), k = result.shape, left.shape[-1]
    for types in _candidates(str(left.element_type), str(right.element_type)):
        for row in table:
            fits = m >= row.shape[0] and n >= row.shape[1] and k % row.shape[2] == 0
            precise = not row.precisions or precision in row.precisions
            if fits and precise and (row.a, row.b) == types and _gives(row, str(result.element_type)):
                return row
    return None


def _candidates(a: str, b: str) -> Iterator[tuple[str, str]]:
    yield a, b
    wide = _WIDER.get(a, a), _WIDER.get(b, b)
    if wide != (a, b):
        yield wide


def _gives(row: MatrixInstruction, element: str) -> bool:
    return row.accumulator == element or (row.accumulator == "f32" and element in ("f16", "bf16"))


def split_warps(shape: Shape, tile: tuple[int, int], num_warps: int, *, whole_rows: bool) -> Shape:
    """How ``num_warps`` share a result of ``shape`` made of instruction tiles ``m x n``: a count per dimension.

    No warp goes idle if that can be; then warps read as few operand elements as can be, which is the case for
    shares near a square.  With ``whole_rows`` warps split rows only as long as there are some: a result that
    is the operand of another dot, or is reduced along its rows, then stays inside of its warps.
    """
    *batch, m, n = shape

    def cost(split: Shape) -> tuple[int, int, int, int]:
        *outer, rows, columns = split
        idle = max(rows * tile[0] // m, 1) * max(columns * tile[1] // n, 1)
        for count, size in zip(outer, batch, strict=True):
            idle *= max(count // size, 1)
        read = max(m // rows, tile[0]) + max(n // columns, tile[1])
        return idle, columns if whole_rows else 0, -sum(outer), read * 2 - (rows > columns)

    return min(_splits(num_warps, len(shape)), key=cost)


def _splits(count: int, rank: int) -> Iterator[Shape]:
    """The ways to write ``count`` as a product of ``rank`` powers of two."""
    if rank == 1:
        yield (count,)
        return
    first = 1
    while first <= count:
        for rest in _splits(count // first, rank - 1):
            yield (first, *rest)
        first *= 2
