"""Launch ABI: the layout of the task that the runtime fills and compiled code reads.

A kernel is ``void kernel(void *task, void *arena)``.  It takes chunks of programs off the task's counter
until none is left, so that any number of threads may call it with one task, each with an arena of its own.  Next to it
the object has a string, ``kernel.facts``: JSON with what the runtime must know (:class:`Facts`), so that an
object is whole by itself, from whatever stage it was compiled.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, field
from typing import Any, Self

from tri_core.lazy_dataclasses import dataclass
from tri_runtime.schema import CType, Field, Record

__all__ = [
    "ARGUMENTS",
    "ATTENTION",
    "CHUNK",
    "FAILED",
    "FAILED_PROGRAM",
    "GRID",
    "NEXT",
    "POLL",
    "PRINTER",
    "REFUSED",
    "STREAM",
    "TASK",
    "TOTAL",
    "Facts",
    "argument_offsets",
    "checks_offset",
    "facts_symbol",
    "ordered_symbol",
    "range_index",
]

#: a task up to the kernel's arguments, which are laid out behind it as a C struct
TASK = Record(
    "task",
    (
        Field("next", CType.I64, "the first program not yet taken; counted up atomically"),
        Field("total", CType.I64, "number of programs"),
        Field("chunk", CType.I64, "programs to take at a time"),
        *(Field(f"grid_{axis}", CType.I32, f"programs along {axis}") for axis in "xyz"),
        Field("failed", CType.I32, "1 + the number of an assertion that failed, 0 if none did"),
        Field("printer", CType.POINTER, "called for every element that a kernel prints"),
        *(Field(f"failed_program_{axis}", CType.I32, "the program in which it failed") for axis in "xyz"),
        Field("stream", CType.I32, "whether stores go past the caches, as there are more than these hold"),
        Field("attention", CType.POINTER, "to i32: not 0 where code that runs for long is to call poll"),
        Field("poll", CType.POINTER, "void poll(task, arena); it may not return"),
        Field("cancelled", CType.I32, "whether the launch is given up"),
    ),
)
#: byte offsets in a task; GRID and FAILED_PROGRAM: of three i32
NEXT, TOTAL, CHUNK = TASK.offset("next"), TASK.offset("total"), TASK.offset("chunk")
GRID, FAILED_PROGRAM = TASK.offset("grid_x"), TASK.offset("failed_program_x")
FAILED, PRINTER, STREAM = TASK.offset("failed"), TASK.offset("printer"), TASK.offset("stream")
ATTENTION, POLL = TASK.offset("attention"), TASK.offset("poll")
ARGUMENTS = TASK.size

#: what FAILED holds when the checker refused an access
REFUSED = -1


def argument_offsets(sizes: Sequence[int]) -> list[int]:
    """Offsets within the task of arguments of ``sizes`` bytes, each aligned to its size."""
    offsets, end = [], ARGUMENTS
    for size in sizes:
        offsets.append(-(-end // size) * size)
        end = offsets[-1] + size
    return offsets


def checks_offset(sizes: Sequence[int]) -> int:
    """Offset in a checked kernel's task, behind arguments of ``sizes`` bytes, of the checker's address and
    the ranges.

    A range is two i64: addresses from the first up to the second may be accessed without asking the checker.  Every
    parameter has two, for reading and for writing, as :func:`range_index` numbers them; two more are for pointers
    that are derived from no parameter.
    """
    end = max((o + s for o, s in zip(argument_offsets(sizes), sizes, strict=True)), default=ARGUMENTS)
    return -(-end // 8) * 8


def range_index(parameter: int, *, writes: bool) -> int:
    """The number of the range for accesses through ``parameter`` (the count of parameters: through none)."""
    return 2 * parameter + writes


def facts_symbol(kernel: str) -> str:
    """The symbol of the facts of ``kernel``."""
    return f"{kernel}.facts"


def ordered_symbol(kernel: str) -> str:
    """The symbol of the function of ``kernel`` that is right for arrays that overlap."""
    return f"{kernel}__ordered"


@dataclass(frozen=True)
class Facts:
    """Facts of a kernel for the runtime.

    ``arena``: bytes of scratch memory per thread; ``stored``: bytes that a program stores, counting a
    loop's stores once; ``assertions``, ``prints`` and ``accesses`` (of a checked kernel): what their numbers in the
    code stand for; ``parameters``: bytes of each.  ``apart``: pairs of parameters whose arrays the kernel takes for
    disjoint, each with 1 if they may also be the same, 0 if not; ``ordered``: the facts of the function for arrays that
    overlap, which is beside the kernel (:func:`ordered_symbol`).  ``certain``: accesses of which a launch can tell
    where they are (:mod:`tri_backend_cpu.lower.extents`).
    """

    arena: int = 0
    stored: int = 0
    assertions: list[dict[str, Any]] = field(default_factory=list)
    prints: list[dict[str, Any]] = field(default_factory=list)
    parameters: list[int] | None = None
    accesses: list[dict[str, Any]] = field(default_factory=list)
    apart: list[list[int]] = field(default_factory=list)
    ordered: Facts | None = None
    certain: list[dict[str, Any]] = field(default_factory=list)

    def to_text(self) -> str:
        """As JSON; what few kernels have is only in theirs."""
        facts = asdict(self)
        for rare in ("accesses", "apart", "ordered", "certain"):
            if not facts[rare]:
                del facts[rare]
        if self.ordered is not None:
            facts["ordered"] = {"arena": self.ordered.arena, "stored": self.ordered.stored}
            facts["ordered"] |= {"assertions": self.ordered.assertions, "prints": self.ordered.prints}
        return json.dumps(facts)

    @classmethod
    def find(cls, image: bytes) -> Self:
        """The facts in an object file, wherever it is for: they are the one string that starts like them."""
        start = image.index(b'{"arena": ')
        return cls.from_text(image[start : image.index(b"\0", start)])

    @classmethod
    def from_text(cls, text: str | bytes) -> Self:
        """The inverse of :meth:`to_text`."""
        found = json.loads(text)
        ordered = found.get("ordered")
        if ordered is not None:
            found["ordered"] = cls(**ordered)
        return cls(**found)
