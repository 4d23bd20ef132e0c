"""Reports of ``ptxas -v`` for a kernel, as numbers, and explanations of its error messages."""

from __future__ import annotations

import re

from tri_core.api import OutOfResources
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Usage", "parse_usage", "shared_overflow"]

_REGISTERS = re.compile(r"Used (\d+) registers")
_BARRIERS = re.compile(r"used (\d+) barriers")
_SHARED = re.compile(r"(\d+) bytes smem")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_OVERFLOW = re.compile(r"uses too much shared data \((0x[0-9a-f]+) bytes, (0x[0-9a-f]+) max\)")


@dataclass(frozen=True)
class Usage:
    """Resource usage of a kernel: registers per thread; bytes per thread of spill stores, loads and stack
    frame.

    ``shared`` is statically allocated shared memory in bytes per CTA, ``barriers`` named barriers.
    """

    registers: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    stack: int = 0
    shared: int = 0
    barriers: int = 0


def parse_usage(log: str) -> Usage:
    """The usage that ``ptxas -v`` reports; the largest numbers when there are several kernels."""
    stacks = [tuple(map(int, match)) for match in _STACK.findall(log)] or [(0, 0, 0)]
    stack, stores, loads = (max(column) for column in zip(*stacks, strict=True))
    return Usage(
        registers=_largest(_REGISTERS, log),
        spill_stores=stores,
        spill_loads=loads,
        stack=stack,
        shared=_largest(_SHARED, log),
        barriers=_largest(_BARRIERS, log),
    )


def _largest(pattern: re.Pattern[str], log: str) -> int:
    return max((int(number) for number in pattern.findall(log)), default=0)


def shared_overflow(log: str, kernel: str) -> OutOfResources | None:
    """The error for a kernel whose static shared memory ptxas refuses."""
    match = _OVERFLOW.search(log)
    if match is None:
        return None
    need, have = (int(text, 16) for text in match.groups())
    return OutOfResources(
        f"kernel {kernel} needs {need} bytes of shared memory, {have} can be had",
        remedy="use smaller blocks, or fewer stages (num_stages)",
        resource="shared",
        need=need,
        have=have,
    )
