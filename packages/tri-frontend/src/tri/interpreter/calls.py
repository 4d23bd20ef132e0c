"""One op to evaluate, and what evaluates it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tri.interpreter.arrays import Array, numpy_type
from tri.language import types as t

if TYPE_CHECKING:
    import numpy as np

    from tri.interpreter.builder import EagerBuilder

__all__ = ["Call", "Rule"]


@dataclass(frozen=True, slots=True)
class Call:
    """Op ``name`` on ``operands``, of language types ``types``; attributes are Python values.

    ``results``: the types of its results.
    """

    machine: EagerBuilder
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
        """How the elements of the one result are kept."""
        return numpy_type(self.results[0])


#: evaluates an op: one array, several for ops with several results, or None for ops with none
Rule = Callable[[Call], Array | list[Array] | None]
