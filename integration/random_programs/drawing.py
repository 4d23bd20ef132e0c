"""Sources of kernels."""

from __future__ import annotations

import random

from integration.random_programs.patterns import LATER, PATTERNS
from integration.random_programs.patterns.waits import choose
from integration.random_programs.program import Part, Programs, Shape

__all__ = ["seeded"]

_MOST_PARTS = 3
#: one kernel of so many has a pattern of those that came later
_LATER = 8


def seeded(seed: int, number: int) -> Programs:
    """Kernel ``number`` of a seed."""
    generator = random.Random(f"programs {seed} {number}")

    def choice(low: int, high: int) -> int:
        return generator.randint(low, high)

    dtype = choose(choice, ("int32", "int64", "float32", "float16"))
    shape = Shape(choice(2, 6), choose(choice, (16, 32, 64, 128, 256)), dtype)
    count = 1 if dtype == "float16" else choice(1, _MOST_PARTS)  # sums of more are not exact
    names = [choose(choice, [name for name in PATTERNS if name not in LATER]) for _ in range(count)]
    parts = [Part(name, tuple(PATTERNS[name].draw(choice, shape).items())) for name in names]
    numbers = choose(choice, (1, 2, 4)), choice(1, 3), choice(0, 2**16)
    if choice(1, _LATER) == 1:
        name = choose(choice, tuple(LATER))
        parts[0] = Part(name, tuple(LATER[name].draw(choice, shape).items()))
    return Programs(shape, tuple(parts), *numbers)
