"""Data that moves: other shapes, orders and places."""

from __future__ import annotations

import numpy as np

from integration.random_kernels.draft import Draft
from integration.random_kernels.production import Production
from integration.random_kernels.program import Parameters, Step
from integration.random_kernels.values import Array, Shape, Value

__all__ = ["PRODUCTIONS", "indices_of"]


def _reshape(d: Draft) -> None:
    x = d.pick(ranks=(1, 2))
    if len(x.shape) == 2 or x.numel < 8:
        shape: Shape = (x.numel,)
    else:
        rows = d.choose((2, 4, 8, 1, x.numel))
        shape = (rows, x.numel // rows)
    d.step("reshape", (x,), x.dtype, shape, shape=shape)


def _reshapeof(x: Array, shape: Shape) -> Array:
    return np.reshape(x, shape)


def _transpose(d: Draft) -> None:
    x = d.pick(ranks=(2,))
    d.step(
        "transpose",
        (x,),
        x.dtype,
        x.shape[::-1],
        form=d.text("tl.trans({0})", "tl.permute({0}, (1, 0))", "{0}.T"),
    )


def _form(step: Step, parameters: Parameters) -> str:
    del parameters
    return str(dict(step.attributes)["form"])


def _permute(d: Draft) -> None:
    x = d.pick(ranks=(1, 2))
    if x.numel < 32:
        return
    shape = d.choose(((2, 4, x.numel // 8), (4, x.numel // 8, 2), (x.numel // 16, 2, 8)))
    order = d.choose(((0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)))
    made = tuple(shape[i] for i in order)
    flat = (made[0] * made[1], made[2])
    d.step("permute", (x,), x.dtype, flat, shape=shape, order=order, flat=flat)


def _permute_of(x: Array, shape: Shape, order: Shape, flat: Shape) -> Array:
    return np.reshape(np.transpose(np.reshape(x, shape), order), flat)


def _spread(d: Draft) -> None:
    x = d.pick(ranks=(1,), most=64)
    axis, count = d.integer(0, 1), d.choose((4, 8, 1))
    shape = (count, x.shape[0]) if axis == 0 else (x.shape[0], count)
    d.step("spread", (x,), x.dtype, shape, axis=axis, shape=shape)


def _spread_of(x: Array, axis: int, shape: Shape) -> Array:
    return np.broadcast_to(np.expand_dims(x, axis), shape)


def _widen(d: Draft) -> None:
    m, n = d.choose(((4, 1), (8, 1), (16, 1), (1, 16), (1, 32), (1, 8)))
    held = [v for v in d.values if len(v.shape) == 2 and 1 in v.shape and v.numel > 1 and v.exact]
    x = d.choose(held) if held and d.one_in(2) else d.load((m, n))
    shape = (x.shape[0], d.choose((8, 16))) if x.shape[1] == 1 else (d.choose((4, 8)), x.shape[1])
    d.step("widen", (x,), x.dtype, shape, shape=shape)


def _widen_of(x: Array, shape: Shape) -> Array:
    return np.broadcast_to(x, shape)


def _exchange(d: Draft) -> None:
    x = d.pick(ranks=(1,))
    if x.numel < 4:
        return
    half = (x.numel // 2,)
    even, odd = Value(d.fresh(), x.dtype, half), Value(d.fresh(), x.dtype, half)
    d.steps("split", (x,), (even, odd), half=x.numel // 2)
    if d.one_in(2):
        d.step("interleave", (odd, even), x.dtype, x.shape)
    else:
        d.step("join", (odd, even), x.dtype, x.shape, count=x.numel)


def _reverse(d: Draft) -> None:
    x = d.pick(ranks=(1, 2), most=64)
    d.step("reverse", (x,), x.dtype, x.shape, axis=d.integer(0, len(x.shape) - 1))


def indices_of(size: int) -> list[str]:
    """Integer types that hold ``size - 1``: a constant beyond a type's range is refused beside a value of that type."""
    return [t for t in ("int32", "int64", "int16", "uint8", "uint64") if size - 1 <= np.iinfo(t).max]


def _gather(d: Draft) -> None:
    x = d.pick(ranks=(1, 2))
    axis = d.integer(0, len(x.shape) - 1)
    index = d.pick(floats=False, ranks=(1,)) if len(x.shape) == 1 else d.load(x.shape)
    index = d.cast(index, d.text(*indices_of(x.shape[axis])))
    d.step("gather", (x, index), x.dtype, index.shape, most=x.shape[axis] - 1, axis=axis)


def _gather_of(x: Array, index: Array, most: int, axis: int) -> Array:
    return np.take_along_axis(x, (index & index.dtype.type(most)).astype(np.int64), axis)


PRODUCTIONS = (
    Production("reshape", "tl.reshape({0}, {shape})", _reshapeof, _reshape, weight=2),
    Production("transpose", _form, lambda x, form: np.transpose(x), _transpose),
    Production(
        "permute", "tl.reshape(tl.permute(tl.reshape({0}, {shape}), {order}), {flat})", _permute_of, _permute
    ),
    Production(
        "spread", "tl.broadcast_to(tl.expand_dims({0}, {axis}), {shape})", _spread_of, _spread, weight=2
    ),
    Production("widen", "tl.broadcast_to({0}, {shape})", _widen_of, _widen, weight=3),
    Production(
        "split",
        "{r0}, {r1} = tl.split(tl.reshape({0}, ({half}, 2)))",
        lambda x, half: (x[::2], x[1::2]),
        _exchange,
    ),
    Production(
        "join", "tl.reshape(tl.join({0}, {1}), ({count},))", lambda x, y, count: np.stack((x, y), -1).ravel()
    ),
    Production("interleave", "tl.interleave({0}, {1})", lambda x, y: np.stack((x, y), -1).ravel()),
    Production("reverse", "tl.flip({0}, {axis})", lambda x, axis: np.flip(x, axis), _reverse),
    Production("gather", "tl.gather({0}, {1} & {most}, {axis})", _gather_of, _gather),
)
