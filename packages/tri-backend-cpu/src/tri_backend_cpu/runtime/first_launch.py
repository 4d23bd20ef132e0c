"""A kernel's first launch: accesses that its arguments and its grid put outside of an array are errors before it runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tri_backend_cpu.runtime.checks import place_of
from tri_backend_cpu.runtime.kernel import CpuKernel
from tri_core.api import Argument, ArrayArgument, OutOfBounds

__all__ = ["check_first_launch"]


class _Wraps(Exception):
    """A number that its type does not hold: what the kernel computes then is not described."""


class _Program(NamedTuple):
    """One program of a grid, and the launch's arguments."""

    position: tuple[int, int, int]
    grid: tuple[int, int, int]
    args: Sequence[Argument]


def check_first_launch(
    kernel: CpuKernel, grid: tuple[int, int, int], args: Sequence[Argument | ArrayArgument]
) -> None:
    """OutOfBounds if the first or the last programs of ``grid`` surely leave an array; arrays that are no ArrayArgument pass."""
    for record in kernel.facts.certain:
        array = args[record["parameter"]]
        if not isinstance(array, ArrayArgument):
            continue
        memory = _memory_of(array)
        if memory is None:
            continue
        for position in _corners(grid):
            offset = _offset_outside(record, array, memory, _Program(position, grid, args))
            if offset is not None:
                raise _error(kernel, record, array, offset, position)


def _corners(grid: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    """The first and the last programs along each axis, x fastest."""
    ends = [sorted({0, count - 1}) for count in reversed(grid)]
    for z, y, x in itertools.product(*ends):
        yield x, y, z


def _memory_of(array: ArrayArgument) -> tuple[int, int] | None:
    """Addresses of the memory that ``array`` is a view of, from the first up to the last; None where that is not known."""
    owner: Any = array.owner
    storage = getattr(owner, "untyped_storage", None)
    if storage is not None:
        found = storage()
        return found.data_ptr(), found.data_ptr() + found.nbytes()
    if not hasattr(owner, "__array_interface__"):
        return None
    while getattr(owner, "base", None) is not None:
        owner = owner.base
    interface = getattr(owner, "__array_interface__", None)
    if interface is None or interface.get("strides") is not None:
        return None
    low = interface["data"][0]
    return low, low + owner.nbytes


def _offset_outside(
    record: dict[str, Any], array: ArrayArgument, memory: tuple[int, int], program: _Program
) -> int | None:
    """An offset in elements at which the access leaves ``memory``, or None."""
    try:
        least, largest = _ends(record["offset"], program)
    except _Wraps:
        return None
    low, high = memory
    size = record["size"]
    if array.pointer + largest * size + size > high:
        # the first element that is not there, which neighbours of the last one reach
        return max(least, -(-(high - array.pointer - size + 1) // size))
    return least if array.pointer + least * size < low else None


def _ends(expression: Any, program: _Program) -> tuple[int, int]:
    """The least and the largest value; _Wraps if a part does not fit into its type."""
    match expression:
        case int():
            return expression, expression
        case ["range", low, high]:
            return low, high
        case ["program", axis]:
            return program.position[axis], program.position[axis]
        case ["programs", axis]:
            return program.grid[axis], program.grid[axis]
        case ["parameter", index, bits]:
            value = program.args[index]
            if not isinstance(value, int):
                raise _Wraps
            return _fitting(bits, value, value)
        case [kind, bits, first, second]:
            return _fitting(bits, *_joined(kind, _ends(first, program), _ends(second, program)))
        case _:
            raise _Wraps


def _joined(kind: str, first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
    if kind == "add":
        return first[0] + second[0], first[1] + second[1]
    if kind == "sub":
        return first[0] - second[1], first[1] - second[0]
    products = [a * b for a, b in itertools.product(first, second)]
    return min(products), max(products)


def _fitting(bits: int, low: int, high: int) -> tuple[int, int]:
    limit = 1 << (bits - 1)
    if low < -limit or high >= limit:
        raise _Wraps
    return low, high


def _error(
    kernel: CpuKernel,
    record: dict[str, Any],
    array: ArrayArgument,
    offset: int,
    program: tuple[int, int, int],
) -> OutOfBounds:
    name, size = kernel.parameters[record["parameter"]].name, record["size"]
    return OutOfBounds(
        f"{record['verb']} reaches element {offset} of {name!r}, which has {array.nbytes // size} ({array.dtype}), "
        f"in program {program} of {kernel.name}: the kernel was not run",
        remedy="give a mask that is false there, e.g. mask=offsets < n",
        location=place_of(record["place"]),
        kernel=kernel.name,
        kernels=(kernel.name,),
        program=program,
        thread=None,
        address=array.pointer + offset * size,
        parameter=name,
        offset=offset * size,
        extent=array.nbytes,
    )
