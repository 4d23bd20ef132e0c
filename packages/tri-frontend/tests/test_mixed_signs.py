"""Operators of integers of different widths and signs, against Python's integers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_core.errors import CompilationError

NAMES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
#: widths that differ both ways and are equal, signs both ways: what is compiled
COMPILED = (
    ("int32", "uint32"), ("uint32", "int32"), ("int8", "uint32"), ("uint8", "int64"), ("int64", "uint8"),
    ("int8", "uint8"), ("uint64", "int64"), ("int32", "int32"),
)  # fmt: skip
N = 8
Integers = list[int]


@tri.jit
def operators(x, y, results, truths, scalar, C: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    places = b & 7
    in_place = a
    in_place >>= places
    tl.store(results + i, a >> places)
    tl.store(results + N + i, in_place)
    tl.store(results + 2 * N + i, a.__rshift__(places))
    tl.store(results + 3 * N + i, C >> places)
    tl.store(results + 4 * N + i, a >> C)
    tl.store(results + 5 * N + i, scalar >> places)
    tl.store(results + 6 * N + i, a << places)
    tl.store(results + 7 * N + i, a + b)
    tl.store(results + 8 * N + i, a - b)
    tl.store(results + 9 * N + i, a & b)
    tl.store(results + 10 * N + i, tl.minimum(a, b))
    tl.store(results + 11 * N + i, tl.maximum(a, b))
    tl.store(results + 12 * N + i, tl.clamp(a, b, b))
    tl.static_assert((a >> places).dtype == (a + b).dtype)
    tl.store(truths + i, a < b)
    tl.store(truths + N + i, a >= b)
    tl.store(truths + 2 * N + i, a == b)
    tl.store(truths + 3 * N + i, C < b)  # noqa: SIM300  the reflected comparison


def wrap(value: int, type_: np.dtype[Any]) -> int:
    bits = 8 * type_.itemsize
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if type_.kind == "i" and low >> (bits - 1) else low


def common_type(x: np.dtype[Any], y: np.dtype[Any]) -> np.dtype[Any]:
    """The wider type; of equally wide ones the unsigned."""
    return max(x, y, key=lambda type_: (type_.itemsize, type_.kind == "u"))


def shifted(a: Integers, b: Integers, left: np.dtype[Any], common: np.dtype[Any]) -> Integers:
    """``a >> b`` in ``common``: the sign that ``left`` gives the first operand is repeated."""
    kind = np.dtype(f"{left.kind}{common.itemsize}")
    return [wrap(wrap(v, kind) >> n, common) for v, n in zip(a, b, strict=True)]


def expected(x: Any, y: Any, scalar: int, constant: int) -> tuple[list[Integers], list[list[bool]]]:
    common = common_type(x.dtype, y.dtype)
    a, b = ([wrap(int(v), common) for v in array] for array in (x, y))
    places, size = [int(v) & 7 for v in y], len(x)
    of_scalar = common_type(np.dtype(np.int32), y.dtype)

    def by_pair(f: Callable[[int, int], int]) -> Integers:
        return [wrap(f(v, w), common) for v, w in zip(a, b, strict=True)]

    right = shifted(a, places, x.dtype, common)
    alone = [int(v) for v in x]
    results = [
        right, right, right,
        shifted([constant] * size, places, y.dtype, y.dtype),
        shifted(alone, [constant] * size, x.dtype, x.dtype),
        shifted([scalar] * size, places, np.dtype(np.int32), of_scalar),
        [wrap(v << n, common) for v, n in zip(a, places, strict=True)],
        by_pair(operator.add), by_pair(operator.sub), by_pair(operator.and_), by_pair(min), by_pair(max), b,
    ]  # fmt: skip
    compared = [[f(v, w) for v, w in zip(a, b, strict=True)] for f in (operator.lt, operator.ge, operator.eq)]
    return results, [*compared, [constant < int(v) for v in y]]


def inputs(name: str, seed: int) -> Any:
    """Values of both signs and of all sizes."""
    limits = np.iinfo(np.dtype(name))
    random = np.random.default_rng(seed).integers(limits.min, limits.max, N - 3, name, endpoint=True)
    return np.concatenate([np.array([limits.min, limits.max, 1], name), random])


def check(left: str, right: str) -> None:
    x, y = inputs(left, 1), inputs(right, 2)
    scalar, constant = -1000, 3
    if right in ("uint32", "uint64"):
        scalar = -7
    results = np.zeros((13, N), common_type(x.dtype, y.dtype))
    truths = np.zeros((4, N), bool)
    wanted, holds = expected(x, y, scalar, constant)
    operators[(1,)](x, y, results, truths, scalar, C=constant, N=N)
    for row, (got, want) in enumerate(zip(results, wanted, strict=True)):
        assert [int(v) for v in got] == [wrap(v, results.dtype) for v in want], row
    assert truths.tolist() == holds


@pytest.mark.parametrize(("left", "right"), list(product(NAMES, NAMES)))
def test_in_the_interpreter(left: str, right: str) -> None:
    with tri.interpret():
        check(left, right)


@pytest.mark.usefixtures("cpu")
@pytest.mark.parametrize(("left", "right"), COMPILED)
def test_compiled(left: str, right: str) -> None:
    check(left, right)


@pytest.mark.parametrize("interpreted", [False, True], ids=["compiled", "interpreter"])
@pytest.mark.parametrize("sign", ["//", "%", "/"])
def test_division_of_mixed_signs_is_refused(sign: str, interpreted: bool) -> None:
    @tri.jit
    def kernel(x, y, SIGN: tl.constexpr):
        a, b = tl.load(x), tl.load(y)
        if SIGN == "//":
            tl.store(x, a // b)
        elif SIGN == "%":
            tl.store(x, a % b)
        else:
            tl.store(x, a / b)

    kernel.interpreted = interpreted
    with pytest.raises(
        CompilationError,
        match="Cannot use /, //, or % with int32 and uint32 because they have different signedness",
    ):
        kernel[(1,)](np.ones(1, np.int32), np.ones(1, np.uint32), SIGN=sign)


@pytest.mark.usefixtures("cpu")
@pytest.mark.parametrize("interpreted", [False, True], ids=["cpu", "interpreter"])
def test_unsigned_offsets_are_subtracted_from_pointers(interpreted: bool) -> None:
    @tri.jit
    def kernel(out, offset):
        tl.store(out + 7 - tl.load(offset), 1)

    out, offset = np.zeros(8, np.int32), np.full(1, 3, np.uint32)
    kernel.interpreted = interpreted
    kernel[(1,)](out, offset)
    assert out.tolist() == [0, 0, 0, 0, 1, 0, 0, 0]
