"""Ops with a function of elements: reductions, scans, mapped functions.

The function is called on whole arrays: element i of an argument stands for call number i.  Where it branches on
such a value it is called element by element instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tri.interpreter.arrays import Array, Data, Diverged
from tri.interpreter.calls import Call
from tri.language import types as t
from tri.language.tensor import tensor

__all__ = ["REGIONS", "Body"]

#: the region as a function of its arguments, values that stand for scalars
Body = Callable[[Sequence[tensor]], Sequence[tensor]]


def _apply(body: Body, types: Sequence[t.dtype], arguments: Sequence[Data]) -> list[Data]:
    """The function's results, as arrays of the arguments' shape."""
    shape = arguments[0].shape
    try:
        made = body([tensor(Array(a), type_) for a, type_ in zip(arguments, types, strict=True)])
        return [np.broadcast_to(r.handle.data, shape) for r in made]
    except Diverged:
        return _one_by_one(body, types, arguments)


def _one_by_one(body: Body, types: Sequence[t.dtype], arguments: Sequence[Data]) -> list[Data]:
    shape = arguments[0].shape
    columns: list[list[Data]] = []
    for place in np.ndindex(shape):
        made = body([tensor(Array(np.asarray(a[place])), ty) for a, ty in zip(arguments, types, strict=True)])
        columns = columns or [[] for _ in made]
        for column, value in zip(columns, made, strict=True):
            column.append(value.handle.data)
    return [np.stack(column).reshape(shape) for column in columns]


def _reduce(call: Call, types: Sequence[t.dtype], body: Body) -> list[Array]:
    """A balanced tree over neighbours: the order of elements is kept, their grouping is not that of a loop."""
    axis = call.attributes["axis"]
    parts = [np.moveaxis(v.data, axis, 0) for v in call.operands]
    while (count := len(parts[0])) > 1:
        even = count - count % 2
        pairs = [p[0:even:2] for p in parts] + [p[1:even:2] for p in parts]
        merged = _apply(body, types, pairs)
        parts = [np.concatenate([m, p[even:]]) for m, p in zip(merged, parts, strict=True)]
    return [Array(p[0]) for p in parts]


def _scan(call: Call, types: Sequence[t.dtype], body: Body) -> list[Array]:
    """Every element takes in the one before it, then the two before those, then four, ..."""
    axis, backwards = call.attributes["axis"], call.attributes["reverse"]
    parts = [np.moveaxis(v.data, axis, 0) for v in call.operands]
    parts = [p[::-1] if backwards else p for p in parts]
    distance = 1
    while distance < len(parts[0]):
        merged = _apply(body, types, [*(p[:-distance] for p in parts), *(p[distance:] for p in parts)])
        parts = [np.concatenate([p[:distance], m]) for m, p in zip(merged, parts, strict=True)]
        distance *= 2
    return [Array(np.moveaxis(p[::-1] if backwards else p, 0, axis)) for p in parts]


def _map(call: Call, types: Sequence[t.dtype], body: Body) -> list[Array]:
    """A scalar function of ``pack`` neighbouring elements of every source at a time."""
    pack = call.attributes["pack"]
    flat = [v.data.reshape(-1, pack) for v in call.operands]
    made = _apply(body, types, [f[:, i] for f in flat for i in range(pack)])
    shape = call.operands[0].data.shape
    groups = [made[i : i + pack] for i in range(0, len(made), pack)]
    return [Array(np.stack(group, axis=-1).reshape(shape)) for group in groups]


REGIONS: dict[str, Callable[[Call, Sequence[t.dtype], Body], list[Array]]] = {
    "tt.reduce": _reduce,
    "tt.scan": _scan,
    "tt.map_elementwise": _map,
}
