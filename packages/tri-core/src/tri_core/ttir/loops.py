"""A counted loop of the graph by the names of its parts."""

from __future__ import annotations

from tri_core.ir.regions import For, If, While
from tri_core.lazy_dataclasses import dataclass
from tri_core.ttir.nodes import Block, Op, Value

__all__ = ["FOR", "IF", "WHILE", "ForLoop", "as_for"]

#: names of control flow in the graph, as in the IR
FOR, IF, WHILE = (view.OPERATION_NAME for view in (For, If, While))

#: operands before the initial values: bounds and step
_BOUNDS = 3


@dataclass(frozen=True, slots=True)
class ForLoop:
    """``op``, a counted loop; lists of loop-carried values have one entry per iter_arg."""

    op: Op

    @property
    def body(self) -> Block:
        """The block that is repeated."""
        return self.op.blocks[0]

    @property
    def bounds(self) -> tuple[Value, Value, Value]:
        """Lower bound, upper bound and step."""
        lower, upper, step = self.op.operands[:_BOUNDS]
        return lower, upper, step

    @property
    def induction_variable(self) -> Value:
        """The counter."""
        return self.body.arguments[0]

    @property
    def iter_args(self) -> list[Value]:
        """The loop-carried values as the body sees them."""
        return self.body.arguments[1:]

    @property
    def inits(self) -> list[Value]:
        """The loop-carried values before the first iteration."""
        return self.op.operands[_BOUNDS:]

    @property
    def yielded(self) -> list[Value]:
        """The loop-carried values after an iteration."""
        return self.body.terminator.operands

    @property
    def results(self) -> list[Value]:
        """The loop-carried values after the last iteration."""
        return self.op.results

    def set_init(self, index: int, value: Value) -> None:
        """Start iter_arg ``index`` as ``value``."""
        self.op.use(_BOUNDS + index, value)


def as_for(op: Op | None) -> ForLoop | None:
    """The view of ``op``; None for another op."""
    return ForLoop(op) if op is not None and op.name == FOR else None
