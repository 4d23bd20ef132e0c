"""Chains of dots that read each other's results: best split by rows alone."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from tri_core.dialects.tt import LoadOp
from tri_core.ir.dots import Dot
from tri_core.ir.regions import is_loop
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_gpu_dialect.types import tensor_info

__all__ = ["chained"]

#: how many values are looked at behind one operand
_HORIZON = 256


def chained(dots: Sequence[ir.Operation]) -> list[bool]:
    """For each dot, whether its result goes into an operand of another, or it reads another's result."""
    numbers = {d.results[0]: i for i, d in enumerate(dots)}
    links = [_reads([Dot(dot).a, Dot(dot).b], numbers) for dot in dots]
    read = {other for found in links for other in found}
    # an accumulator that goes on from a dot's result is that result
    for i, dot in reversed(list(enumerate(dots))):
        if i in read:
            read |= _reads([Dot(dot).c], numbers)
    return [bool(found) or i in read for i, found in enumerate(links)]


def _reads(values: list[ir.Value], numbers: dict[ir.Value, int]) -> set[int]:
    """The ``numbers`` of the dots whose results ``values`` are computed from, loops and other dots not followed."""
    return {numbers[value] for value in _behind(values, numbers) if value in numbers}


def _behind(values: list[ir.Value], ends: Container[ir.Value]) -> Iterator[ir.Value]:
    """``values`` and what they are computed from, up to ``ends``."""
    ahead, seen = list(values), set(values)
    while ahead and len(seen) < _HORIZON:
        value = ahead.pop()
        yield value
        owner = value.owner
        stops = value in ends or isinstance(owner, ir.Block)
        if not stops and not (isa(owner.operation, LoadOp) or is_loop(owner.operation)):
            for operand in owner.operation.operands:
                if operand not in seen and tensor_info(operand.type) is not None:
                    seen.add(operand)
                    ahead.append(operand)
