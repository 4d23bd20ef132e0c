"""Tensors that a loop only moves by a uniform step: no memory is needed to carry them.

``pointers += BLOCK * stride`` keeps the shape of a tensor of pointers; the loop then carries one scalar, the
sum of the steps, and the tensor is its initial value plus that scalar.
"""

from __future__ import annotations

from tri_core.dialects import tt
from tri_core.ir.traits import DataMovement
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith
from tri_core.ttir import ForLoop, Op, Value

__all__ = ["Induction", "Step", "find_inductions", "uniform_source"]


@dataclass(frozen=True)
class Step:
    """A uniform summand: a scalar value or a constant, added or subtracted."""

    amount: Value | int
    negative: bool = False


@dataclass(frozen=True)
class Induction:
    """Iteration argument ``argument`` of ``loop``, which starts as ``initial`` and moves by ``steps``."""

    loop: Op
    argument: Value
    initial: Value
    result: Value
    steps: tuple[Step, ...]


def uniform_source(value: Value) -> Value | int | None:
    """The scalar in every place of ``value``, or None when its elements may differ."""
    while value.op is not None:
        op = value.op
        if not value.is_tensor:
            return value
        if isa(op, tt.SplatOp):
            return op.operand("src")
        if isa(op, arith.ConstantOp):
            number = op.attributes["value"]
            return number if isinstance(number, int) else None
        if not DataMovement.declared_by(op.name):
            return None
        value = op.source
    return None if value.is_tensor else value


def find_inductions(loop: Op) -> dict[Value, Induction]:
    """The inductions of a counted loop, by iteration argument."""
    found: dict[Value, Induction] = {}
    view = ForLoop(loop)
    for argument, initial, result, next_value in zip(
        view.iter_args, view.inits, view.results, view.yielded, strict=True
    ):
        if not argument.is_tensor or argument.dtype.is_float:
            continue
        steps = _steps(next_value, argument)
        if steps is not None:
            found[argument] = Induction(loop, argument, initial, result, steps)
    return found


def _steps(value: Value, origin: Value) -> tuple[Step, ...] | None:
    """The steps from ``origin`` to ``value``, or None when it is not a chain of uniform additions."""
    steps: list[Step] = []
    while value is not origin:
        op = value.op
        if op is None or not isa(op, tt.AddPtrOp, arith.AddIOp, arith.SubIOp):
            return None
        kept, moved = op.operands
        if isa(op, arith.AddIOp) and uniform_source(kept) is not None:
            kept, moved = moved, kept
        amount = uniform_source(moved)
        if amount is None:
            return None
        steps.append(Step(amount, negative=isa(op, arith.SubIOp)))
        value = kept
    return tuple(reversed(steps))
