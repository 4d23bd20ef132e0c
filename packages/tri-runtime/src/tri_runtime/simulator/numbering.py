"""The numbers of a function's values, blocks and ops: what decoding an op needs to know of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy.typing as npt

from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_runtime.simulator.cta import CTA, Step
from tri_runtime.simulator.repetition import Flow
from tri_runtime.simulator.scene import Site

__all__ = ["External", "Numbering"]

Array = npt.NDArray[Any]

#: an external function: (cta, operands) -> results
External = Callable[[CTA, Sequence[Array]], Sequence[Array]]


@dataclass
class Numbering:
    """Values have slots, blocks numbers in reverse postorder, every op is a site."""

    function: ir.Operation
    externals: dict[str, External] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.blocks = _reverse_postorder(self.function)
        self.order = {block: i for i, block in enumerate(self.blocks)}
        self.slots: dict[ir.Value, int] = {}
        self.sites: list[Site] = []
        self.flow = Flow()
        for block in self.blocks:
            for argument in block.arguments:
                self.slots[argument] = len(self.slots)
            for op in block.operations:
                for result in op.results:
                    self.slots[result] = len(self.slots)

    def observed(self, step: Step) -> Step:
        """``step`` of the latest site, which may fail: the scene names its op."""
        site = len(self.sites) - 1

        def observed(cta: CTA) -> object:
            cta.scene.site = site
            return step(cta)

        return observed


def _reverse_postorder(function: ir.Operation) -> list[ir.Block]:
    """Blocks so that those that a loop repeats come before those that follow it."""
    seen: set[ir.Block] = set()
    order: list[ir.Block] = []
    stack: list[tuple[ir.Block, list[ir.Block]]] = []

    def enter(block: ir.Block) -> None:
        seen.add(block)
        # the last successor is visited first: the body of a loop comes before what follows it
        stack.append((block, list(list(block.operations)[-1].operation.successors)))

    enter(function.regions[0].blocks[0])
    while stack:
        block, successors = stack[-1]
        if not successors:
            order.append(block)
            stack.pop()
        elif (successor := successors.pop()) not in seen:
            enter(successor)
    return order[::-1]
