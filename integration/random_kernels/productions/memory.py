"""Loads and stores through pointers, atomics."""

from __future__ import annotations

from typing import Any

import numpy as np

from integration.random_kernels.draft import Draft
from integration.random_kernels.model import Memory
from integration.random_kernels.production import Production
from integration.random_kernels.program import Parameters, Step
from integration.random_kernels.values import Array, Shape

__all__ = ["PRODUCTIONS"]

#: an offset beyond 32 bits, added and taken away again
_FAR = 2**33


def _axes(shape: Shape) -> list[str]:
    """Each axis's positions, as text; an axis of one element has none, unless no other makes the block."""
    if len(shape) < 2:
        return [f"tl.arange(0, {n})" for n in shape]
    rows, columns = f"tl.arange(0, {shape[0]})[:, None]", f"tl.arange(0, {shape[1]})[None, :]"
    return [rows if shape[0] > 1 or shape[1] == 1 else "", columns if shape[1] > 1 else ""]


def _place(shape: Shape, strides: Shape, first: int) -> str:
    terms = [
        f"{axis} * {stride}" if stride != 1 else axis
        for axis, stride in zip(_axes(shape), strides, strict=True)
        if axis
    ]
    return " + ".join([*terms, *([str(first)] if first or not terms else [])])


def _load_text(step: Step, parameters: Parameters) -> str:
    a: dict[str, Any] = dict(step.attributes)
    pointer, place = parameters.inputs[a["source"]], _place(a["shape"], a["strides"], a["first"])
    if a["moved"]:
        place = f"{place} + {{0}} * {a['moved']}"
    kind, limit, other = a["mask"]
    condition = f"({place}) < {limit}"
    if kind in ("rows", "columns"):
        condition = f"{_axes(a['shape'])[0 if kind == 'rows' else 1]} < {limit}"
    masked = f", mask={condition}, other={other}" if kind else ""
    if a["wide"] in ("offsets", "both"):
        place = (
            f"(({place}).to(tl.int64) + {_FAR})"
            if a["shape"]
            else f"(tl.full((), {place}, tl.int64) + {_FAR})"
        )
        place = place if a["wide"] == "both" else f"({place} - {_FAR})"
    if a["wide"] in ("pointer", "both"):
        pointer = f"{pointer} - {_FAR}" if a["wide"] == "both" else f"({pointer} + {_FAR}) - {_FAR}"
    return f"tl.load({pointer} + {place}{masked})"


def _positions(shape: Shape, strides: Shape, first: int) -> Array:
    place = np.full(shape, first, np.int64)
    for axis, stride in enumerate(strides):
        view = [1] * len(shape)
        view[axis] = shape[axis]
        place = place + np.arange(shape[axis]).reshape(view) * stride
    return place


def _load_of(memory: Memory, *index: Array, **a: Any) -> Array:
    place = _positions(a["shape"], a["strides"], a["first"]) + (
        int(index[0]) * a["moved"] if a["moved"] else 0
    )
    source = memory.inputs[a["source"]]
    kind, limit, other = a["mask"]
    if not kind:
        return np.asarray(source[place])
    axis = {"rows": 0, "columns": 1}.get(kind)
    taken = place < limit
    if axis is not None:
        view = [1, 1]
        view[axis] = a["shape"][axis]
        taken = np.arange(a["shape"][axis]).reshape(view) < limit
    return np.where(taken, source[np.where(taken, place, 0)], np.asarray(other).astype(source.dtype))


def _store(d: Draft) -> None:
    d.store(d.pick() if not d.one_in(6) else d.condition(d.pick().shape))


def _stored_place(shape: Shape, columns: bool) -> tuple[int, ...]:
    if len(shape) < 2:
        return (1,) * len(shape)
    return (1, shape[0]) if columns else (shape[1], 1)


def _store_text(step: Step, parameters: Parameters) -> str:
    a: dict[str, Any] = dict(step.attributes)
    pointer, place = (
        parameters.outputs[a["output"]],
        _place(a["shape"], _stored_place(a["shape"], a["columns"]), 0),
    )
    masked = f", mask=({place}) < {a['limit']}" if a["limit"] >= 0 else ""
    return f"tl.store({pointer} + {place}, {{0}}{masked})" if a["shape"] else f"tl.store({pointer}, {{0}})"


def _store_of(memory: Memory, x: Array, output: int, shape: Shape, columns: bool, limit: int) -> None:
    place = _positions(shape, _stored_place(shape, columns), 0)
    taken = place < limit if limit >= 0 else np.ones(shape, bool)
    memory.outputs[output][place[taken]] = x[taken]


def _atomic(d: Draft) -> None:
    x = d.cast(d.pick(floats=False, ranks=(1,)), d.text("int32", "uint32", "int64", "uint64"))
    output = d.output(x.dtype, x.numel)
    kind = d.text("add", "max", "min", "and", "or", "xor", "xchg")
    if kind == "xchg" or d.one_in(2):
        d.step("atomic", (x,), x.dtype, x.shape, output=output, kind=kind, count=x.numel)
    else:
        d.steps(
            "atomic_together", (x,), (), output=output, kind=kind, count=x.numel, most=d.choose((3, 7, 0))
        )


def _atomic_text(step: Step, parameters: Parameters) -> str:
    a = dict(step.attributes)
    place = f"tl.arange(0, {a['count']})" + (f" & {a['most']}" if "most" in a else "")
    return f"tl.atomic_{{kind}}({parameters.outputs[a['output']]} + ({place}), {{0}})"


_ATOMICS = {
    "add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip


def _atomic_of(memory: Memory, x: Array, output: int, kind: str, count: int) -> Array:
    held = memory.outputs[output]
    old = held[:count].copy()
    held[:count] = x if kind == "xchg" else _ATOMICS[kind](old, x)
    return old


def _atomic_together_of(memory: Memory, x: Array, output: int, kind: str, count: int, most: int) -> None:
    _ATOMICS[kind].at(memory.outputs[output], np.arange(count) & most, x)


PRODUCTIONS = (
    Production("load", _load_text, _load_of, memory=True),
    Production("store", _store_text, _store_of, _store, weight=3, memory=True),
    Production("atomic", _atomic_text, _atomic_of, _atomic, memory=True),
    Production("atomic_together", _atomic_text, _atomic_together_of, memory=True),
)
