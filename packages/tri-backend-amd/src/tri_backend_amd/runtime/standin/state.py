"""State of HIP: devices with their queues and memory, streams, events, graphs, modules.

A device runs what was enqueued on it in the order of enqueueing, and only when somebody waits: a caller that forgets to wait
sees old bytes every time, not now and then.
"""

from __future__ import annotations

import bisect
import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_amd.runtime.standin.configuration import Configuration, DeviceConfiguration
from tri_backend_amd.runtime.standin.errors import Fault, HipError, Refused
from tri_core import forks
from tri_core.api import TriError
from tri_core.lazy_dataclasses import dataclass
from tri_runtime.simulator.reserved import Reserved, release, reserve, view

__all__ = ["Block", "Device", "Event", "Graph", "State", "Stream", "Work"]

logger = logging.getLogger(__name__)

_Bytes = npt.NDArray[np.uint8]
#: what nobody has written
_UNWRITTEN = 0xA5
_ALIGNMENT = 256
#: one after the other in no memory: handles are not read by callers
_FIRST_HANDLE, _STEP = 0x7AD0_0000_0000, 0x40


@dataclass(frozen=True, eq=False)
class Block:
    """An allocation of ``device``: ``data`` is its bytes, ``reserved.start`` where kernels and callers see them."""

    device: Device
    reserved: Reserved
    data: _Bytes
    number: int

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.reserved.start + self.data.size


@dataclass(frozen=True, eq=False)
class Work:
    """Something enqueued on ``stream``."""

    stream: Stream
    run: Callable[[], None]


@dataclass(eq=False)
class Stream:
    """A stream of ``device``; ``captured``: the work that a capture has seen, None outside of one."""

    device: Device
    captured: list[Callable[[], None]] | None = None


