"""Numbers that a launch knows before the kernel runs: parameters and constants, whatever their width."""

from __future__ import annotations

from tri_core.api import LaunchNumber
from tri_core.dialects.tt import FuncOp
from tri_core.ir.views import isa
from tri_core.mlir import arith, ir

__all__ = ["known_at_launch", "launch_number", "parameter_number"]

#: ops that keep the number that they are given, which a parameter's type holds
_SAME = (arith.ExtSIOp, arith.IndexCastOp)


def parameter_number(value: ir.Value) -> int | None:
    """The number of the kernel's parameter that ``value`` is; None for anything else."""
    owner = value.owner
    if not isinstance(owner, ir.Block) or not isa(owner.owner.operation, FuncOp):
        return None
    return int(ir.BlockArgument(value).arg_number)


def launch_number(value: ir.Value) -> LaunchNumber | None:
    """Launch argument that the integer ``value`` equals; None if it is not known at launch."""
    value = _given(value)
    bits = most = None
    if _is_op(value, "arith.trunci"):
        bits, value = value.type.width, _given(value.owner.operation.operands[0])
    if _is_op(value, "arith.minsi"):
        number, limit = value.owner.operation.operands
        most, value = _constant(limit), _given(number)
        if most is None:
            return None
    if bits is None and most is None and (constant := _constant(value)) is not None:
        return LaunchNumber(value=constant)
    parameter = parameter_number(value)
    return None if parameter is None else LaunchNumber(parameter, most=most, bits=bits)


def _given(value: ir.Value) -> ir.Value:
    """Origin of ``value``: the earliest known value that equals it."""
    while not isinstance(value.owner, ir.Block) and isa(value.owner.operation, *_SAME):
        value = value.owner.operation.operands[0]
    return value


def _is_op(value: ir.Value, name: str) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name == name


def _constant(value: ir.Value) -> int | None:
    if not _is_op(value, "arith.constant"):
        return None
    attribute = value.owner.operation.attributes["value"].maybe_downcast()
    return int(attribute.value) if isinstance(attribute, ir.IntegerAttr) else None


def known_at_launch(maker: ir.Operation) -> bool:
    """True if the tensor of a ``tt.make_tensor_descriptor`` is known at launch, so that the launcher may make
    the descriptor.
    """
    base, *numbers = maker.operands
    return parameter_number(base) is not None and all(launch_number(n) is not None for n in numbers)
