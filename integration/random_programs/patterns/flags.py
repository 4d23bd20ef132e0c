"""Flags and barriers of the grid: programs wait until others have stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from integration.random_programs.patterns.waits import (
    SEEING,
    choose,
    draw_raise,
    draw_wait,
    raised,
    seen,
    waited,
)
from integration.random_programs.program import Array, Choice, Memory, Part, Shape

__all__ = ["GridBarrier", "LookBack", "Partials", "PingPong"]

#: bytes of a line: programs that only see flags must not have read others' lines before
_LINE = 128


class Partials:
    """Partial sums: all but one store their tiles and raise a flag, that one waits for each and adds (stream-K's fix-up)."""

    name = "partials"

    def draw(self, choice: Choice, shape: Shape) -> dict[str, Any]:
        drawn: dict[str, Any] = {**draw_wait(choice), **draw_raise(choice)}
        drawn["who"] = choose(choice, ("first", "last", "chain up", "chain down"))
        drawn["through"] = choose(choice, (False, False, True))
        if drawn["through"] or choose(choice, (False, True)):
            drawn["wait"] = choose(choice, SEEING)
        return drawn

    def _width(self, part: Part, shape: Shape) -> int:
        """Elements from one program's tile to the next's: whole lines where nobody acquires."""
        return max(shape.block, _LINE) if part["wait"] in SEEING else shape.block

    def memories(self, part: Part, shape: Shape, i: int) -> list[Memory]:
        width = self._width(part, shape)
        return [
            Memory(f"p{i}", shape.dtype, (shape.programs + 1) * width, zeroed=True, compared=False),
            Memory(f"s{i}", "int32", shape.programs, zeroed=True),
            Memory(f"a{i}", shape.dtype, shape.programs * shape.block),
        ]

    def lines(self, part: Part, shape: Shape, i: int) -> list[str]:
        width, last = self._width(part, shape), shape.programs - 1
        tile = f"p{i} + pid * {width} + offs"
        written = ", cache_modifier='.wt'" if part["through"] else ""

        def tell(value: str) -> list[str]:
            up = (
                ["tl.debug_barrier()", f"tl.store(s{i} + pid, 1, cache_modifier='.wt')"]
                if part["through"]
                else raised(part, f"s{i} + pid", "0", "1")
            )
            return [f"tl.store({tile}, {value}{written})", *up]

        def indented(lines: list[str]) -> list[str]:
            return [f"    {line}" for line in lines]

        if part["who"] in ("first", "last"):
            one, others = (
                (0, f"range(1, {shape.programs})") if part["who"] == "first" else (last, f"range(0, {last})")
            )
            gather = [
                f"for j in {others}:",
                *indented(waited(part, f"s{i} + j", "1")),
                f"    v += tl.load(p{i} + j * {width} + offs)",
            ]
            return [
                f"if pid == {one}:",
                *indented(gather),
                "else:",
                *indented(tell("v")),
                f"tl.store(a{i} + pid * {shape.block} + offs, v)",
            ]
        start, step = (0, -1) if part["who"] == "chain up" else (last, 1)
        return [
            f"if pid != {start}:",
            *indented(waited(part, f"s{i} + pid + {step}", "1")),
            f"    v += tl.load(p{i} + (pid + {step}) * {width} + offs)",
            *tell("v"),
            f"tl.store(a{i} + pid * {shape.block} + offs, v)",
        ]

    def expected(self, part: Part, shape: Shape, i: int, v: Array, memory: Mapping[str, Array]) -> Array:
        flags = memory[f"s{i}"]
        flags[:] = 1
        if part["who"] in ("first", "last"):
            one = 0 if part["who"] == "first" else shape.programs - 1
            result = v.copy()
            result[one] = v.sum(axis=0)
            flags[one] = 0
        elif part["who"] == "chain up":
            result = np.cumsum(v, axis=0)
        else:
            result = np.cumsum(v[::-1], axis=0)[::-1]
        memory[f"a{i}"][:] = result.ravel()
        return result

    def needs_all(self, part: Part) -> bool:
        return part["who"] in ("first", "chain down")

    def by_volatile(self, part: Part) -> bool:
        return bool(part["through"])


class GridBarrier:
    """Reductions in two steps: all store, wait for all, load another's; twice through the same memory, maybe."""

    name = "grid_barrier"

    def draw(self, choice: Choice, shape: Shape) -> dict[str, Any]:
        return {
            **draw_wait(choice),
            "wait": choose(choice, ("add", "or")),
            "raise_sem": choose(choice, ("release", "acq_rel")),
            "raise_scope": choose(choice, ("gpu", "sys")),
            "rounds": choose(choice, (1, 2, 3)),
            "shift": choice(1, shape.programs - 1),
            "own": choose(choice, (False, True)),
        }

    def memories(self, part: Part, shape: Shape, i: int) -> list[Memory]:
        size = shape.programs * shape.block
        return [
            Memory(f"p{i}", shape.dtype, size, zeroed=True),
            Memory(f"s{i}", "int32", 1, zeroed=True),
            Memory(f"a{i}", shape.dtype, size),
        ]

    def lines(self, part: Part, shape: Shape, i: int) -> list[str]:
        block, count = shape.block, shape.programs
        up = f'tl.atomic_add(s{i}, 1, sem="{part["raise_sem"]}", scope="{part["raise_scope"]}")'

        def meet(number: str) -> list[str]:
            target = f"{count} * ({number})"
            return ["tl.debug_barrier()", up, *waited(part, f"s{i}", target, "<")]

        def indented(lines: list[str]) -> list[str]:
            return [f"    {line}" for line in lines]

        return [
            f"for t in range({part['rounds']}):",
            f"    tl.store(p{i} + pid * {block} + offs, v)",
            *indented(meet("2 * t + 1")),
            f"    v = tl.load(p{i} + (pid + {part['shift']}) % {count} * {block} + offs) - v",
            *indented(meet("2 * t + 2")),
            f"tl.store(a{i} + pid * {block} + offs, v)",
        ]

    def expected(self, part: Part, shape: Shape, i: int, v: Array, memory: Mapping[str, Array]) -> Array:
        for _ in range(part["rounds"]):
            memory[f"p{i}"][:] = v.ravel()
            v = np.roll(v, -part["shift"], axis=0) - v
        memory[f"s{i}"][:] = 2 * part["rounds"] * shape.programs
        memory[f"a{i}"][:] = v.ravel()
        return v

    def needs_all(self, part: Part) -> bool:
        return True

    def by_volatile(self, part: Part) -> bool:
        return False


class PingPong:
    """Programs 0 and 1 hand a tile to and fro, so that each reads lines that it has read before; by one flag or a tile of them."""

    name = "ping_pong"

    def draw(self, choice: Choice, shape: Shape) -> dict[str, Any]:
        drawn: dict[str, Any] = {**draw_wait(choice), **draw_raise(choice), "rounds": choice(1, 3)}
        drawn["words"] = choose(choice, (1, 1, 16, 64))
        if drawn["words"] > 1:
            drawn |= {"wait": "tile", "raise": choose(choice, ("xchg", "add"))}
        return drawn

    def memories(self, part: Part, shape: Shape, i: int) -> list[Memory]:
        return [
            Memory(f"p{i}", shape.dtype, shape.block, zeroed=True),
            Memory(f"s{i}", "int32", part["words"], zeroed=True),
        ]

    def lines(self, part: Part, shape: Shape, i: int) -> list[str]:
        at = f"s{i}" if part["words"] == 1 else f"s{i} + tl.arange(0, {part['words']})"

        def indented(lines: list[str]) -> list[str]:
            return [f"        {line}" for line in lines]

        return [
            "if pid < 2:",
            f"    for t in range({part['rounds']}):",
            *indented(waited(part, at, "(2 * t + pid)")),
            f"        tl.store(p{i} + offs, v - tl.load(p{i} + offs))",
            *indented(raised(part, at, "(2 * t + pid)", "(2 * t + pid + 1)")),
        ]

    def expected(self, part: Part, shape: Shape, i: int, v: Array, memory: Mapping[str, Array]) -> Array:
        tile = np.zeros(shape.block)
        for t in range(2 * part["rounds"]):
            tile = v[t % 2] - tile
        memory[f"p{i}"][:] = tile
        memory[f"s{i}"][:] = 2 * part["rounds"]
        return v

    def needs_all(self, part: Part) -> bool:
        return True

    def by_volatile(self, part: Part) -> bool:
        return False


class LookBack:
    """A running count by decoupled look-back: a program says its own count, adds up those before it until one says the sum of all before.

    Threads of a program see a word change at different times, so that they go back by different numbers of steps.
    """

    name = "look_back"
    _OWN, _ALL, _COUNT = 1 << 20, 1 << 21, (1 << 20) - 1

    def draw(self, choice: Choice, shape: Shape) -> dict[str, Any]:
        return {"rounds": choice(1, 4), "wait": choose(choice, SEEING)}

    def memories(self, part: Part, shape: Shape, i: int) -> list[Memory]:
        return [
            Memory(f"s{i}", "int32", part["rounds"] * shape.programs, zeroed=True),
            Memory(f"a{i}", shape.dtype, shape.programs * shape.block),
        ]

    def lines(self, part: Part, shape: Shape, i: int) -> list[str]:
        load = f"w = {seen(part['wait'], f's{i} + t * {shape.programs} + j')}"
        own = f"s{i} + t * {shape.programs} + pid"
        return [
            f"for t in range({part['rounds']}):",
            "    ones = (v > t - 2).to(tl.int32)",
            "    count = tl.sum(ones, 0)",
            f"    tl.store({own}, count + {self._OWN}, cache_modifier='.cg')",
            "    before = 0",
            "    j = pid - 1",
            "    while j >= 0:",
            f"        {load}",
            "        while w == 0:",
            f"            {load}",
            f"        before += w & {self._COUNT}",
            f"        if (w & {self._OWN}) != 0:",
            "            j -= 1",
            "        else:",
            "            j = -1",
            f"    tl.store({own}, before + count + {self._ALL}, cache_modifier='.cg')",
            f"    v = ((before + tl.cumsum(ones, 0)) % 8 - 4).to(tl.{shape.dtype})",
            f"tl.store(a{i} + pid * {shape.block} + offs, v)",
        ]

    def expected(self, part: Part, shape: Shape, i: int, v: Array, memory: Mapping[str, Array]) -> Array:
        words = memory[f"s{i}"].reshape(part["rounds"], shape.programs)
        for t in range(part["rounds"]):
            ones = v > t - 2
            words[t] = np.cumsum(ones.sum(axis=1)) + self._ALL
            v = (np.cumsum(ones.ravel()).reshape(v.shape) % 8 - 4).astype(np.float64)
        memory[f"a{i}"][:] = v.ravel()
        return v

    def needs_all(self, part: Part) -> bool:
        return False

    def by_volatile(self, part: Part) -> bool:
        return True
