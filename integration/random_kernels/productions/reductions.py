"""Reductions, scans, sorts and counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from integration.random_kernels import semantics
from integration.random_kernels.draft import Draft
from integration.random_kernels.production import Production
from integration.random_kernels.values import BOOL, Array, Value, bits, is_float, summed

__all__ = ["PRODUCTIONS", "sum_of"]

_NARROW = ("int8", "int16", "uint8", "uint16", BOOL)


def _block(d: Draft) -> tuple[Value, int]:
    """A block of integers or a mask, and one of its axes."""
    if d.one_in(5):
        x = d.condition(d.pick(ranks=(1, 2)).shape)
    else:
        x = d.pick(floats=False, ranks=(1, 2), most=512)
    return x, d.integer(0, len(x.shape) - 1)


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]


def sum_of(d: Draft, x: Value, axis: int, name: str = "") -> Value:
    """``tl.sum`` of integers."""
    return d.step("sum", (x,), summed(x.dtype), _without(x.shape, axis), name=name, axis=axis)


def _sum(d: Draft) -> None:
    sum_of(d, *_block(d))


def _sum_of(x: Array, axis: int) -> Array:
    x = semantics.cast(x, summed(semantics.name_of(x)))
    return np.asarray(np.sum(x, axis=axis, dtype=x.dtype))


def _xor_sum(d: Draft) -> None:
    x, axis = _block(d)
    d.step("bit_sum", (x,), x.dtype, _without(x.shape, axis), kind=d.text("xor_sum", "reduce_or"), axis=axis)


def _xor_sum_of(x: Array, kind: str, axis: int) -> Array:
    return np.asarray((np.bitwise_xor if kind == "xor_sum" else np.bitwise_or).reduce(x, axis=axis))


def _kept(d: Draft) -> None:
    x, axis = _block(d)
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    d.step("kept_sum", (x,), summed(x.dtype), shape, axis=axis)


def _extremes(d: Draft) -> None:
    x = d.pick(ranks=(1, 2), most=512)
    axis = d.integer(0, len(x.shape) - 1)
    wide = x.dtype
    if bits(x.dtype) < 32:
        wide = "float32" if is_float(x.dtype) else "int32"
    kind = d.text("max", "min")
    d.step(
        "float_extremes" if is_float(x.dtype) else "extremes",
        (x,),
        wide,
        _without(x.shape, axis),
        kind=kind,
        axis=axis,
    )


def _extremes_of(x: Array, kind: str, axis: int) -> Array:
    if x.dtype.itemsize < 4:
        x = semantics.cast(x, "float32" if is_float(semantics.name_of(x)) else "int32")
    x = np.where(x == x, x, x.dtype.type(0))
    return np.asarray(np.max(x, axis=axis) if kind == "max" else np.min(x, axis=axis))


def _index_of(d: Draft) -> None:
    x, axis = _block(d)
    shape = _without(x.shape, axis)
    if d.one_in(2):
        d.step("index_of", (x,), "int32", shape, kind=d.text("argmax", "argmin"), axis=axis)
        return
    found = (Value(d.fresh(), x.dtype, shape), Value(d.fresh(), "int32", shape))
    d.steps("extreme_and_index", (x,), found, kind=d.text("max", "min"), axis=axis)


def _index_of_of(x: Array, kind: str, axis: int) -> Array:
    return np.asarray((np.argmax if kind.endswith("max") else np.argmin)(x, axis=axis)).astype(np.int32)


def _extreme_and_index_of(x: Array, kind: str, axis: int) -> tuple[Array, Array]:
    value = np.asarray(np.max(x, axis=axis) if kind == "max" else np.min(x, axis=axis))
    return value, _index_of_of(x, kind, axis)


_COMBINE: dict[str, np.ufunc] = {
    "larger": np.maximum, "smaller": np.minimum, "times": np.multiply, "plus": np.add, "odd": np.bitwise_xor,
    "united": np.bitwise_or,
}  # fmt: skip


def _own_reduction(d: Draft) -> None:
    x = d.pick(floats=False, ranks=(1, 2), most=256)
    axis = d.integer(0, len(x.shape) - 1)
    d.step(f"reduce_{d.choose(_COMBINE)}", (x,), x.dtype, _without(x.shape, axis), axis=axis)


def _own_scan(d: Draft) -> None:
    x = d.pick(floats=False, ranks=(1, 2), most=256)
    axis = d.integer(0, len(x.shape) - 1)
    d.step(f"scan_{d.choose(_COMBINE)}", (x,), x.dtype, x.shape, axis=axis, reverse=d.one_in(2))


def _accumulated(x: Array, axis: int, reverse: bool, combine: np.ufunc) -> Array:
    if reverse:
        return np.flip(_accumulated(np.flip(x, axis), axis, False, combine), axis)
    return np.asarray(combine.accumulate(x, axis=axis, dtype=x.dtype))


def _reduction_with(combine: np.ufunc) -> Callable[..., Array]:
    return lambda x, axis: np.asarray(combine.reduce(x, axis=axis, dtype=x.dtype))


def _scan_with(combine: np.ufunc) -> Callable[..., Array]:
    return lambda x, axis, reverse: _accumulated(x, axis, reverse, combine)


def _chain(d: Draft) -> None:
    x = d.pick(dtypes=("int32", "uint32", "int64", "uint8"), ranks=(1,), most=64)
    results = (Value(d.fresh(), x.dtype, x.shape), Value(d.fresh(), x.dtype, x.shape))
    d.steps("chain", (x, d.like(x)), results, reverse=d.one_in(3))


def _chain_of(x: Array, y: Array, reverse: bool) -> tuple[Array, Array]:
    if reverse:
        first, second = _chain_of(x[::-1], y[::-1], False)
        return first[::-1], second[::-1]
    first, second = x.copy(), y.copy()
    for i in range(1, x.size):
        first[i], second[i] = first[i - 1] * x[i], second[i - 1] * x[i] + y[i]
    return first, second


def _running(d: Draft) -> None:
    if d.one_in(8):
        x = d.load(d.choose(((32,), (64,))))
        x = d.cast(x, d.text("float32", "float64")) if is_float(x.dtype) else x
        kind = "cumsum"
    else:
        x, kind = _block(d)[0], d.text("cumsum", "cumprod")
        x = d.cast(x, d.choose(_NARROW)) if d.one_in(3) else x
    axis = d.integer(0, len(x.shape) - 1)
    d.step("running", (x,), summed(x.dtype), x.shape, kind=kind, axis=axis, reverse=d.one_in(3))


def _running_of(x: Array, kind: str, axis: int, reverse: bool) -> Array:
    x = semantics.cast(x, summed(semantics.name_of(x)))
    return _accumulated(x, axis, reverse, np.add if kind == "cumsum" else np.multiply)


def _sort(d: Draft) -> None:
    x = d.pick(floats=False, ranks=(1, 2), most=64) if not d.one_in(5) else d.load((32,))
    most = x.shape[-1]
    if most < 2:
        return
    if d.one_in(3):
        k = d.choose([n for n in (2, 4, 8, 1) if n < most])
        d.step("topk", (x,), _of_topk(x, k), (*x.shape[:-1], k), k=k, descending=not d.one_in(2))
    else:
        d.step("sort", (x,), x.dtype, x.shape, descending=d.one_in(2))


def _of_topk(x: Value, k: int) -> str:
    """The best one is found by ``tl.max``, and those of blocks of 2k are, on the way: which widen."""
    if is_float(x.dtype):
        return "float32" if bits(x.dtype) < 32 else x.dtype
    del k
    return "int32" if bits(x.dtype) < 32 else x.dtype


def _sort_of(x: Array, descending: bool) -> Array:
    made = np.sort(x, axis=-1)
    return np.flip(made, -1) if descending else made


def _topk_of(x: Array, k: int, descending: bool) -> Array:
    made = _sort_of(x, descending)[..., :k]
    if x.dtype.itemsize < 4:
        made = semantics.cast(made, "float32" if is_float(semantics.name_of(x)) else "int32")
    return made


def _histogram(d: Draft) -> None:
    x = d.cast(d.pick(floats=False, ranks=(1,)), d.text("int32", "uint8", "int64", "uint32"))
    bins = d.choose((16, 256))
    d.step("histogram", (x,), "int32", (bins,), bins=bins, most=bins - 1)


def _histogram_of(x: Array, bins: int, most: int) -> Array:
    return np.bincount((x & x.dtype.type(most)).astype(np.int64), minlength=bins).astype(np.int32)


_OWN_REDUCTIONS = tuple(
    Production(
        f"reduce_{name}",
        f"tl.reduce({{0}}, {{axis}}, {name})",
        _reduction_with(combine),
        _own_reduction if name == "larger" else None,
        weight=2,
        helpers=(name,),
    )
    for name, combine in _COMBINE.items()
)
_OWN_SCANS = tuple(
    Production(
        f"scan_{name}",
        f"tl.associative_scan({{0}}, {{axis}}, {name}, reverse={{reverse}})",
        _scan_with(combine),
        _own_scan if name == "larger" else None,
        weight=2,
        helpers=(name,),
    )
    for name, combine in _COMBINE.items()
)

PRODUCTIONS = (
    Production("sum", "tl.sum({0}, {axis})", _sum_of, _sum, weight=2),
    Production(
        "kept_sum",
        "tl.sum({0}, {axis}, keep_dims=True)",
        lambda x, axis: np.expand_dims(_sum_of(x, axis), axis),
        _kept,
    ),
    Production("bit_sum", "tl.{kind}({0}, axis={axis})", _xor_sum_of, _xor_sum),
    Production("extremes", "tl.{kind}({0}, axis={axis})", _extremes_of, _extremes, weight=2),
    Production("float_extremes", "tl.{kind}(tl.where({0} == {0}, {0}, 0.0), axis={axis})", _extremes_of),
    Production("index_of", "tl.{kind}({0}, axis={axis})", _index_of_of, _index_of, weight=2),
    Production(
        "extreme_and_index",
        "{r0}, {r1} = tl.{kind}({0}, axis={axis}, return_indices=True)",
        _extreme_and_index_of,
    ),
    Production("running", "tl.{kind}({0}, axis={axis}, reverse={reverse})", _running_of, _running, weight=4),
    Production(
        "chain",
        "{r0}, {r1} = tl.associative_scan(({0}, {1}), 0, chain, reverse={reverse})",
        _chain_of,
        _chain,
        helpers=("chain",),
    ),
    Production("sort", "tl.sort({0}, descending={descending})", _sort_of, _sort),
    Production("topk", "tl.topk({0}, {k}, descending={descending})", _topk_of),
    Production("histogram", "tl.histogram({0} & {most}, {bins})", _histogram_of, _histogram),
    *_OWN_REDUCTIONS,
    *_OWN_SCANS,
)
