"""One op to evaluate, and what evaluates it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tri.interpreter.arrays import Array, numpy_type
from tri.interpreter.memory import Memory
from tri.interpreter.program import RunningProgram
from tri.language import types as t
from tri.language.tensor import tensor
from tri_core.errors import SourceLocation
from tri_core.lazy_dataclasses import dataclass
from tri_core.target import Target

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Call", "Machine", "Rule"]


class Machine(RunningProgram, Protocol):
    """Evaluator of ops, in order, on its memory; ``grid`` is of x, y, z.

    ``exact``: floats are integers modulo a power of two.
    """

    memory: Memory
    target: Target
    grid: tuple[int, int, int]
    exact: bool

    def here(self) -> SourceLocation | None:
        """The line of the kernel that is running."""
        ...

    def constant(self, value: bool | float, type_: t.dtype) -> tensor:
        """``value`` as a scalar, or in every place of a block."""
        ...

    def several(
        self,
        name: str,
        results: Sequence[t.dtype],
        operands: Sequence[tensor],
        attributes: Mapping[str, Any] | None = None,
    ) -> list[tensor]:
        """All results of operation ``name``."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """Op ``name`` on ``operands``, of language types ``types``; attributes are Python values.

    ``results``: the types of its results.
    """

    machine: Machine
    name: str
    results: Sequence[t.dtype]
    operands: Sequence[Array]
    types: Sequence[t.dtype]
    attributes: Mapping[str, Any]

    @property
    def result(self) -> t.dtype:
        """The type of the one result."""
        return self.results[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy dtype of the one result."""
        return numpy_type(self.results[0])


#: evaluates an op: one array, several for ops with several results, or None for ops with none
Rule = Callable[[Call], Array | list[Array] | None]
