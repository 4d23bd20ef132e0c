"""Kernels that fail become small ones that fail."""

from __future__ import annotations

import pytest

from integration.random_kernels.program import RandomKernel, steps
from integration.random_kernels.running import run
from integration.random_kernels.shrinking import shrunk
from integration.random_kernels.strategy import seeded


@pytest.mark.parametrize("production", ["shift", "running", "widen", "dot", "extremes"])
def test_what_does_not_matter_goes(production: str) -> None:
    """One statement of the kind is left, with what it needs; every kernel on the way runs."""
    tried = 0

    def fails(kernel: RandomKernel) -> bool:
        nonlocal tried
        tried += 1
        run(kernel, "numpy")
        return production in kernel.productions and bool(kernel.outputs)

    kernel = next(k for k in (seeded(3, number) for number in range(200)) if production in k.productions)
    small = shrunk(kernel, fails)
    assert small.program is not None
    kinds = [step.production for step in steps(small.program.body)]
    assert kinds.count(production) == 1
    assert len(kinds) <= 6
    assert small.trip_count == small.flag == 0
    assert tried < 300


def test_names_that_do_not_matter_become_plain() -> None:
    kernel = next(k for k in (seeded(3, number) for number in range(200)) if "kernel(x0" not in k.source)
    small = shrunk(kernel, lambda kernel: True)
    assert small.program is not None
    plain = tuple(f"x{i}" for i in range(len(small.inputs)))
    assert small.program.parameters.order[: len(plain)] == plain