@dataclass(eq=False)
class Event:
    """An event: ``mark`` is its work while that is under way, ``at`` the seconds when it was reached."""

    device: Device
    mark: Work | None = None
    at: float | None = None


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes of a capture, or an executable graph of them."""

    work: tuple[Callable[[], None], ...]


@dataclass(eq=False)
class Device:
    """A device; ``fault`` is the error that it answers to the end of the process."""

    index: int
    configuration: DeviceConfiguration
    queue: deque[Work] = field(default_factory=deque)
    fault: HipError | None = None
    used: int = 0
    launches: int = 0
    lose_at: int | None = None

    def __post_init__(self) -> None:
        self.default = Stream(self)

    def check(self) -> None:
        """Refused after a fault."""
        if self.fault is not None:
            raise Refused(self.fault, f"device {self.index} had a fault")

    def lose(self, code: HipError, why: str) -> None:
        """Answer ``code`` from now on, and drop what is enqueued."""
        logger.error("the stand-in's device %d has a fault: %s", self.index, why)
        self.fault = code
        self.queue.clear()

    def lose_on_demand(self) -> None:
        """Have a fault, as a test asks for."""
        self.lose(HipError.ILLEGAL_ADDRESS, "the stand-in was asked for it")

    def enqueue(self, stream: Stream, run: Callable[[], None]) -> Work | None:
        """Put ``run`` behind all other work; a stream that is captured keeps it for the graph, and None is the answer."""
        self.check()
        if stream.captured is not None:
            stream.captured.append(run)
            return None
        made = Work(stream, run)
        self.queue.append(made)
        return made

    def finish(self, wanted: Callable[[Work], bool]) -> None:
        """Run the queue up to the last work that is ``wanted``; Refused when the device had a fault."""
        last = max((i for i, work in enumerate(self.queue) if wanted(work)), default=-1)
        for _ in range(last + 1):
            if not self.queue:  # a fault cleared it
                break
            work = self.queue.popleft()
            try:
                work.run()
            except (Fault, TriError) as fault:
                self.lose(HipError.ILLEGAL_ADDRESS, str(fault))
        self.check()


class State:
    """The whole of a process's HIP."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.devices = [Device(i, each) for i, each in enumerate(configuration.devices)]
        self.lock = forks.RLock()
        self.answers: dict[str, HipError] = {}
        self._handles = itertools.count(_FIRST_HANDLE, _STEP)
        self._objects: dict[int, Any] = {}
        self._blocks: list[Block] = []
        self._numbers = itertools.count(1)
        self._here = threading.local()

    # --- devices and handles ------------------------------------------------------------------------------

    @property
    def current(self) -> Device:
        """The device of this thread."""
        return self.device(getattr(self._here, "index", 0))

    def device(self, index: int) -> Device:
        """Device ``index``; Refused where there is none."""
        if not self.devices:
            raise Refused(HipError.NO_DEVICE, "there are no devices")
        if not 0 <= index < len(self.devices):
            raise Refused(HipError.INVALID_DEVICE, f"there is no device {index}")
        return self.devices[index]

    def make_current(self, index: int) -> None:
        """Let device ``index`` be this thread's."""
        self._here.index = self.device(index).index

    def handle(self, made: Any) -> int:
        """A handle of ``made``."""
        handle = next(self._handles)
        self._objects[handle] = made
        return handle

    def get(self, kind: type[Any], handle: int | None) -> Any:
        """The object of ``handle``; Refused when that is none of ``kind``."""
        found = self._objects.get(handle or 0)
        if not isinstance(found, kind):
            raise Refused(HipError.INVALID_HANDLE, f"{handle or 0:#x} is no {kind.__name__.lower()}")
        return found

    def drop(self, kind: type[Any], handle: int | None) -> Any:
        """The object of ``handle``, which is one no more."""
        found = self.get(kind, handle)
        del self._objects[handle or 0]
        return found

    def stream(self, handle: int | None) -> Stream:
        """The stream of ``handle``; null is the current device's default one."""
        found: Stream = self.get(Stream, handle) if handle else self.current.default
        return found

    def left(self) -> list[str]:
        """Objects that callers made and did not destroy."""
        return [type(o).__name__.lower() for o in self._objects.values()] + ["allocation"] * len(self._blocks)

    # --- memory -------------------------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> int:
        """The address of ``nbytes`` of the current device, which no host may touch."""
        device = self.current
        device.check()
        left = device.configuration.memory - device.used
        reserved = reserve(nbytes, _ALIGNMENT, readable=False) if nbytes <= left else None
        if reserved is None:
            raise Refused(HipError.OUT_OF_MEMORY, f"{nbytes} bytes of {left} that are left")
        device.used += nbytes
        block = Block(device, reserved, np.full(nbytes, _UNWRITTEN, np.uint8), next(self._numbers))
        bisect.insort(self._blocks, block, key=_start)
        return reserved.start

    def free(self, address: int) -> None:
        """Give back the allocation at ``address``, when all work of its device is done."""
        block = self.at(address)
        if block is None or block.reserved.start != address:
            raise Refused(HipError.INVALID_VALUE, f"no allocation begins at {address:#x}")
        block.device.finish(lambda work: True)
        self._blocks.remove(block)
        block.device.used -= block.data.size
        release(block.reserved)

    def at(self, address: int) -> Block | None:
        """The allocation that has ``address``."""
        place = bisect.bisect(self._blocks, address, key=_start) - 1
        return self._blocks[place] if place >= 0 and address < self._blocks[place].end else None

    def bytes_at(self, address: int, nbytes: int) -> _Bytes:
        """``nbytes`` at ``address``, of an allocation or of the host; Refused beyond an allocation's end."""
        block = self.at(address)
        if block is None:
            return view(address, nbytes)
        if address + nbytes > block.end:
            raise Refused(HipError.INVALID_VALUE, f"{nbytes} bytes at {address:#x} leave {block.data.size}")
        first = address - block.reserved.start
        return block.data[first : first + nbytes]

    def reached(self, device: Device) -> list[Block]:
        """Memory that a kernel on ``device`` may access."""
        peers = self.configuration.peers
        return [block for block in self._blocks if peers or block.device is device]

    @staticmethod
    def seconds() -> float:
        """The devices' clock."""
        return time.monotonic()


def _start(block: Block) -> int:
    return block.reserved.start
