"""Ops that only move elements, make them, or pick them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from tri.interpreter.arrays import Array, Data, read_as, shape_of, wide
from tri.interpreter.calls import Call, Rule

__all__ = ["RULES"]


def _moves(function: Callable[[Call], Callable[[Data], Data]]) -> Rule:
    return lambda call: call.operands[0].shaped(function(call))


def _stack(call: Call, join: Callable[[Sequence[Data]], Data]) -> Array:
    """Several arrays as one, with what is known of each element."""
    values, exact = call.operands, None
    signed = not call.result.scalar.is_int_unsigned()
    if any(v.exact is not None for v in values):
        exact = join([wide(v, signed=signed) for v in values])
    owner: int | Data | None = values[0].owner
    if any(isinstance(v.owner, np.ndarray) or v.owner != owner for v in values):
        owner = join([np.broadcast_to(-1 if v.owner is None else v.owner, v.data.shape) for v in values])
    origin = next((v.origin for v in values if v.origin is not None), None)
    return Array(join([v.data for v in values]), exact, origin, owner)


def _range(call: Call) -> Array:
    return Array(np.arange(call.attributes["start"], call.attributes["end"], dtype=np.int32))


def _split(call: Call) -> list[Array]:
    source = call.operands[0]
    return [source.shaped(lambda a, i=i: np.asarray(a[..., i])) for i in (0, 1)]  # type: ignore[misc]


def _gather(call: Call) -> Array:
    source, indices = call.operands
    axis = call.attributes["axis"]
    size = source.data.shape[axis]
    numbers = read_as(call.types[1], indices.data)
    outside = (numbers < 0) | (numbers >= size)
    if outside.any():
        bad = int(numbers[outside].flat[0])
        raise call.machine.kernel_error(
            f"gather's index {bad} is outside of the dimension of {size}",
            remedy="clamp the indices, or mask the result",
        )
    return source.shaped(lambda a: np.take_along_axis(a, numbers.astype(np.int64), axis))


def _histogram(call: Call) -> Array:
    values = read_as(call.types[0], call.operands[0].data)
    if len(call.operands) > 1:
        values = values[call.operands[1].data]
    (bins,) = shape_of(call.result)
    inside = values[(values >= 0) & (values < bins)]
    return Array(np.bincount(inside.astype(np.int64), minlength=bins).astype(np.int32))


def _reshape(call: Call) -> Callable[[Data], Data]:
    shape = shape_of(call.result)
    return lambda a: np.reshape(a, shape)


def _broadcast(call: Call) -> Callable[[Data], Data]:
    shape = shape_of(call.result)
    return lambda a: np.broadcast_to(a, shape)


RULES: dict[str, Rule] = {
    "tt.make_range": _range,
    "tt.splat": _moves(_broadcast),
    "tt.broadcast": _moves(_broadcast),
    "tt.unsplat": _moves(_reshape),
    "tt.reshape": _moves(_reshape),
    "tt.expand_dims": _moves(lambda call: lambda a: np.expand_dims(a, call.attributes["axis"])),
    "tt.trans": _moves(lambda call: lambda a: np.transpose(a, call.attributes["order"])),
    "tt.join": lambda call: _stack(call, functools.partial(np.stack, axis=-1)),
    "tt.cat": lambda call: _stack(call, np.concatenate),
    "tt.split": _split,
    "tt.gather": _gather,
    "tt.histogram": _histogram,
}
