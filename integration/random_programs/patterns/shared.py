"""Memory that programs share without waiting: tiles of atomics, queues; and what one program writes and reads again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from integration.random_programs.patterns.waits import choose
from integration.random_programs.program import Array, Choice, Memory, Part, Shape

__all__ = ["Atomics", "Queue", "Rows"]

_ORDERS = ("relaxed", "acquire", "release", "acq_rel")
_INTEGERS = ("int32", "int64", "uint32")
#: operations, and which types have them
_OPERATIONS = {
    "add": (*_INTEGERS, "float32", "float16"),
    "max": (*_INTEGERS, "float32"),
    "min": (*_INTEGERS, "float32"),
    "and": _INTEGERS,
    "or": _INTEGERS,
    "xor": _INTEGERS,
}
_NUMPY = {
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


class _Free:
    def needs_all(self, part: Part) -> bool:
        return False

    def by_volatile(self, part: Part) -> bool:
        return False


class Atomics(_Free):
    """A histogram, of any operation that commutes: elements of tiles go to one of ``bins`` places, several to one."""

    name = "atomics"

    def draw(self, choice: Choice, shape: Shape) -> dict[str, Any]:
        op = choose(choice, tuple(_OPERATIONS))
        own = choose(choice, (False, False, True))
        return {
            "op": op,
            "dtype": choose(choice, _OPERATIONS[op]),
            "sem": choose(choice, _ORDERS),
            "scope": choose(choice, ("cta", "gpu", "sys") if own else ("gpu", "sys")),
            "own": own,
            "bins": choose(choice, (1, 3, 16, 1000)),
            "stride": choose(choice, (1, 3, 7)),
            "masked": choose(choice, (False, True)),
        }

    def memories(self, part: Part, shape: Shape, i: int) -> list[Memory]:
        count = part["bins"] * (shape.programs if part["own"] else 1)
        return [Memory(f"a{i}", part["dtype"], count, zeroed=True)]

    def lines(self, part: Part, shape: Shape, i: int) -> list[str]:
        own = f" + pid * {part['bins']}" if part["own"] else ""
        mask = "mask=offs % 3 != 1, " if part["masked"] else ""
        where = f"a{i}{own} + (offs * {part['stride']}) % {part['bins']}"
        value = f"(v.to(tl.int32) & 3).to(tl.{part['dtype']})"
        return [
            f'tl.atomic_{part["op"]}({where}, {value}, {mask}sem="{part["sem"]}", scope="{part["scope"]}")'
        ]

    def expected(self, part: Part, shape: Shape, i: int, v: Array, memory: Mapping[str, Array]) -> Array:
        at = np.arange(shape.block) * part["stride"] % part["bins"]
        kept = np.arange(shape.block) % 3 != 1 if part["masked"] else np.ones(shape.block, np.bool_)
        result = memory[f"a{i}"]
        for program, row in enumerate(v):
            first = program * part["bins"] if part["own"] else 0
            _NUMPY[part["op"]].at(
                result, first + at[kept], (row.astype(np.int64) & 3).astype(result.dtype)[kept]
            )
        return v


class Queue(_Free):
    """A queue of tiles: programs draw numbers until there are no more."""

    name = "queue"

    def draw(self, choice: Choice, shape: Shape) -> dict[str, Any]:
        return {
            "items": choice(0, 3 * shape.programs),
            "sem": choose(choice, _ORDERS),
            "scope": choose(choice, ("gpu", "sys")),
        }

    def memories(self, part: Part, shape: Shape, i: int) -> list[Memory]:
        return [
            Memory(f"a{i}", shape.dtype, max(part["items"], 1) * shape.block),
            Memory(f"s{i}", "int32", 1, zeroed=True),
        ]

    def lines(self, part: Part, shape: Shape, i: int) -> list[str]:
        draw = f'tl.atomic_add(s{i}, 1, sem="{part["sem"]}", scope="{part["scope"]}")'
        block, count = shape.block, shape.programs
        return [
            f"item = {draw}",
            f"while item < {part['items']}:",
            f"    tl.store(a{i} + item * {block} + offs, tl.load(x + item % {count} * {block} + offs) * 2)",
            f"    item = {draw}",
        ]

    def expected(self, part: Part, shape: Shape, i: int, v: Array, memory: Mapping[str, Array]) -> Array:
        inputs = memory["x"].reshape(shape.programs, shape.block)
        for item in range(part["items"]):
            memory[f"a{i}"][item * shape.block :][: shape.block] = inputs[item % shape.programs] * 2
        memory[f"s{i}"][:] = part["items"] + shape.programs
        return v


class Rows(_Free):
    """Factors of a tile's rows that go through memory, and come back in another layout."""

    name = "rows"

    def draw(self, choice: Choice, shape: Shape) -> dict[str, Any]:
        columns = choose(choice, [c for c in (1, 2, 4, 8, 16, 32, 64) if c <= shape.block])
        return {
            "columns": columns,
            "axis": choice(0, 1),
            "trips": choice(0, 2),
            "op": choose(choice, ("max", "sum")),
            "transposes": choose(choice, (False, True)),
        }

    def memories(self, part: Part, shape: Shape, i: int) -> list[Memory]:
        columns = part["columns"]
        count = shape.block // columns if part["axis"] == 1 else columns
        return [
            Memory(f"t{i}", shape.dtype, shape.programs * count),
            Memory(f"u{i}", shape.dtype, shape.programs * shape.block),
            Memory(f"a{i}", shape.dtype, shape.programs * shape.block),
        ]

    def lines(self, part: Part, shape: Shape, i: int) -> list[str]:
        columns, block = part["columns"], shape.block
        rows, axis = block // columns, part["axis"]
        count = rows if axis == 1 else columns
        expand = "[:, None]" if axis == 1 else "[None, :]"
        factor = f"t{i} + pid * {count} + tl.arange(0, {count})"
        place = (
            f"pid * {block} + tl.arange(0, {rows})[:, None] * {columns} + tl.arange(0, {columns})[None, :]"
        )
        across = (
            f"pid * {block} + tl.arange(0, {rows})[None, :] * {columns} + tl.arange(0, {columns})[:, None]"
        )
        lines = [
            f"tile{i} = tl.load(x + {place})",
            f"tl.store({factor}, tl.{part['op']}(tile{i}, {axis}))",
            f"for t in range({part['trips']}):",
            f"    m{i} = tl.load({factor})",
            f"    tile{i} = tile{i} - m{i}{expand}",
            f"    tl.store({factor}, m{i} + tl.{part['op']}(tile{i} * 0 + t, {axis}))",
            f"tile{i} = tile{i} + tl.load({factor}){expand}",
            f"tl.store(u{i} + {place}, tile{i})",
        ]
        if part["transposes"]:
            return [*lines, "tl.debug_barrier()", f"tl.store(a{i} + {across}, tl.load(u{i} + {across}) * 2)"]
        return [*lines, f"tl.store(a{i} + {place}, tl.load(u{i} + {place}) * 2)"]

    def expected(self, part: Part, shape: Shape, i: int, v: Array, memory: Mapping[str, Array]) -> Array:
        columns, axis = part["columns"], part["axis"] + 1
        tile = memory["x"].astype(np.float64).reshape(shape.programs, -1, columns)
        reduce = np.max if part["op"] == "max" else np.sum
        factor = reduce(tile, axis=axis, keepdims=True)
        for t in range(part["trips"]):
            tile = tile - factor
            factor = factor + reduce(tile * 0 + t, axis=axis, keepdims=True)
        tile = tile + factor
        memory[f"t{i}"][:] = factor.ravel()
        memory[f"u{i}"][:] = tile.ravel()
        memory[f"a{i}"][:] = tile.ravel() * 2
        return v
