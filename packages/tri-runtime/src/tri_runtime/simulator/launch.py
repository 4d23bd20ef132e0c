"""Runs a kernel of the ``llvm`` dialect on NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.errors import LaunchError
from tri_core.mlir import ir
from tri_runtime.simulator.cta import CTA, External, Program
from tri_runtime.simulator.memory import Memory, RaceChecker
from tri_runtime.simulator.values import shape_of, to_bf16

__all__ = ["simulate"]

Array = npt.NDArray[Any]


def simulate(
    module: ir.Module,
    name: str,
    grid: tuple[int, int, int],
    arguments: Sequence[Array | float],
    *,
    num_threads: int,
    threads_per_warp: int,
    shared_bytes: int = 0,
    shared_space: int = 3,
    global_space: int = 1,
    externals: Mapping[str, External] | None = None,
    check_races: bool = True,
) -> None:
    """Run kernel ``name`` of ``module`` on every CTA of ``grid``, one after the other.

    ``module`` is in the ``llvm`` dialect with machine ops that have a ``simulate`` method.  Arrays (C
    contiguous) are passed as pointers to global memory and written back; bf16 and f8 arrays are given as
    uint16 and uint8.  Raises DeviceError for what hardware would do wrong: an access outside of every
    buffer, a race in shared memory, a barrier that not all threads reach.
    """
    function = _find(module, name)
    program = Program(function, dict(externals or {}))
    memory = Memory("global")
    parameters = list(function.regions[0].blocks[0].arguments)
    if len(parameters) != len(arguments):
        raise LaunchError(f"{name} takes {len(parameters)} arguments; {len(arguments)} given")
    places = [
        memory.allocate(a.reshape(-1).view(np.uint8)) if isinstance(a, np.ndarray) else None
        for a in arguments
    ]
    scalars = [a if place is None else place for a, place in zip(arguments, places, strict=True)]
    given = [_argument(p.type, s, num_threads) for p, s in zip(parameters, scalars, strict=True)]
    for z in range(grid[2]):
        for y in range(grid[1]):
            for x in range(grid[0]):
                shared, symbols, checker = _shared(module, shared_bytes, check_races)
                memories = {global_space: memory, 0: memory, shared_space: shared}
                cta = CTA(program, num_threads, threads_per_warp, memories, symbols, (x, y, z), grid, checker)
                cta.run(given)
    for array, place in zip(arguments, places, strict=True):
        if isinstance(array, np.ndarray) and place is not None and array.flags.writeable:
            array.reshape(-1).view(np.uint8)[:] = memory.contents(place)


def _find(module: ir.Module, name: str) -> ir.Operation:
    for op in module.body.operations:
        if op.name == "llvm.func" and ir.StringAttr(op.attributes["sym_name"]).value == name:
            return op.operation
    raise LaunchError(f"the module has no function {name!r}")


def _argument(type_: ir.Type, value: Array | float, num_threads: int) -> Array:
    shape = shape_of(type_)
    scalar = to_bf16(np.array(value)) if shape.bf16 else np.array(value).astype(shape.dtype)
    return np.broadcast_to(scalar, (num_threads,))


def _shared(module: ir.Module, nbytes: int, check: bool) -> tuple[Memory, dict[str, int], RaceChecker | None]:
    """Shared memory of one CTA, where all of the module's globals live at its start."""
    checker = RaceChecker(nbytes) if check else None
    memory = Memory("shared", checker=checker)
    base = memory.allocate(nbytes)
    names = [op for op in module.body.operations if op.name == "llvm.mlir.global"]
    return memory, {ir.StringAttr(op.attributes["sym_name"]).value: base for op in names}, checker
