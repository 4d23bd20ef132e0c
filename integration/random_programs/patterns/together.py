"""Work of all threads of a program that depends on a word which another program changes meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from integration.random_programs.patterns.waits import SEEING, choose, seen
from integration.random_programs.program import Array, Choice, Memory, Part, Shape

__all__ = ["WorkUntil"]


class WorkUntil:
    """Sums of a tile until the program before says that it is done, or wherever it has not said so in a number of turns.

    The sums go through barriers, so that threads that saw different words would part; each counts beside them what they should be.
    """

    name = "work_until"

    def draw(self, choice: Choice, shape: Shape) -> dict[str, Any]:
        return {
            "wait": choose(choice, SEEING),
            "form": choose(choice, ("while", "until", "if")),
            "words": choose(choice, (1, 1, 2)),
            "turns": choice(4, 12),
        }

    def memories(self, part: Part, shape: Shape, i: int) -> list[Memory]:
        return [
            Memory(f"s{i}", "int32", 2 * shape.programs, zeroed=True),
            Memory(f"a{i}", shape.dtype, shape.programs * shape.block),
        ]

    def lines(self, part: Part, shape: Shape, i: int) -> list[str]:
        loads = [seen(part["wait"], f"s{i} + 2 * pid - {2 - word}") for word in range(part["words"])]
        words, sums = " + ".join(loads), shape.block * (shape.block - 1) // 2
        work = [
            "total += tl.sum(offs + turn, 0)",
            f"due += {sums} + turn * {shape.block}",
            "turn += 1",
        ]
        loop = {
            "while": [f"while {words} != {part['words']}:", *(f"    {line}" for line in work)],
            "until": [
                "w = 0",
                f"while w != {part['words']}:",
                *(f"    {line}" for line in (f"w = {words}", *work)),
            ],
            "if": [
                f"for _ in range({part['turns']}):",
                f"    if {words} != {part['words']}:",
                *(f"        {line}" for line in work),
            ],
        }[part["form"]]
        return [
            "total = 0",
            "due = 0",
            "turn = 0",
            "if pid > 0:",
            *(f"    {line}" for line in loop),
            *(f"tl.atomic_xchg(s{i} + 2 * pid + {word}, 1)" for word in range(2)),
            f"v += (total - due).to(tl.{shape.dtype})",
            f"tl.store(a{i} + pid * {shape.block} + offs, v)",
        ]

    def expected(self, part: Part, shape: Shape, i: int, v: Array, memory: Mapping[str, Array]) -> Array:
        memory[f"s{i}"][:] = 1
        memory[f"a{i}"][:] = v.ravel()
        return v

    def needs_all(self, part: Part) -> bool:
        return False

    def by_volatile(self, part: Part) -> bool:
        return True
