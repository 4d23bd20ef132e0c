"""A machine that is made of threads: one of this process for each thread of a block.

Blocks run one after the other.  Kernels are objects of this processor, linked into the process; the builtins that
they call (the thread's number, the barrier, ...) are Python functions.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tri_core import forks
from tri_core.api import DeviceError, OutOfResources
from tri_runtime.loader import LoadedObject

from tri_backend_toy.architectures import ARCHITECTURES
from tri_backend_toy.image import ENTRY

__all__ = ["ToyMachine"]

_ARCHITECTURE = "t1"
_LANES = ARCHITECTURES[_ARCHITECTURE].lanes
_MEMORY = 1 << 30
_ALIGNMENT = 256
#: seconds after which a thread no longer waits for others: a kernel in which they never reach one barrier is an error
_PATIENCE = 60.0


@dataclass
class ToyMachine:
    """The one device; a launch is over when it returns, and launches of several threads take turns."""

    _memory: dict[int, ctypes.Array[ctypes.c_char]] = field(default_factory=dict)
    #: loaded objects by the address of their entries: code lives as long as its object
    _objects: dict[int, LoadedObject] = field(default_factory=dict)
    _lock: forks.Lock = field(default_factory=lambda: forks.Lock(waits=False))

    def devices(self) -> Sequence[tuple[str, str]]:
        """One."""
        return [(_ARCHITECTURE, "threads of this process")]

    def allocate(self, device: int, nbytes: int) -> int:
        """Memory of the process."""
        have = _MEMORY - sum(map(len, self._memory.values()))
        if nbytes > have:
            raise OutOfResources(
                f"the device has no {nbytes} bytes left",
                remedy="free arrays that are not needed",
                resource="memory",
                need=nbytes,
                have=have,
            )
        block = ctypes.create_string_buffer(nbytes + _ALIGNMENT)
        address = -(-ctypes.addressof(block) // _ALIGNMENT) * _ALIGNMENT
        self._memory[address] = block
        return address

    def free(self, device: int, address: int) -> None:
        """Leave it to Python."""
        del self._memory[address]

    def copy_in(self, device: int, destination: int, source: int, nbytes: int) -> None:
        """Copy bytes."""
        ctypes.memmove(destination, source, nbytes)

    def copy_out(self, device: int, destination: int, source: int, nbytes: int) -> None:
        """Copy bytes."""
        ctypes.memmove(destination, source, nbytes)

    def load(self, device: int, image: bytes, name: str) -> int:
        """Link the object with the builtins; the function is the address of the entry."""
        entry = ENTRY.format(name)
        builtins = {
            f"__toy_{builtin}": ctypes.cast(function, ctypes.c_void_p).value or 0
            for builtin, function in _BUILTINS.items()
        }
        made = LoadedObject(image, [entry], builtins)
        (address,) = made.addresses
        self._objects[address] = made
        return address

    def unload(self, device: int, function: int) -> None:
        """Give the code's memory back."""
        del self._objects[function]

    def launch(
        self,
        device: int,
        function: int,
        grid: tuple[int, int, int],
        threads: int,
        stream: int,
        arguments: int,
        nbytes: int,
    ) -> None:
        """Run the grid; DeviceError when threads of a block wait for each other at different places."""
        entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)
        running = _Launch(grid, threads)
        workers = [
            threading.Thread(target=running.thread, args=(entry, arguments, number), daemon=True)
            for number in range(threads)
        ]
        with self._lock:  # kernels keep the shared memory of a block in a global
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        if running.failures:
            raise DeviceError("threads of a block do not reach one barrier") from running.failures[0]

    def synchronize(self, device: int) -> None:
        """A launch is over when it returns."""


class _Launch:
    """One grid: where its threads synchronise, and what lanes show each other."""

    def __init__(self, grid: tuple[int, int, int], threads: int) -> None:
        self.grid = grid
        self.block = threading.Barrier(threads, timeout=_PATIENCE)
        self.warps = [threading.Barrier(_LANES, timeout=_PATIENCE) for _ in range(0, threads, _LANES)]
        self.shown = [0] * threads
        self.failures: list[Exception] = []

    def thread(self, entry: Callable[[int], None], arguments: int, number: int) -> None:
        """Run thread ``number``: its part of each block, x fastest."""
        _here.launch, _here.number = self, number
        for z, y, x in itertools.product(*map(range, reversed(self.grid))):
            _here.program = (x, y, z)
            entry(arguments)
            self.synchronise()

    def synchronise(self) -> None:
        """The barrier of the block."""
        self._wait(self.block)

    def shuffle(self, number: int, value: int, lane: int) -> int:
        """``value`` of lane ``lane`` of the warp of thread ``number``."""
        warp = number // _LANES
        self.shown[number] = value
        self._wait(self.warps[warp])
        found = self.shown[warp * _LANES + lane % _LANES]
        self._wait(self.warps[warp])
        return found

    def _wait(self, barrier: threading.Barrier) -> None:
        """Wait; nothing can be raised through compiled code, so a failure is kept and all waits end."""
        try:
            barrier.wait()
        except threading.BrokenBarrierError as error:
            self.failures.append(error)
            for other in (self.block, *self.warps):
                other.abort()


#: of the present thread: ``launch``, ``number`` and ``program``
_here: Any = threading.local()

_I32 = ctypes.c_int32
#: what kernels call, by name without the prefix
_BUILTINS: dict[str, Any] = {
    "thread_id": ctypes.CFUNCTYPE(_I32)(lambda: _here.number),
    "program_id": ctypes.CFUNCTYPE(_I32, _I32)(lambda axis: _here.program[axis]),
    "num_programs": ctypes.CFUNCTYPE(_I32, _I32)(lambda axis: _here.launch.grid[axis]),
    "barrier": ctypes.CFUNCTYPE(None)(lambda: _here.launch.synchronise()),
    "shuffle": ctypes.CFUNCTYPE(_I32, _I32, _I32)(
        lambda value, lane: _here.launch.shuffle(_here.number, value, lane)
    ),
}
