"""Tensor descriptors, from the host and from the kernel, and block pointers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tri.tools.tensor_descriptor import TensorDescriptor
from tri_conformance.dtypes import FLOATS, FP8, INTEGERS, Array, integers, is_float
from tri_conformance.features import Feature, Point, Trial
from tri_conformance.kernels import descriptors as k
from tri_conformance.tables.memory import anything, full

__all__ = ["FEATURES"]

SHAPES = ((16, 32), (32, 64))
_ADDED = ("int32", "uint32", "uint64", "fp32", "fp16", "bf16")
_TYPES = ("int8", "int32", "fp16", "bf16", "fp32")


def _matrix(point: Point) -> tuple[int, int]:
    """Rows and columns of a matrix of not quite two tiles by two; rows start at multiples of 16 bytes."""
    m, n = point.shape
    return 2 * m - 3, 2 * n - 16


def _tiles(point: Point) -> dict[str, int]:
    return dict(zip("MN", point.shape, strict=True))


def _passed(point: Point) -> Trial:
    rows, columns = _matrix(point)
    x = anything(point, rows * columns).reshape(rows, columns)
    out = full(rows * columns, point.numpy).reshape(rows, columns)
    block = list(point.shape)
    arguments = [TensorDescriptor.from_tensor(out, block), TensorDescriptor.from_tensor(x, block)]
    return Trial(arguments=arguments, exact={0: x}, grid=(2, 2))


def _by_functions(point: Point) -> Trial:
    (m, n), (rows, columns) = point.shape, _matrix(point)
    x = anything(point, rows * columns)
    exact = full(rows * columns, point.numpy).reshape(rows, columns)
    exact[: 2 * m - 3, : 2 * n - 5] = x.reshape(rows, columns)[: 2 * m - 3, : 2 * n - 5]
    arguments = [full(rows * columns, point.numpy), x, rows, columns]
    return Trial(arguments=arguments, exact={0: exact.ravel()}, constants=_tiles(point), grid=(2, 2))


def _tiled(point: Point) -> Trial:
    rows, columns = _matrix(point)
    x = anything(point, rows * columns)
    outs = tuple(full(rows * columns, point.numpy) for _ in range(3))
    return Trial(
        arguments=[outs, x, rows, columns],
        exact={0: (x,) * 3},
        names={0: ("methods", "functions", "block pointers")},
        constants=_tiles(point),
        grid=(2, 2),
    )


def _padded(nan: bool) -> Callable[[Point], Trial]:
    def make(point: Point) -> Trial:
        m, n = point.shape
        rows, columns = m - 6, n - 16
        x = anything(point, rows * columns)
        exact = np.full((m, n), np.nan if nan else 0).astype(point.numpy)
        exact[2 : 2 + rows, 3 : 3 + columns] = x.reshape(rows, columns)
        arguments = [full(m * n, point.numpy), x, rows, columns]
        return Trial(arguments=arguments, exact={0: exact.ravel()}, constants={"NAN": nan, **_tiles(point)})

    return make


def _cube(point: Point) -> Trial:
    a, b, c = sizes = (5, 6, 16)
    x = anything(point, a * b * c)
    padded = np.zeros(tuple(s + 32 for s in sizes), point.numpy)
    padded[1 : 1 + a, 1 : 1 + b, 1 : 1 + c] = x.reshape(sizes)
    exact = padded[tuple(slice(s + 1, s + 1 + n) for s, n in zip((1, -1, 2), point.shape, strict=True))]
    return Trial(
        arguments=[full(point.count, point.numpy), x, *sizes],
        exact={0: np.ascontiguousarray(exact).ravel()},
        constants=dict(zip("ABC", point.shape, strict=True)),
    )


def _line(point: Point) -> Trial:
    n = 2 * point.count - 5
    x = anything(point, n)
    return Trial(
        arguments=[full(n, point.numpy), x, n], exact={0: x}, constants={"B": point.count}, grid=(2,)
    )


def _rows(point: Point) -> tuple[Array, Array, dict[str, int]]:
    """A matrix, numbers of rows of which some are outside, and the kernel's constants."""
    count, n = point.shape
    matrix = anything(point, (count + 3) * 2 * n).reshape(count + 3, 2 * n)
    index = point.rng.permutation(count + 6)[:count].astype(np.int32)
    return matrix, index, {"COLUMN": n // 2, "R": count, "N": n}


def _gathered(point: Point) -> Trial:
    matrix, index, constants = _rows(point)
    exact = np.zeros(point.shape, point.numpy)
    there, start = index < len(matrix), constants["COLUMN"]
    exact[there] = matrix[index[there], start : start + point.shape[1]]
    return Trial(
        arguments=[full(point.count, point.numpy), matrix.ravel(), index, *matrix.shape],
        exact={0: exact.ravel()},
        constants=constants,
    )


def _scattered(point: Point) -> Trial:
    matrix, index, constants = _rows(point)
    x = anything(point, point.count).reshape(point.shape)
    exact, there, start = matrix.copy(), index < len(matrix), constants["COLUMN"]
    exact[index[there], start : start + point.shape[1]] = x[there]
    return Trial(
        arguments=[matrix.ravel(), x.ravel(), index, *matrix.shape],
        exact={0: exact.ravel()},
        constants=constants,
    )


_UPDATES: dict[str, Callable[..., Any]] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


def _whole(point: Point, count: int, high: int | None) -> Array:
    """Whole numbers of 0 to ``high``, or of all sizes."""
    if high is None:
        return integers(point.rng, point.dtype, count)
    return point.rng.integers(0, high + 1, count).astype(point.numpy)


def _updated(kind: str) -> Callable[[Point], Trial]:
    def make(point: Point) -> Trial:
        rows, columns = _matrix(point)
        whole = is_float(point.dtype) or kind == "add"
        high = 8 if whole else None
        out, x = (_whole(point, rows * columns, high) for _ in range(2))
        return Trial(
            arguments=[out, x, rows, columns],
            exact={0: _UPDATES[kind](out, x)},
            constants={"KIND": kind, **_tiles(point)},
            grid=(2, 2),
        )

    return make


def _walked(point: Point) -> Trial:
    (m, n), steps = point.shape, 3
    rows, columns = m - 2, steps * n - 7
    x = point.rng.integers(-9, 9, (columns, rows)).astype(point.numpy)
    tiles = np.zeros((m, steps * n), point.numpy)
    tiles[:rows, :columns] = x.T
    exact = tiles.reshape(m, steps, n).sum(1).astype(point.numpy)
    return Trial(
        arguments=[full(m * n, point.numpy), x.ravel(), rows, columns],
        exact={0: exact.ravel()},
        constants={"STEPS": steps, **_tiles(point)},
    )


def _partly(point: Point) -> Trial:
    m, n = point.shape
    x = anything(point, 2 * m * n).reshape(2 * m, n)
    exact = np.full((m, n), np.nan).astype(point.numpy)
    exact[:5] = x[-5:]
    return Trial(
        arguments=[full(m * n, point.numpy), x.ravel(), 2 * m, n],
        exact={0: exact.ravel()},
        constants=_tiles(point),
    )


def _features() -> Iterator[Feature]:
    def row(
        name: str, kernel: Any, make: Any, dtypes: tuple[str, ...] = _TYPES, shapes: Any = SHAPES
    ) -> Feature:
        return Feature(name=name, kernel=kernel, make=make, dtypes=dtypes, shapes=shapes)

    yield row("descriptor-of-host", k.passed, _passed)
    yield row("descriptor-functions", k.functions, _by_functions)
    yield row("descriptor-padding-zero", k.padded, _padded(False), ("int8", "fp16", "fp32"))
    yield row("descriptor-padding-nan", k.padded, _padded(True), ("fp16", "bf16", "fp32"))
    yield row("descriptor-3d", k.cube, _cube, ("int32", "fp16"), ((2, 4, 16), (4, 8, 8)))
    yield row("descriptor-1d", k.line, _line, ("int8", "fp32"), ((128,),))
    narrow = ((8, 16), (32, 32))
    yield row("descriptor-gather", k.gathered, _gathered, ("fp16", "fp32", "int32"), narrow)
    yield row("descriptor-scatter", k.scattered, _scattered, ("fp16", "fp32", "int32"), narrow)
    yield row("tiles-of-each-type", k.tiles, _tiled, (*INTEGERS, *FLOATS, *FP8), ((16, 32),))
    others = ("int8", "uint8", "int16", "uint16", "uint32", "bf16")
    yield row("descriptor-gather-of-each-type", k.gathered, _gathered, others, ((16, 32),))
    yield row("descriptor-scatter-of-each-type", k.scattered, _scattered, others, ((16, 32),))
    for kind in _UPDATES:
        dtypes = _ADDED if kind == "add" else ("int32", "uint32", "int64", "uint64")
        yield row(f"descriptor-atomic_{kind}", k.updated, _updated(kind), dtypes, SHAPES[:1])
    yield row("block-pointer-advance", k.walked, _walked, ("int32", "fp16", "fp32"))
    yield row("block-pointer-one-check", k.partly_checked, _partly, ("fp16", "fp32"))


FEATURES = tuple(_features())
