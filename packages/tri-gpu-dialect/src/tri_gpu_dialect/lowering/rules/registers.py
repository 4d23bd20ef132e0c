"""Work on registers: mapping a function over lists of scalars, one call per distinct combination."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tri_core.mlir import ir
from tri_gpu_dialect.layouts import LANE, REGISTER
from tri_gpu_dialect.lowering.context import Lowering, Registers

__all__ = ["map_many", "map_registers", "runs"]


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


def runs(ctx: Lowering, value: ir.Value) -> list[int]:
    """For each register of ``value`` the first one whose element is surely equal in every thread, by the runs that are constant.

    Registers whose coordinates differ in bits below an aligned run's length alone stay in one run whatever the thread adds.
    Only along dimensions that lanes don't move along (rows of a tile): elements of one vector stay apart, which assemblers compute
    where they are used, in fewer registers.
    """
    type_ = value.type
    if not isinstance(type_, ir.RankedTensorType):
        return [0]
    layout = ctx.layout(type_)
    places = []
    for dim in range(len(type_.shape)):
        along = layout.sublayout(layout.in_dims, [f"dim{dim}"])
        images = along.images(REGISTER)
        length = 1 if any(along.packed(LANE)) else ctx.axes.constant_run(value, dim)
        places.append([image // (length & -length) for image in images])
    found: dict[tuple[int, ...], int] = {}
    return [found.setdefault(place, i) for i, place in enumerate(zip(*places, strict=True))]
