"""Parameters that point into arrays of less than 2 GiB."""

from __future__ import annotations

from tri_core.mlir import ir

__all__ = ["is_small"]

_POINTER_RANGE = "tt.pointer_range"


def is_small(argument: ir.Value) -> bool:
    """True if the array that a function's ``argument`` points into is declared smaller than 2 GiB."""
    function = argument.owner.owner
    if "arg_attrs" not in function.attributes:
        return False
    number = ir.BlockArgument(argument).arg_number
    given = ir.DictAttr(ir.ArrayAttr(function.attributes["arg_attrs"])[number])
    return _POINTER_RANGE in given and ir.IntegerAttr(given[_POINTER_RANGE]).value == 32
