"""Running a kernel on a target, and comparing what it leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

import tri
from integration.device_arrays import device_of, to_device, to_host
from integration.random_kernels.running import aligned, loaded
from integration.random_kernels.values import Array, numpy_dtype
from integration.random_programs.patterns import PATTERNS
from integration.random_programs.program import Memory, Programs, numbers
from integration.random_programs.source import memories
from tri_core.errors import Unsupported

__all__ = ["by_volatile", "difference", "expected", "run", "shrunk"]


def _made(memory: Memory) -> Array:
    made = aligned(memory.numel, memory.dtype)
    made.view(np.uint8)[:] = 0 if memory.zeroed else 0xA5
    return made


def _arrays(kernel: Programs) -> dict[str, Array]:
    """Fresh memory for one launch, poisoned where the kernel does not need zeros."""
    values = numbers(kernel.shape, kernel.seed)
    given = aligned(values.size, kernel.shape.dtype)
    given[:] = values.ravel().astype(numpy_dtype(kernel.shape.dtype))
    return {"x": given, **{memory.name: _made(memory) for memory in memories(kernel)}}


def expected(kernel: Programs) -> dict[str, Array]:
    """Final memory contents, by NumPy; exact."""
    arrays, v = _arrays(kernel), numbers(kernel.shape, kernel.seed)
    for i, part in enumerate(kernel.parts):
        v = PATTERNS[part.pattern].expected(part, kernel.shape, i, v, arrays)
    return arrays


def _needs_all(kernel: Programs) -> bool:
    return any(PATTERNS[part.pattern].needs_all(part) for part in kernel.parts)


def by_volatile(kernel: Programs) -> bool:
    """True if a part of the kernel is a race to race detectors."""
    return any(PATTERNS[part.pattern].by_volatile(part) for part in kernel.parts)


def _context(kernel: Programs, target: str, order: int) -> AbstractContextManager[Any]:
    races = not by_volatile(kernel)
    if target == "interpreter":
        interpret: Any = tri.interpret
        made: AbstractContextManager[Any] = interpret(races=races)
        return made
    if target == "cpu" and _needs_all(kernel):
        raise Unsupported("programs wait for ones of higher numbers, which may not have begun")
    stack = ExitStack()
    stack.enter_context(tri.target(target))
    if target.startswith("sim:"):
        stack.enter_context(
            tri.simulation(report=False, races=races, memory="weak", schedule=kernel.seed + order)
        )
    return stack


def run(kernel: Programs, target: str, schedules: int = 0) -> list[Array]:
    """Contents of the compared memory after ``kernel`` on ``target``; ``numpy`` is the expectation.

    A simulator does it in ``schedules`` orders, one by default: what the first wrong one leaves counts.
    """
    right = _compared(kernel, expected(kernel))
    if target == "numpy":
        return right
    found = right
    for order in range(max(schedules, 1) if target.startswith("sim:") else 1):
        found = _compared(kernel, _left(kernel, target, order))
        if not all(map(np.array_equal, right, found)):
            break
    return found


def _compared(kernel: Programs, arrays: Mapping[str, Array]) -> list[Array]:
    return [arrays[memory.name] for memory in memories(kernel) if memory.compared]


def _left(kernel: Programs, target: str, order: int) -> dict[str, Array]:
    """Contents of all memory after a launch, in order number ``order`` of the kernel's if the target has
    several.
    """
    found, device = _arrays(kernel), device_of(target)
    given = found if device is None else {name: to_device(x, device) for name, x in found.items()}
    with _context(kernel, target, order):
        loaded(kernel.source)[(kernel.shape.programs,)](
            *given.values(), num_warps=kernel.num_warps, num_stages=kernel.num_stages
        )
    if device is not None:
        found = {name: to_host(given[name], like) for name, like in found.items()}
    return found


def difference(
    kernel: Programs, names: tuple[str, str], left: Sequence[Array], right: Sequence[Array]
) -> str | None:
    """Difference between two targets, with the source; None if they agree."""
    compared = [memory for memory in memories(kernel) if memory.compared]
    for memory, a, b in zip(compared, left, right, strict=True):
        if not np.array_equal(a, b):
            where = np.flatnonzero(a != b)[:4]
            return (
                f"{names[0]} and {names[1]} disagree in {memory.name} ({memory.dtype}) at {where}: {a[where]} against "
                f"{b[where]}; {kernel.shape}, num_warps={kernel.num_warps}\n{kernel.source}"
            )
    return None


def _smaller(kernel: Programs) -> Iterator[Programs]:
    for i in range(len(kernel.parts)):
        if len(kernel.parts) > 1:
            yield replace(kernel, parts=(*kernel.parts[:i], *kernel.parts[i + 1 :]))
    if kernel.shape.programs > 2 and not kernel.productions & {"grid_barrier"}:
        yield replace(kernel, shape=replace(kernel.shape, programs=2))
    if kernel.num_warps > 1:
        yield replace(kernel, num_warps=1)
    if kernel.num_stages > 1:
        yield replace(kernel, num_stages=1)


def shrunk(kernel: Programs, fails: Callable[[Programs], bool]) -> Programs:
    """The smallest kernel found that fails."""
    while (smaller := next((k for k in _smaller(kernel) if fails(k)), None)) is not None:
        kernel = smaller
    return kernel
