"""Locks, turns and tickets: programs change the same tile one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from integration.random_programs.patterns.waits import choose, draw_raise, draw_wait, raised, waited
from integration.random_programs.program import Array, Choice, Memory, Part, Shape

__all__ = ["Lock", "Ticket", "Turns"]


class _Forward:
    """No program waits for one of a higher number."""

    def needs_all(self, part: Part) -> bool:
        return False

    def by_volatile(self, part: Part) -> bool:
        return False


class Lock(_Forward):
    """A spin lock around a sum in plain memory, as where rows' gradients are reduced."""

    name = "lock"

    def draw(self, choice: Choice, shape: Shape) -> dict[str, Any]:
        return {
            "take": choose(choice, ("cas", "xchg")),
            "sem": choose(choice, ("acquire", "acq_rel")),
            "scope": choose(choice, ("gpu", "sys")),
            "release": choose(choice, ("release", "acq_rel")),
            "first": choose(choice, (False, True)),
            "rounds": choose(choice, (1, 1, 2)),
        }

    def memories(self, part: Part, shape: Shape, i: int) -> list[Memory]:
        return [
            Memory(f"a{i}", shape.dtype, shape.block, zeroed=not part["first"]),
            Memory(f"s{i}", "int32", 2, zeroed=True),
        ]

    def lines(self, part: Part, shape: Shape, i: int) -> list[str]:
        order = f'sem="{part["sem"]}", scope="{part["scope"]}"'
        take = (
            f"tl.atomic_cas(s{i}, 0, 1, {order})"
            if part["take"] == "cas"
            else f"tl.atomic_xchg(s{i}, 1, {order})"
        )
        if part["first"]:
            change = [
                f"if tl.load(s{i} + 1) == 0:",
                f"    tl.store(a{i} + offs, v)",
                "    tl.debug_barrier()",
                f"    tl.store(s{i} + 1, 1)",
                "else:",
                f"    tl.store(a{i} + offs, tl.load(a{i} + offs) + v)",
            ]
        else:
            change = [f"tl.store(a{i} + offs, tl.load(a{i} + offs) + v)"]
        body = [
            f"while {take} != 0:",
            "    pass",
            *change,
            "tl.debug_barrier()",
            f'tl.atomic_xchg(s{i}, 0, sem="{part["release"]}", scope="{part["scope"]}")',
        ]
        if part["rounds"] == 1:
            return body
        return [f"for _ in range({part['rounds']}):", *(f"    {line}" for line in body)]

    def expected(self, part: Part, shape: Shape, i: int, v: Array, memory: Mapping[str, Array]) -> Array:
        memory[f"a{i}"][:] = part["rounds"] * v.sum(axis=0)
        memory[f"s{i}"][:] = 0, part["first"]
        return v


class Turns(_Forward):
    """Programs run one after the other, by their indices; what they do to the tile does not commute."""

    name = "turns"

    def draw(self, choice: Choice, shape: Shape) -> dict[str, Any]:
        return {**draw_wait(choice), **draw_raise(choice), "looks": choose(choice, (False, True))}

    def memories(self, part: Part, shape: Shape, i: int) -> list[Memory]:
        return [
            Memory(f"a{i}", shape.dtype, shape.block, zeroed=True),
            Memory(f"s{i}", "int32", 1, zeroed=True),
        ]

    def lines(self, part: Part, shape: Shape, i: int) -> list[str]:
        return [
            *waited(part, f"s{i}", "pid"),
            f"tl.store(a{i} + offs, v - tl.load(a{i} + offs))",
            *raised(part, f"s{i}", "pid", "pid + 1"),
        ]

    def expected(self, part: Part, shape: Shape, i: int, v: Array, memory: Mapping[str, Array]) -> Array:
        total = np.zeros(shape.block)
        for row in v:
            total = row - total
        memory[f"a{i}"][:] = total
        memory[f"s{i}"][:] = shape.programs
        return v


class Ticket(_Forward):
    """All store their tile and draw a number; the last one reduces.  A program may have seen its neighbours' lines before."""

    name = "ticket"

    def draw(self, choice: Choice, shape: Shape) -> dict[str, Any]:
        return {
            "sem": "acq_rel",
            "scope": choose(choice, ("gpu", "sys")),
            "narrow": choose(choice, (False, True)),
            "resets": choose(choice, (False, True)),
        }

    def memories(self, part: Part, shape: Shape, i: int) -> list[Memory]:
        stored = 1 if part["narrow"] else shape.block
        return [
            Memory(f"p{i}", shape.dtype, shape.programs * stored),
            Memory(f"s{i}", "int32", 1, zeroed=True),
            Memory(f"a{i}", shape.dtype, stored),
        ]

    def lines(self, part: Part, shape: Shape, i: int) -> list[str]:
        at = f"p{i} + pid" if part["narrow"] else f"p{i} + pid * {shape.block} + offs"
        one = f"p{i} + j" if part["narrow"] else f"p{i} + j * {shape.block} + offs"
        value = "tl.sum(v, 0)" if part["narrow"] else "v"
        zero = f"total{i} = {value} * 0"
        out = f"a{i}" if part["narrow"] else f"a{i} + offs"
        reset = [f'    tl.atomic_xchg(s{i}, 0, sem="relaxed")'] if part["resets"] else []
        return [
            f"mine{i} = {value}",
            f"tl.store({at}, mine{i})",
            f"mine{i} = tl.load({at})",
            "tl.debug_barrier()",
            f'old{i} = tl.atomic_add(s{i}, 1, sem="{part["sem"]}", scope="{part["scope"]}")',
            f"if old{i} == {shape.programs - 1}:",
            f"    {zero}",
            f"    for j in range({shape.programs}):",
            f"        total{i} += tl.load({one}) * (j + 1)",
            f"    tl.store({out}, total{i} + mine{i} - mine{i})",
            *reset,
        ]

    def expected(self, part: Part, shape: Shape, i: int, v: Array, memory: Mapping[str, Array]) -> Array:
        each = v.sum(axis=1, keepdims=True) if part["narrow"] else v
        memory[f"p{i}"][:] = each.ravel()
        memory[f"a{i}"][:] = (each * np.arange(1, shape.programs + 1)[:, None]).sum(axis=0)
        memory[f"s{i}"][:] = 0 if part["resets"] else shape.programs
        return v
