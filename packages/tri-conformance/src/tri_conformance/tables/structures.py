"""Tuples, aggregates, compile-time functions, loops with hints, functions mapped over elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tri_conformance.dtypes import Array
from tri_conformance.features import Feature, Point, Trial
from tri_conformance.kernels import structures as k

__all__ = ["FEATURES"]


def _numbers(point: Point, *shape: int) -> Array:
    return point.rng.integers(-9, 10, shape or (point.count,)).astype(point.numpy)


def _aggregates(point: Point) -> Trial:
    x, y = _numbers(point), _numbers(point)
    exact = (4 * y - (4 * x - 1)) * 3
    return Trial(arguments=[np.full_like(x, 77), x, y], exact={0: exact}, constants={"B": point.count})


def _tuples(point: Point) -> Trial:
    x, y = _numbers(point), _numbers(point)
    n, m = point.count - 3, point.count - 7
    first, second = np.where(np.arange(point.count) < n, x, 0), np.where(np.arange(point.count) < m, y, 0)
    exact = (second + 2 * first) * 5 - 4
    arguments = [np.full_like(x, 77), (k.View(x, n), k.View(y, m)), (5, -4)]
    return Trial(arguments=arguments, exact={0: exact}, constants={"B": point.count})


def _constants(point: Point) -> Trial:
    x = _numbers(point)
    exact = np.polyval([27, 9, 3, 1], x.astype(np.int64))
    return Trial(arguments=[np.full_like(x, 77), x], exact={0: exact}, constants={"B": point.count})


def _mapped(point: Point) -> Trial:
    x, y = _numbers(point), point.rng.integers(-50, 50, point.count).astype(point.numpy)
    halved = y.copy()
    while (halved > 3).any():
        halved = np.where(halved > 3, halved // 2, halved).astype(point.numpy)
    exact = np.where(x > 0, np.where(y > x, 2 * x, x + y), halved)
    arguments = [np.full_like(x, 77), np.zeros(point.count, np.bool_), x, y]
    constants = {"SHAPE": point.shape, "N": point.count}
    return Trial(arguments=arguments, exact={0: exact, 1: x > y}, constants=constants)


def _packs(point: Point) -> Trial:
    x = _numbers(point)
    return Trial(arguments=[np.full_like(x, 77), x], exact={0: x + 1}, constants={"N": point.count})


def _loops(point: Point) -> Trial:
    n, block = 7, point.count
    x = _numbers(point, n, block)
    total = sum((x[i] for i in range(0, n, 3)), np.zeros(block, np.int32))
    total = sum((i * x[i] for i in range(n - 1, -1, -2)), total)
    for i in range(n):
        total = total ^ i
    return Trial(
        arguments=[np.full(block, 77, np.int32), x.ravel(), n], exact={0: total + 8}, constants={"B": block}
    )


def _hints(point: Point) -> Trial:
    x = _numbers(point)
    arguments = [np.full_like(x, 77), x, point.count]
    return Trial(
        arguments=arguments, exact={0: x + np.arange(point.count) // 16}, constants={"B": point.count}
    )


def _features() -> Iterator[Feature]:
    def row(
        name: str, kernel: Any, make: Any, dtypes: tuple[str, ...] = ("int32",), shapes: Any = ((64,), (256,))
    ) -> Feature:
        return Feature(name=name, kernel=kernel, make=make, dtypes=dtypes, shapes=shapes)

    yield row("aggregate", k.aggregates, _aggregates, ("int32", "fp32", "fp64"))
    yield row("tuple", k.tuples, _tuples)
    yield row("constexpr-function", k.constants, _constants, ("int32", "int64", "fp64"))
    blocks = ((256,), (8, 16), (2, 4, 8))
    yield row("map_elementwise", k.mapped, _mapped, ("int32", "int64"), blocks)
    yield row("map_elementwise-pack", k.mapped_packs, _packs, ("int32", "fp32"), ((1024,),))
    yield row("loop-hints", k.loops, _loops)
    yield row("hints", k.hints, _hints, ("int32", "fp32"))


FEATURES = tuple(_features())
