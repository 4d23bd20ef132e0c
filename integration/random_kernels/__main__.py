"""``python -m integration.random_kernels --count 2000 --targets cpu,interpreter,intel,sim:nvidia:sm_80``."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable

from hypothesis import HealthCheck, given, seed, settings
from rich.console import Console
from rich.progress import Progress

from integration.random_kernels.program import RandomKernel
from integration.random_kernels.running import check
from integration.random_kernels.strategy import random_kernels


def sweep(count: int, targets: list[str], first: int, advance: Callable[[], None]) -> Counter[str]:
    """Check ``count`` kernels; hypothesis shrinks and raises the first that fails.

    Gives how often targets refused a kernel, by their reasons.
    """
    refusals: Counter[str] = Counter()

    @seed(first)
    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(random_kernels())
    def agree(kernel: RandomKernel) -> None:
        check(kernel, targets, lambda target, error: refusals.update([error.message]))
        advance()

    agree()
    return refusals


def main() -> int:
    """Parse the command line and sweep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--targets", default="cpu,interpreter,intel")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    targets = options.targets.split(",")
    console = Console()
    with Progress(console=console) as progress:
        task = progress.add_task(f"random kernels on {', '.join(targets)}", total=options.count)
        refusals = sweep(options.count, targets, options.seed, lambda: progress.advance(task))
    for reason, times in refusals.most_common():
        console.print(f"{times} times refused: {reason}")
    console.print(f"{options.count} random kernels agree on {', '.join(targets)} (seed {options.seed})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
