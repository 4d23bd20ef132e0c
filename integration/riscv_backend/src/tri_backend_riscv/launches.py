"""Launches: fill a task, run the program, look what it reports."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from tri_backend_cpu.launch_abi import ARGUMENTS, ATTENTION, FAILED, FAILED_PROGRAM, REFUSED, TASK, Facts
from tri_backend_cpu.runtime.checks import AccessChecker, BoundedPointer, place_of
from tri_backend_cpu.runtime.printing import Printer
from tri_core.api import Argument, ArrayArgument, KernelFault, Parameter
from tri_runtime import argument_table, check_grid, null_pointer

from tri_backend_riscv.memory import BASE, BYTES, SharedMemory

__all__ = ["Launcher", "Program", "bounded"]

_HEADER = TASK.head("stream")
_LIMITS = {f"grid_{axis}": 2**31 - 1 for axis in "xyz"}
_PAGE = 4096
#: what a program writes: site, program, kind, element or address, value
_RECORD = struct.Struct("<qiiiiq8s")
#: kinds: a line without a value and one with it, an access that is refused
_VALUE, _REFUSED = 1, 2
_I32, _I64, _POINTER = ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p
#: of :attr:`Printer.address`
_PRINT = ctypes.CFUNCTYPE(None, _I64, _I32, _I32, _I32, _I64, _POINTER)
#: of the checker whose address :meth:`AccessChecker.begin` writes
_CHECK = ctypes.CFUNCTYPE(_I32, _POINTER, _I64, _I32, _I32, _I32, _I64, _POINTER)


class Program(Protocol):
    """A linked kernel, as launches need it."""

    name: str
    parameters: tuple[Parameter, ...]
    facts: Facts

    def run(self, words: Sequence[int], memory: int) -> bytes:
        """Run it with ``words`` on its command line, on the memory of file ``memory``: what it writes."""
        ...


@contextmanager
def bounded(
    arrays: Sequence[ArrayArgument], staged: AbstractContextManager[Sequence[Argument]]
) -> Iterator[tuple[Argument, ...]]:
    """The addresses that ``staged`` gives for ``arrays``, as pointers that know how far the array reaches."""
    with staged as addresses:
        yield tuple(map(_pointer, arrays, addresses))


def _pointer(array: ArrayArgument, address: Argument) -> Argument:
    if array.device is not None or not isinstance(address, int):
        return address
    here, made = BoundedPointer.to(array), BoundedPointer(address)
    made.array = array
    made.low, made.high = made + (here.low - here), made + array.nbytes
    return made


class Launcher:
    """Launches of one function of a kernel."""

    def __init__(self, kernel: Program, memory: SharedMemory, *, ordered: bool) -> None:
        self._kernel = kernel
        self._memory = memory
        self._ordered = ordered
        self._facts = kernel.facts.ordered if ordered and kernel.facts.ordered is not None else kernel.facts
        self._table = argument_table(kernel.parameters)
        self._pointers = tuple(i for i, p in enumerate(kernel.parameters) if p.is_pointer)
        self._printer = Printer(self._facts.prints)
        given: Any = (
            kernel  # the checker asks for what the CPU's kernels have alike: name, parameters, facts, apart
        )
        end = ARGUMENTS + self._table.size
        self._checker = AccessChecker(given, end) if self._facts.accesses else None
        self._bytes = end + 8 + (self._checker.size if self._checker is not None else 0)

    def __call__(self, grid: tuple[int, int, int], args: Sequence[Argument]) -> None:
        """Run the programs of ``grid``; what the kernel reports is raised, or printed."""
        check_grid(grid, _LIMITS)
        if 0 in grid:
            return
        for index in self._pointers:
            if not args[index]:
                raise null_pointer(self._kernel.name, self._kernel.parameters[index])
        task_bytes = -(-self._bytes // _PAGE) * _PAGE
        task = self._memory.alloc(task_bytes + self._facts.arena)
        try:
            self._run(task, task + task_bytes, grid, args)
        finally:
            self._memory.free(task)

    def _run(self, task: int, arena: int, grid: tuple[int, int, int], args: Sequence[Argument]) -> None:
        made, checker, here = self._task(grid, args), self._checker, self._memory.here(task)
        refused = None
        if checker is not None:
            checker.begin(made, here, args)
        try:
            check = self._open_ranges(made, args)
            self._memory.write(task, bytes(made))
            offset = checker.offset if checker is not None else 0
            words = (BASE, BYTES, task, arena, TASK.offset("printer"), offset, int(self._ordered))
            self._report(self._kernel.run(words, self._memory.file), check, here)
        finally:
            if checker is not None:
                refused = checker.end(here)
        if refused is not None:
            raise refused
        (failed,) = struct.unpack("<i", self._memory.read(task + FAILED, 4))
        if failed not in (0, REFUSED):
            raise self._failure(failed, struct.unpack("<3i", self._memory.read(task + FAILED_PROGRAM, 12)))

    def _task(self, grid: tuple[int, int, int], args: Sequence[Argument]) -> ctypes.Array[ctypes.c_char]:
        made = ctypes.create_string_buffer(self._bytes)
        x, y, z = grid
        total = x * y * z
        _HEADER.pack_into(made, 0, 0, total, max(1, total), x, y, z, 0, 0, 0, 0, 0, 0)
        struct.pack_into("<Q", made, ATTENTION, BASE)  # zeros: nobody asks for attention
        self._table.pack_into((ctypes.c_char * (self._table.size + 8)).from_buffer(made, ARGUMENTS), args)
        return made

    def _open_ranges(self, made: ctypes.Array[ctypes.c_char], args: Sequence[Argument]) -> int:
        """Let pointers of which no array is known reach all of the memory; the address of the host's checker."""
        if self._checker is None:
            return 0
        first = self._checker.offset + 8
        for row, argument in enumerate((*args, None)):
            if not isinstance(argument, BoundedPointer):
                struct.pack_into("<4q", made, first + 32 * row, BASE, BASE + BYTES, BASE, BASE + BYTES)
        (address,) = struct.unpack_from("<Q", made, self._checker.offset)
        return int(address)

    def _report(self, said: bytes, check: int, task: int) -> None:
        """Print what the kernel printed, and show the checker what was refused."""
        for site, x, y, z, kind, where, value in _RECORD.iter_unpack(said):
            if kind == _REFUSED:
                _CHECK(check)(task, site, x, y, z, where, ctypes.addressof(ctypes.create_string_buffer(16)))
                continue
            held = ctypes.create_string_buffer(value, 8)
            found = ctypes.addressof(held) if kind == _VALUE else None
            _PRINT(self._printer.address)(site, x, y, z, where, found)

    def _failure(self, number: int, program: tuple[int, ...]) -> KernelFault:
        record = self._facts.assertions[number - 1]
        name = self._kernel.name
        return KernelFault(
            f"device-side assertion {record['message']!r} failed in {name}, in program {program}",
            remedy="the arrays that the kernel writes are as before the launch",
            location=place_of(record["place"]),
            kernel=name,
            kernels=(name,),
            program=(program[0], program[1], program[2]),
            thread=None,
        )
