"""Growth of the work of each pass with the kernel: ``python -m integration.bench_growth [--target
nvidia:sm_80]``.

Kernels of ``integration/kernels/growing.py`` are unrolled 1 to 16 times as long, and every pass of the stages ``ttir`` and
``ttgir`` is timed (CPU time, the least of several runs).  The exponent is the slope of a line through the points
(log size, log time) of the upper half of the sizes, where what a pass costs at any size counts little; 1 is linear.

For tests there is a measure without noise: lines of Python executed.  It sees every loop in Python, and none in C++.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track

from integration.kernels import growing
from tri import ASTSource
from tri_core import mlir
from tri_core.api import CommonOptions, Pass, StageContext, Target
from tri_core.mlir import ir
from tri_core.plugins import manager
from tri_core.target_selection import resolve

__all__ = ["KERNELS", "Growth", "cpu_seconds", "grown", "measure", "python_lines"]

#: what running something costs
Cost = Callable[[Callable[[], None]], float]

#: kernels, and how many steps the smallest has
KERNELS: Mapping[str, int] = {
    "elementwise": 16,
    "accesses": 8,
    "dots": 4,
    "loops": 1,
    "layouts": 4,
    "branches": 4,
}


@dataclass(frozen=True)
class Growth:
    """Cost of one pass, by size (in steps of the kernel)."""

    kernel: str
    name: str
    costs: Mapping[int, float]

    @property
    def most(self) -> float:
        """The cost at the largest size."""
        return self.costs[max(self.costs)]

    @property
    def exponent(self) -> float:
        """The power of the size with which the cost grows."""
        sizes = sorted(self.costs)[len(self.costs) // 2 - 1 :]
        slope, _ = np.polyfit(np.log(sizes), np.log([max(self.costs[n], 1e-9) for n in sizes]), 1)
        return float(slope)


def grown(kernel: str, count: int) -> ASTSource:
    """``kernel`` with ``count`` steps."""
    function = getattr(growing, kernel)
    element = "*fp16" if kernel in ("dots", "loops") else "*fp32"
    types = {"x": element, "out": "*fp32", "n": "i32"}
    signature = {name: types.get(name, "constexpr") for name in function.arg_names}
    attrs: Any = {(i,): [["tt.divisibility", 16]] for i in (0, 1)}
    return ASTSource(function, signature, {"COUNT": count}, attrs)


class _NoCodegen:
    def compile(self, request: object) -> Any:
        raise AssertionError("no pass generates code")


def cpu_seconds(run: Callable[[], None]) -> float:
    """CPU time of ``run``."""
    start = time.process_time()
    run()
    return time.process_time() - start


def python_lines(run: Callable[[], None]) -> float:
    """Lines of Python that ``run`` executes: every iteration counts."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def _taken(target: Target, options: CommonOptions, source: ASTSource, cost: Cost) -> dict[str, float]:
    """The cost of each pass over ``source``; a pass that runs twice counts twice."""
    found: dict[str, float] = {}
    with mlir.session():
        module: ir.Module = source.build(target, options)
        context = StageContext(
            target=target, options=options, kernel_name="k", codegen=_NoCodegen(), knobs={}
        )
        stages = manager().compose(target, options).pipeline
        for step in (s for name in ("ttir", "ttgir") for s in _passes(stages[name].passes)):
            taken = cost(functools.partial(step.apply, module, context))
            found[step.name] = found.get(step.name, 0.0) + taken
    return found


def _passes(given: Any) -> list[Pass]:
    return [step for step in given.steps if isinstance(step, Pass)]


def measure(
    kernel: str,
    factors: Sequence[int],
    target: str = "nvidia:sm_80",
    *,
    cost: Cost = cpu_seconds,
    repeats: int = 1,
) -> list[Growth]:
    """The growth of every pass on ``kernel``, at ``factors`` times its smallest size; the least of ``repeats`` runs."""
    chosen = resolve(target)
    manager().register_ir(mlir.registry, chosen)
    options = chosen.options_type.parse({})
    taken: dict[int, dict[str, float]] = {}
    for size in (factor * KERNELS[kernel] for factor in factors):
        runs = [_taken(chosen, options, grown(kernel, size), cost) for _ in range(repeats)]
        taken[size] = {name: min(run[name] for run in runs) for name in runs[0]}
    names = taken[max(taken)]
    return [Growth(kernel, name, {n: costs[name] for n, costs in taken.items()}) for name in names]


def main(target: Annotated[str, typer.Option()] = "nvidia:sm_80", repeats: int = 5) -> None:
    """Print one row per pass: the exponent for each kernel, and milliseconds at the largest size in brackets."""
    rows: dict[str, dict[str, str]] = {}
    for kernel in track(KERNELS, console=Console(stderr=True)):
        for growth in measure(kernel, (1, 2, 4, 8, 16), target, repeats=repeats):
            most = growth.most * 1e3
            cell = f"{growth.exponent:.2f} ({most:.1f})" if most >= 1 else f"({most:.1f})"
            rows.setdefault(growth.name, {})[kernel] = cell
    lines = [f"| pass | {' | '.join(KERNELS)} |", "| --- " * (len(KERNELS) + 1) + "|"]
    lines += [
        f"| {name} | {' | '.join(cells.get(k, '-') for k in KERNELS)} |" for name, cells in rows.items()
    ]
    Console(width=160).print("\n".join(lines), markup=False, highlight=False)


if __name__ == "__main__":
    typer.run(main)
