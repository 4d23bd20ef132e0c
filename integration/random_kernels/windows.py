"""Statements with tensor descriptors and block pointers: windows that reach over the edges of an array."""

from __future__ import annotations

from collections.abc import Callable

from integration.random_kernels.program import INPUT, LARGEST_INPUT, Program, Stored
from integration.random_kernels.values import Shape

__all__ = ["BLOCKS", "STATEMENTS"]

#: blocks whose rows have 16 bytes or more in every type, as descriptors ask
_BLOCKS: tuple[Shape, ...] = ((4, 32), (8, 16), (16, 16), (16, 32))


def _source(p: Program) -> tuple[str, str, Shape, int]:
    """A matrix in an input: its pointer, type, shape, and the stride of its rows."""
    source = p.integer(0, len(p.inputs) - 1)
    stride = 16 * p.integer(2, 6)
    shape = (p.integer(1, 20), p.integer(1, stride))
    first = 16 * p.integer(0, (INPUT - 20 * stride) // 16)
    return f"x{source} + {first}", p.inputs[source], shape, stride


def _place(p: Program, shape: Shape, least: int) -> tuple[int, int]:
    """Where a window begins: at negative places too, unless ``least`` is 0."""
    return p.integer(least, shape[0]), p.integer(least, shape[1])


def described(p: Program) -> None:
    """A window loaded through a descriptor; outside is zero."""
    pointer, dtype, shape, stride = _source(p)
    block = p.draw_shape(_BLOCKS)
    row, column = _place(p, shape, -5)
    made = p.fresh()
    p.emit(f"{made} = tl.make_tensor_descriptor({pointer}, {shape}, ({stride}, 1), {block})")
    p.let(f"{made}.load([{row}, {column}])", dtype, block, LARGEST_INPUT)


def block_pointer(p: Program) -> None:
    """A window loaded through a block pointer, moved before; outside is zero."""
    pointer, dtype, shape, stride = _source(p)
    block = p.draw_shape(_BLOCKS)
    row, column = _place(p, shape, -5)
    steps = (p.integer(0, 3), p.integer(0, 3))
    made = p.fresh()
    p.emit(
        f"{made} = tl.make_block_ptr({pointer}, {shape}, ({stride}, 1), ({row}, {column}), {block}, order=(1, 0))"
    )
    if any(steps):
        p.emit(f"{made} = tl.advance({made}, {steps})")
    p.let(f"tl.load({made}, boundary_check=(0, 1), padding_option='zero')", dtype, block, LARGEST_INPUT)


def store_window(p: Program) -> None:
    """A value stored through a descriptor or block pointer; what lies outside is not written."""
    value = p.cast(p.load(p.draw_shape(_BLOCKS)), p.text("int8", "int32", "float32", "float16", "int64"))
    rows, columns = value.shape
    stored = Stored(f"out{len(p.outputs)}", value.dtype, value.numel, 0.0)
    p.outputs.append(stored)
    shape = (p.integer(1, rows), p.integer(1, columns))
    row, column = p.integer(-3, 3), p.integer(-3, 3)
    strides = f"({columns}, 1)"
    if p.integer(0, 1):
        made = f"tl.make_tensor_descriptor({stored.name}, {shape}, {strides}, {value.shape})"
        p.emit(f"{made}.store([{row}, {column}], {value.name})")
        return
    made = f"tl.make_block_ptr({stored.name}, {shape}, {strides}, ({row}, {column}), {value.shape}, (1, 0))"
    p.emit(f"tl.store({made}, {value.name}, boundary_check=(0, 1))")


def reduce_window(p: Program) -> None:
    """Integers added or united through a descriptor, to an output that is not read otherwise."""
    value = p.cast(p.load(p.draw_shape(_BLOCKS)), "int32")
    rows, columns = value.shape
    stored = Stored(f"out{len(p.outputs)}", "int32", value.numel, 0.0)
    p.outputs.append(stored)
    made = f"tl.make_tensor_descriptor({stored.name}, ({rows}, {columns}), ({columns}, 1), {value.shape})"
    kind = p.text("add", "max", "min", "and", "or", "xor")
    p.emit(f"{made}.atomic_{kind}([{p.integer(-2, 2)}, {p.integer(-2, 2)}], {value.name})")


#: what may stand anywhere
STATEMENTS: tuple[Callable[[Program], None], ...] = (described, block_pointer)
#: what stands at the outermost level
BLOCKS: tuple[Callable[[Program], None], ...] = (store_window, reduce_window)
