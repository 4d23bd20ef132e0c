"""Runs a program with NumPy alone: what its statements mean by Triton's rules, with nothing of tri."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from integration.random_kernels.production import Production
from integration.random_kernels.program import Branch, Loop, RandomKernel, Statement, Step
from integration.random_kernels.values import Array, numpy_dtype

__all__ = ["IllTyped", "Memory", "evaluate"]


class IllTyped(AssertionError):
    """A production's meaning has another type or shape than its draw said."""


@dataclass(frozen=True)
class Memory:
    """The arrays that a kernel reads and writes."""

    inputs: Sequence[Array]
    outputs: Sequence[Array]


@dataclass
class _Machine:
    kernel: RandomKernel
    memory: Memory
    table: Mapping[str, Production]
    known: dict[str, Array]

    def run(self, body: Sequence[Statement]) -> None:
        for statement in body:
            match statement:
                case Step():
                    self._step(statement)
                case Loop():
                    for i in range(self.kernel.trip_count):
                        self.known[statement.index] = np.asarray(i, np.int32)
                        self.run(statement.body)
                case Branch():
                    self.run(statement.body if self.kernel.flag > statement.above else statement.orelse)

    def _step(self, step: Step) -> None:
        production = self.table[step.production]
        operands = [self.known[name] for name in step.operands]
        first = (self.memory,) if production.memory else ()
        made = production.meaning(*first, *operands, **dict(step.attributes))
        several = made if isinstance(made, tuple) else (made,)
        for value, array in zip(step.results, several if step.results else (), strict=True):
            if array.shape != value.shape or array.dtype != numpy_dtype(value.dtype):
                raise IllTyped(f"{step} gives {array.dtype}{array.shape}")
            self.known[value.name] = array


def evaluate(
    kernel: RandomKernel, table: Mapping[str, Production], inputs: Sequence[Array], outputs: Sequence[Array]
) -> None:
    """Write what ``kernel`` stores into ``outputs``."""
    assert kernel.program is not None, "a kernel that was written by hand has no meaning in NumPy"
    with np.errstate(all="ignore"):
        flag = {kernel.program.parameters.flag: np.asarray(kernel.flag, np.int32)}
        _Machine(kernel, Memory(inputs, outputs), table, flag).run(kernel.program.body)
