"""Tensor descriptors and block pointers: windows that reach over the edges of an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from integration.random_kernels.draft import Draft
from integration.random_kernels.model import Memory
from integration.random_kernels.production import Production
from integration.random_kernels.program import INPUT, Parameters, Step
from integration.random_kernels.values import Array, Shape

__all__ = ["PRODUCTIONS"]

#: blocks whose rows have 16 bytes or more in every type, as descriptors ask
_BLOCKS: tuple[Shape, ...] = ((4, 32), (8, 16), (16, 16), (16, 32))
_KINDS = ("add", "max", "min", "and", "or", "xor")


def _window(d: Draft) -> None:
    """A window of a matrix in an input, at negative places too; what is outside is zero."""
    source = d.integer(0, len(d.inputs) - 1)
    stride = 16 * d.integer(2, 6)
    shape = (d.integer(1, 20), d.integer(1, stride))
    block = d.choose(_BLOCKS)
    column = 16 * d.integer(-1, shape[1] // 16)
    if d.one_in(10):
        column += d.integer(1, 7)
    attributes: dict[str, Any] = {
        "source": source, "first": 16 * d.integer(0, (INPUT - 20 * stride) // 16), "shape": shape, "stride": stride,
        "place": (d.integer(-5, shape[0]), column), "block": block, "temporary": d.fresh(),
    }  # fmt: skip
    if not d.one_in(3):
        d.step("descriptor_load", (), d.inputs[source], block, **attributes)
    else:
        steps = (d.integer(0, 3), d.integer(0, 3))
        d.step("block_pointer_load", (), d.inputs[source], block, **attributes, steps=steps)


def _descriptor_text(step: Step, parameters: Parameters) -> str:
    pointer = parameters.inputs[dict(step.attributes)["source"]]
    return (
        f"{{temporary}} = tl.make_tensor_descriptor({pointer} + {{first}}, {{shape}}, ({{stride}}, 1), {{block}})\n"
        "{r0} = {temporary}.load([{place[0]}, {place[1]}])"
    )


def _block_pointer_text(step: Step, parameters: Parameters) -> str:
    a = dict(step.attributes)
    moved = "\n{temporary} = tl.advance({temporary}, {steps})" if any(a["steps"]) else ""
    return (
        f"{{temporary}} = tl.make_block_ptr({parameters.inputs[a['source']]} + {{first}}, {{shape}}, ({{stride}}, 1), "
        "{place}, {block}, order=(1, 0))"
        + moved
        + "\n{r0} = tl.load({temporary}, boundary_check=(0, 1), padding_option='zero')"
    )


def _inside(shape: Shape, place: Shape, block: Shape) -> tuple[Array, Array, Array]:
    """Rows, columns, and which elements are inside."""
    rows = place[0] + np.arange(block[0])[:, None]
    columns = place[1] + np.arange(block[1])[None, :]
    return rows, columns, (rows >= 0) & (rows < shape[0]) & (columns >= 0) & (columns < shape[1])


def _window_of(memory: Memory, **a: Any) -> Array:
    steps = a.get("steps", (0, 0))
    place = (a["place"][0] + steps[0], a["place"][1] + steps[1])
    rows, columns, inside = _inside(a["shape"], place, a["block"])
    source = memory.inputs[a["source"]]
    found = source[np.where(inside, a["first"] + rows * a["stride"] + columns, 0)]
    return np.where(inside, found, source.dtype.type(0))


def _store_window(d: Draft) -> None:
    """A value stored through a window; what lies outside is not written."""
    value = d.cast(
        d.load(d.choose(_BLOCKS)), d.text("int8", "int32", "float32", "float16", "int64", "uint16")
    )
    rows, columns = value.shape
    kind = d.text("descriptor_store", "block_pointer_store", "descriptor_atomic")
    if kind == "descriptor_atomic":
        value = d.cast(value, "int32")
    output = d.output(value.dtype, value.numel)
    shape = (d.integer(1, rows), d.integer(1, columns))
    place = (d.integer(-3, 3), 16 * d.integer(-1, 1) + (d.integer(1, 3) if d.one_in(10) else 0))
    d.steps(
        kind, (value,), (),
        output=output, shape=shape, stride=columns, place=place, block=value.shape, kind=d.choose(_KINDS),
    )  # fmt: skip


def _stored_text(step: Step, parameters: Parameters) -> str:
    pointer = parameters.outputs[dict(step.attributes)["output"]]
    if step.production == "block_pointer_store":
        made = f"tl.make_block_ptr({pointer}, {{shape}}, ({{stride}}, 1), {{place}}, {{block}}, (1, 0))"
        return f"tl.store({made}, {{0}}, boundary_check=(0, 1))"
    made = f"tl.make_tensor_descriptor({pointer}, {{shape}}, ({{stride}}, 1), {{block}})"
    act = "store" if step.production == "descriptor_store" else "atomic_{kind}"
    return f"{made}.{act}([{{place[0]}}, {{place[1]}}], {{0}})"


def _stored_of(memory: Memory, x: Array, **a: Any) -> None:
    rows, columns, inside = _inside(a["shape"], a["place"], a["block"])
    memory.outputs[a["output"]][(rows * a["stride"] + columns)[inside]] = x[inside]


_ATOMICS = dict(
    zip(
        _KINDS,
        (np.add, np.maximum, np.minimum, np.bitwise_and, np.bitwise_or, np.bitwise_xor),
        strict=True,
    )
)


def _reduced_of(memory: Memory, x: Array, **a: Any) -> None:
    rows, columns, inside = _inside(a["shape"], a["place"], a["block"])
    _ATOMICS[a["kind"]].at(memory.outputs[a["output"]], (rows * a["stride"] + columns)[inside], x[inside])


#: what may stand anywhere
PRODUCTIONS = (
    Production("descriptor_load", _descriptor_text, _window_of, _window, weight=2, memory=True),
    Production("block_pointer_load", _block_pointer_text, _window_of, memory=True),
)
#: what writes to an output
STORES = (
    Production("descriptor_store", _stored_text, _stored_of, _store_window, memory=True),
    Production("block_pointer_store", _stored_text, _stored_of, memory=True),
    Production("descriptor_atomic", _stored_text, _reduced_of, memory=True),
)
