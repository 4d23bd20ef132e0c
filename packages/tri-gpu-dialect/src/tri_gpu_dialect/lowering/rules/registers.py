"""Work on registers: mapping a function over lists of scalars, one call per distinct combination."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tri_core.mlir import ir
from tri_gpu_dialect.lowering.context import Registers

__all__ = ["map_many", "map_registers"]


def map_registers(function: Callable[..., ir.Value], *operands: Registers) -> Registers:
    """``function`` of the operands' registers; equal registers are computed once and stay shared.

    An operand of one register goes with every register of the others (a scalar condition, say).
    """
    if len(operands) == 1:
        return _map_one(function, operands[0])
    seen: dict[tuple[int, ...], ir.Value] = {}
    result = []
    for scalars in zip(*_stretched(operands), strict=True):
        key = tuple(map(id, scalars))
        value = seen.get(key)
        if value is None:
            value = seen[key] = function(*scalars)
        result.append(value)
    return result


def _map_one(function: Callable[..., ir.Value], operand: Registers) -> Registers:
    seen: dict[int, ir.Value] = {}
    for scalar in operand:
        if id(scalar) not in seen:
            seen[id(scalar)] = function(scalar)
    return [seen[id(scalar)] for scalar in operand]


def map_many(
    function: Callable[..., Sequence[ir.Value]], results: int, *operands: Registers
) -> list[Registers]:
    """As :func:`map_registers` for a function with several ``results``: one list per result."""
    seen: dict[tuple[int, ...], Sequence[ir.Value]] = {}
    rows = []
    for scalars in zip(*_stretched(operands), strict=True):
        key = tuple(map(id, scalars))
        if key not in seen:
            seen[key] = function(*scalars)
        rows.append(seen[key])
    return [[row[i] for row in rows] for i in range(results)]


def _stretched(operands: Sequence[Registers]) -> list[Registers]:
    count = max(map(len, operands), default=0)
    return [o * count if len(o) == 1 else o for o in operands]
