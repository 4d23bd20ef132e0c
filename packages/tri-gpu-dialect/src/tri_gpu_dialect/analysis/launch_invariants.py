"""Numbers that a launch knows before the kernel runs: parameters and constants, whatever their width."""

from __future__ import annotations

from tri_core.api import LaunchNumber
from tri_core.mlir import ir

__all__ = ["known_at_launch", "launch_number", "parameter_number"]

#: ops that keep the number that they are given, which a parameter's type holds
_SAME = frozenset({"arith.extsi", "arith.index_cast"})


def parameter_number(value: ir.Value) -> int | None:
    """The number of the kernel's parameter that ``value`` is; None for anything else."""
    owner = value.owner
    if not isinstance(owner, ir.Block) or owner.owner.operation.name != "tt.func":
        return None
    return int(ir.BlockArgument(value).arg_number)


def launch_number(value: ir.Value) -> LaunchNumber | None:
    """What a launch knows the integer ``value`` by; None where it does not."""
    while not isinstance(value.owner, ir.Block):
        op = value.owner.operation
        if op.name == "arith.constant":
            attribute = op.attributes["value"].maybe_downcast()
            return LaunchNumber(value=attribute.value) if isinstance(attribute, ir.IntegerAttr) else None
        if op.name not in _SAME:
            return None
        value = op.operands[0]
    parameter = parameter_number(value)
    return None if parameter is None else LaunchNumber(parameter)


def known_at_launch(maker: ir.Operation) -> bool:
    """Whether a launch knows the tensor of a ``tt.make_tensor_descriptor``, and so may make the descriptor."""
    base, *numbers = maker.operands
    return parameter_number(base) is not None and all(launch_number(n) is not None for n in numbers)
