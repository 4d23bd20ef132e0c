"""No pass does more than linear work, nearly, when a kernel grows."""

from __future__ import annotations

import pytest

from integration import bench_growth
from integration.bench_growth import KERNELS, measure, python_lines

#: passes of fewer lines say nothing about their growth
_FEW = 500


@pytest.mark.parametrize("kernel", KERNELS)
def test_work_grows_as_the_kernel_does(kernel: str) -> None:
    found = measure(kernel, (1, 2, 4, 8), cost=python_lines)
    seen = {growth.name: round(growth.exponent, 2) for growth in found if growth.most > _FEW}
    assert len(seen) >= 4
    assert {name: exponent for name, exponent in seen.items() if exponent > 1.3} == {}


def test_work_that_grows_faster_is_seen() -> None:
    def quadratic(size: int) -> float:
        def run() -> None:
            for _ in range(size):
                sum(1 for _ in range(size))

        return python_lines(run)

    costs = {n: quadratic(n) for n in (10, 20, 40, 80)}
    assert bench_growth.Growth("made up", "quadratic", costs).exponent > 1.8
