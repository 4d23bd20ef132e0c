"""Launching: fill a task, let the threads run it, look what it reports."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import partial

from tri_backend_cpu.launch_abi import ARGUMENTS, FAILED, FAILED_PROGRAM, REFUSED, TASK, Facts
from tri_backend_cpu.runtime.checks import AccessChecker, place_of
from tri_backend_cpu.runtime.kernel import CpuKernel
from tri_backend_cpu.runtime.pool import ThreadPool
from tri_backend_cpu.runtime.printing import Printer
from tri_core import knobs
from tri_core.api import Argument, InvalidAccess, KernelFault, Launch
from tri_runtime import ArgumentTable, argument_table, check_grid, null_pointer

__all__ = ["CHUNKS_PER_THREAD", "make_launch", "make_ordered_launch"]

#: what a launch fills: the fields of the task before those of the thread pool
_HEADER = TASK.head("stream")
_FAILED, _PROGRAM = struct.Struct("=i"), struct.Struct("=3i")
_LIMITS = {f"grid_{axis}": 2**31 - 1 for axis in "xyz"}
#: chunks of programs per thread: enough to even out programs of different cost
CHUNKS_PER_THREAD = 8


class _Task:
    """Memory for one launch."""

    __slots__ = ("address", "arguments", "memory")

    def __init__(self, table: ArgumentTable, checker: AccessChecker | None) -> None:
        ranges = checker.size if checker is not None else 0
        self.memory = ctypes.create_string_buffer(ARGUMENTS + table.size + 8 + ranges)
        self.arguments = (ctypes.c_char * (table.size + 8)).from_buffer(self.memory, ARGUMENTS)
        self.address = ctypes.addressof(self.memory)


def make_launch(kernel: CpuKernel, pool: ThreadPool) -> Launch:
    """``launch(grid, stream, args)`` for ``kernel``; streams mean nothing here.

    Pointers tell that two arguments are one array; arrays that overlap in part are for :func:`make_ordered_launch`.
    """
    plain = _make_launch(kernel, *kernel.versions[0], pool)
    differ = [(first, second) for first, second, in_place in kernel.apart if not in_place]
    if not differ or len(kernel.versions) == 1:
        return plain
    ordered: list[Launch] = []  # few launches need it

    def launch(grid: tuple[int, int, int], stream: int | None, args: Sequence[Argument]) -> None:
        for first, second in differ:
            if args[first] == args[second]:
                if not ordered:
                    ordered.append(make_ordered_launch(kernel, pool))
                ordered[0](grid, stream, args)
                return
        plain(grid, stream, args)

    return launch


def make_ordered_launch(kernel: CpuKernel, pool: ThreadPool) -> Launch:
    """The same for arrays that overlap: what a program loads, it loads before it stores what its text has behind."""
    return _make_launch(kernel, *kernel.versions[-1], pool)


def _make_launch(kernel: CpuKernel, address: int, facts: Facts, pool: ThreadPool) -> Launch:
    table = argument_table(kernel.parameters)
    pointers = tuple(i for i, p in enumerate(kernel.parameters) if p.is_pointer)
    printer = Printer(facts.prints)
    printer_address = printer.address
    checker = AccessChecker(kernel, ARGUMENTS + table.size) if facts.accesses else None
    reports = bool(facts.assertions or checker)
    free = [_Task(table, checker)]
    arena_bytes = facts.arena
    pack_header, threads_of, run = _HEADER.pack_into, knobs.get, pool.run
    stored, stream_from = facts.stored, knobs.get("CPU_STREAM_BYTES")

    def launch(grid: tuple[int, int, int], stream: int | None, args: Sequence[Argument]) -> None:
        x, y, z = grid
        total = x * y * z
        if total <= 0 or max(grid) > 2**31 - 1:
            check_grid(grid, _LIMITS)
            return
        for index in pointers:
            if not args[index]:
                raise null_pointer(kernel.name, kernel.parameters[index])
        threads = min(threads_of("CPU_THREADS"), total)
        chunk = max(1, total // (threads * CHUNKS_PER_THREAD))
        try:
            task = free.pop()
        except IndexError:
            task = _Task(table, checker)
        pack_header(
            task.memory,
            0,
            0,
            total,
            chunk,
            x,
            y,
            z,
            0,
            printer_address,
            0,
            0,
            0,
            total * stored >= stream_from,
        )
        table.pack_into(task.arguments, args)
        refused = None
        if checker is None:
            run(address, task.address, arena_bytes, threads)
        else:
            refused = _checked(checker, task, args, partial(run, address, task.address, arena_bytes, threads))
        if reports and _FAILED.unpack_from(task.memory, FAILED) != (0,):
            raise _failure(kernel, facts, bytes(task.memory), refused)
        free.append(task)

    launch.printer = printer  # type: ignore[attr-defined]  # kept alive as long as the launch
    launch.checker = checker  # type: ignore[attr-defined]
    return launch


def _checked(
    checker: AccessChecker, task: _Task, args: Sequence[Argument], run: Callable[[], None]
) -> InvalidAccess | None:
    """Run a checked kernel; what its first forbidden access was."""
    checker.begin(task.memory, task.address, args)
    try:
        run()
    finally:
        refused = checker.end(task.address)
    return refused


def _failure(kernel: CpuKernel, facts: Facts, task: bytes, refused: KernelFault | None) -> KernelFault:
    """Error for the first failure: a refused access, or an assertion."""
    (number,) = _FAILED.unpack_from(task, FAILED)
    if number == REFUSED and refused is not None:
        return refused
    program = _PROGRAM.unpack_from(task, FAILED_PROGRAM)
    record = facts.assertions[number - 1]
    return KernelFault(
        f"device-side assertion {record['message']!r} failed in {kernel.name}, in program {program}",
        remedy="the arrays that the kernel writes may be half written",
        location=place_of(record["place"]),
        kernel=kernel.name,
        kernels=(kernel.name,),
        program=program,
        thread=None,
    )
