"""Reductions, scans, order, shapes and conversions over every element type that they take, with the types of results.

Sums, running sums and products of integers below 32 bits are of 32 bits and of their signedness (booleans are unsigned);
extremes of numbers below 32 bits are int32 or fp32, unless their places are asked for too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import tri.language as tl
from tri_conformance.contracts import Exact
from tri_conformance.dtypes import FLOATS, FP8, INTEGERS, NUMPY, UNSIGNED, Array, is_float
from tri_conformance.features import Feature, Point, Trial
from tri_conformance.kernels import each_type as k
from tri_conformance.tables.promotion import mixture, outputs

__all__ = ["FEATURES"]

_NUMBERS = (*INTEGERS, *FLOATS)
_WITH_BOOL = ("int1", *_NUMBERS)
#: result of a row: its name, its exact elements
Result = tuple[str, Array]


def _summed(dtype: str) -> np.dtype[Any]:
    """The type of sums."""
    if is_float(dtype) or NUMPY[dtype].itemsize >= 4:
        return NUMPY[dtype]
    return np.dtype(np.uint32 if dtype in (*UNSIGNED, "int1") else np.int32)


def _extreme(dtype: str) -> np.dtype[Any]:
    """The type of extremes."""
    if NUMPY[dtype].itemsize >= 4:
        return NUMPY[dtype]
    return np.dtype(np.float32 if is_float(dtype) else np.int32)


def _wide(dtype: str) -> tuple[Any, np.dtype[Any]]:
    """A type to ask for: the language's, NumPy's."""
    if is_float(dtype):
        return (tl.float64, np.dtype(np.float64)) if dtype == "fp64" else (tl.float32, np.dtype(np.float32))
    return tl.int64, np.dtype(np.int64)


def _trial(results: Sequence[Result], inputs: Sequence[Any], **constants: Any) -> Trial:
    exact = tuple(np.ascontiguousarray(made).ravel() for _, made in results)
    arguments = [outputs(exact), *inputs]
    return Trial(
        arguments=arguments, exact={0: exact}, names={0: [n for n, _ in results]}, constants=constants
    )


# --- reductions and scans ---------------------------------------------------------------------------------


def _addends(point: Point) -> Array:
    """Integers of every size; floats whose sums are exact."""
    if is_float(point.dtype):
        return point.rng.integers(-3, 4, point.shape).astype(point.numpy)
    return mixture(point.rng, point.dtype, point.count).reshape(point.shape)


def _repeating(point: Point) -> Array:
    """Few different numbers in a row, the ends of the type among them."""
    few = mixture(point.rng, point.dtype, 6)
    if is_float(point.dtype):
        few[:2] = [np.inf, -np.inf]
    return point.rng.choice(few, point.shape)


def _sum(x: Array, kind: np.dtype[Any], axis: int | None = 1) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(
            np.add.reduce(x.astype(np.float64 if kind.kind not in "iu" else kind), axis)
        ).astype(kind)


def _reductions(point: Point) -> Trial:
    x, y = _addends(point), _repeating(point)
    (asked, wide), extreme = _wide(point.dtype), _extreme(point.dtype)
    top, least = y.max(1), y.min(1)
    at, where = (f(y, 1).astype(np.int32) for f in (np.argmax, np.argmin))
    everywhere = np.full(point.shape[0], y.max()).astype(extreme)
    results: list[Result] = [
        ("sum", _sum(x, _summed(point.dtype))), ("sum with dtype", _sum(x, wide)), ("max", top.astype(extreme)),
        ("min", least.astype(extreme)), ("max with indices", top), ("indices of max", at), ("min with indices", least),
        ("indices of min", where), ("argmax", at), ("argmin", where), ("reduce", top), ("max of all", everywhere),
    ]  # fmt: skip
    integers = not is_float(point.dtype)
    if integers:
        results += [("xor_sum", np.bitwise_xor.reduce(y, 1)), ("reduce_or", np.bitwise_or.reduce(x, 1))]
    m, n = point.shape
    return _trial(results, [x.ravel(), y.ravel()], WIDE=asked, INTEGERS=integers, M=m, N=n)


def _running(function: Any, x: Array, kind: np.dtype[Any], reverse: bool = False) -> Array:
    """Along rows, in ``kind``, modulo its width."""
    wide = x.astype(kind if kind.kind in "iu" else np.float64)
    reversed_ = wide[:, ::-1] if reverse else wide
    made = function.accumulate(reversed_, 1, dtype=wide.dtype)
    return np.asarray(made[:, ::-1] if reverse else made).astype(kind)


def _scans(point: Point) -> Trial:
    x = _addends(point)
    y = (
        point.rng.choice([1, -1, 2, 0.5], point.shape).astype(point.numpy)
        if is_float(point.dtype)
        else _factors(point)
    )
    own, (asked, wide) = _summed(point.dtype), _wide(point.dtype)
    results = [
        ("cumsum", _running(np.add, x, own)), ("cumsum reversed", _running(np.add, x, own, True)),
        ("cumsum with dtype", _running(np.add, x, wide)), ("cumprod", _running(np.multiply, y, own)),
        ("cumprod reversed", _running(np.multiply, y, own, True)), ("cumprod with dtype", _running(np.multiply, y, wide)),
        ("associative_scan", np.maximum.accumulate(x, 1)),
        ("associative_scan reversed along columns", np.maximum.accumulate(x[::-1], 0)[::-1]),
    ]  # fmt: skip
    m, n = point.shape
    return _trial(results, [x.ravel(), y.ravel()], WIDE=asked, M=m, N=n)


def _factors(point: Point) -> Array:
    """Odd integers of every size: no product of them is 0."""
    return (mixture(point.rng, point.dtype, point.count) | point.numpy.type(1)).reshape(point.shape)


# --- order ------------------------------------------------------------------------------------------------


def _orders(point: Point) -> Trial:
    m, n = point.shape
    x = _repeating(point)
    x[:, : n // 2] = mixture(point.rng, point.dtype, m * n // 2).reshape(m, -1)
    bitonic = np.sort(x, 1)
    bitonic[:, n // 2 :] = bitonic[:, n // 2 :][:, ::-1]
    up, extreme = np.sort(x, 1), _extreme(point.dtype)
    down = up[:, ::-1]
    results = [
        ("sort", up), ("sort descending", down), ("topk of all", down), ("topk", down[:, :4].astype(extreme)),
        ("topk of the smallest", up[:, :4].astype(extreme)), ("topk of one", down[:, :1].astype(extreme)),
        ("bitonic_merge", up), ("bitonic_merge descending", down),
    ]  # fmt: skip
    return _trial(results, [x.ravel(), bitonic.ravel()], M=m, N=n)


# --- shapes -----------------------------------------------------------------------------------------------


def _elements(point: Point) -> Array:
    """Any numbers of the type but NaN."""
    if point.dtype in FP8:
        return point.rng.integers(0, 0x70, point.shape).astype(np.uint8).view(point.numpy)
    return mixture(point.rng, point.dtype, point.count).reshape(point.shape)


def _shapes(point: Point) -> Trial:
    m, n = point.shape
    x, y = _elements(point), _elements(point)
    index = point.rng.integers(0, n, point.shape).astype(np.int32)
    one, zero = np.ones_like(x), np.zeros_like(x)
    both = np.stack([x, y], -1)
    masked = np.where(np.arange(m * n).reshape(m, n) > 3, x, one)
    results = [
        ("permute", x.T), ("trans", x.T), ("reshape", x), ("view", x), ("ravel", x.T), ("flip of rows", x[::-1]),
        ("flip", x[:, ::-1]), ("expand_dims", x), ("broadcast_to", np.broadcast_to(x[0], (m, n))),
        ("broadcast", np.full_like(x, x[0, 1])), ("join", both), ("interleave", both),
        ("cat of split", np.concatenate([x[:, ::2], x[:, 1::2]], 1)), ("gather", np.take_along_axis(x, index, 1)),
        ("gather of rows", np.take_along_axis(x, index % m, 0)), ("where", np.where(index > 3, x, y)), ("zeros_like", zero),
        ("zeros", zero), ("full", one), ("load with other", masked), ("load with hints", x), ("volatile load", x),
        ("store with hints", x),
    ]  # fmt: skip
    return _trial(results, [x.ravel(), y.ravel(), index.ravel()], M=m, N=n)


# --- conversions ------------------------------------------------------------------------------------------


def _targets(source: str, among: Sequence[str]) -> list[str]:
    """fp64 only of itself and of fp32, so that targets without it have the others."""
    return [name for name in among if name != source and (name != "fp64" or source == "fp64")]


def _convertible(point: Point, target: str) -> Array:
    """Numbers of every size; between floats and integers those that both hold, with fractions."""
    if is_float(point.dtype) and not is_float(target) and target != "int1":
        low = 0 if target in UNSIGNED else -120
        return point.rng.uniform(low, 120, point.count).astype(point.numpy)
    return mixture(point.rng, point.dtype, point.count)


def _converted(x: Array, target: str) -> Array:
    if target == "int1":
        return np.asarray(x != 0)
    with np.errstate(over="ignore"):
        made = x.astype(np.float64) if x.dtype.kind not in "iub" else x
        return (made if is_float(target) else np.trunc(made) if made.dtype.kind == "f" else made).astype(
            NUMPY[target]
        )


def _conversions(point: Point) -> Trial:
    targets = _targets(point.dtype, _WITH_BOOL)
    xs = [_convertible(point, target) for target in targets]
    results = [(f"{point.dtype} to {t}", _converted(x, t)) for t, x in zip(targets, xs, strict=True)]
    return _trial(results, [tuple(xs)], BITS=False, N=point.count)


def _bitcasts(point: Point) -> Trial:
    size = point.numpy.itemsize
    targets = [t for t in (*_NUMBERS, *FP8) if NUMPY[t].itemsize == size and t != point.dtype]
    x = point.rng.integers(0, 256, point.count * size).astype(np.uint8).view(point.numpy)
    results = [(f"{point.dtype} as {t}", x.view(NUMPY[t])) for t in targets]
    return _trial(results, [tuple(x.copy() for _ in targets)], BITS=True, N=point.count)


# --- the table --------------------------------------------------------------------------------------------


def _features() -> Iterator[Feature]:
    def row(
        name: str, kernel: Any, make: Callable[[Point], Trial], dtypes: tuple[str, ...], shape: tuple[int, ...],
        also: tuple[str, ...] = (),
    ) -> Feature:  # fmt: skip
        return Feature(
            name=name, kernel=kernel, make=make, dtypes=dtypes, shapes=(shape,), contract=Exact(), also=also
        )

    yield row("reductions-of-each-type", k.reductions, _reductions, _WITH_BOOL, (4, 16), ("fp32",))
    yield row("scans-of-each-type", k.scans, _scans, _WITH_BOOL, (4, 16), ("fp32",))
    yield row("order-of-each-type", k.orders, _orders, _NUMBERS, (2, 8), ("fp32",))
    yield row("shapes-of-each-type", k.shapes, _shapes, (*_WITH_BOOL, *FP8), (4, 8))
    yield row(
        "conversions-of-each-type", k.conversions, _conversions, _WITH_BOOL, (32,), ("fp16", "bf16", "fp32")
    )
    for size, dtypes in _by_size().items():
        yield row(f"bits-as-each-type-of-{size}", k.conversions, _bitcasts, dtypes, (64,), dtypes)


def _by_size() -> dict[int, tuple[str, ...]]:
    found: dict[int, list[str]] = {}
    for name in (*_NUMBERS, *FP8):
        found.setdefault(8 * NUMPY[name].itemsize, []).append(name)
    return {size: tuple(names) for size, names in found.items()}


FEATURES = tuple(_features())
