"""Queues, lists of commands, events and fences: commands run one after the other, on a thread for each queue."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import field

from tri_backend_intel.runtime.level_zero.api.enums import CommandQueueMode, Result
from tri_backend_intel.runtime.standin.changes import FOREVER
from tri_backend_intel.runtime.standin.devices import Context, Device, Driver, Fault
from tri_backend_intel.runtime.standin.objects import Object, Refused
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Command", "CommandList", "CommandQueue", "Event", "EventPool", "Fence", "wait_for"]


class EventPool(Object):
    """Places for ``count`` events; ``flags`` as the caller gave them."""

    def __init__(self, context: Context, flags: int, count: int) -> None:
        super().__init__()
        self.context, self.flags, self.count = context, flags, count
        self.taken: set[int] = set()


class Event(Object):
    """An event; ``stamps`` are the device's clock at the begin and the end of what signalled it."""

    def __init__(self, pool: EventPool, index: int, signal: int, wait: int) -> None:
        super().__init__()
        self.pool, self.index, self.signal_scope, self.wait_scope = pool, index, signal, wait
        self.signalled = False
        self.stamps = (0, 0)
        #: the device of the command that will signal it
        self.device: Device | None = None


class Fence(Object):
    """A fence of ``queue``."""

    def __init__(self, queue: CommandQueue, *, signalled: bool) -> None:
        super().__init__()
        self.queue, self.signalled = queue, signalled


@dataclass(frozen=True)
class Command:
    """Command of a queue: wait for events, run, signal an event."""

    run: Callable[[], None]
    signal: Event | None = None
    waits: tuple[Event, ...] = field(default=())


class CommandQueue(Object):
    """A queue of ``device``."""

    def __init__(
        self, context: Context, device: Device, mode: int, flags: int, place: tuple[int, int]
    ) -> None:
        super().__init__()
        self.context, self.device, self.mode, self.flags = context, device, mode, flags
        self.ordinal, self.number = place
        self._changes = device.driver.changes
        self._commands: deque[Command] = deque()
        self._works = False
        self._closed = False

    def submit(self, commands: Sequence[Command]) -> None:
        """Run ``commands``; returns when they are done on a synchronous queue.  Refused when the device is lost."""
        self.device.check()
        with self._changes.lock():
            for command in commands:
                if command.signal is not None:
                    command.signal.device = self.device
            self._commands.extend(commands)
            if not self._works:
                self._works = True
                self._changes.start(self._work)
            self._changes.tell()
        if self.mode == CommandQueueMode.SYNCHRONOUS:
            self.synchronize(FOREVER)

    def synchronize(self, timeout: int) -> None:
        """Wait up to ``timeout`` ns for all commands; Refused when they are not done then, or the device is lost."""
        wait_for(self.device.driver, lambda: not self._commands, timeout, [self.device])

    def close(self) -> None:
        """The queue is gone; Refused while it has commands to run."""
        with self._changes.lock():
            if self._commands and not self.device.root.lost:
                raise Refused(
                    Result.ERROR_HANDLE_OBJECT_IN_USE, f"{len(self._commands)} commands are not done"
                )
            self._closed = True
            self._changes.tell()

    def _work(self) -> None:
        while True:
            with self._changes.lock():
                self._changes.wait(lambda: bool(self._commands or self._closed))
                if self._closed:
                    return
                command = self._commands[0]
                self._changes.wait(functools.partial(self._may_run, command))
            self._run(command)
            with self._changes.lock():
                self._commands.popleft()
                self._changes.tell()

    def _may_run(self, command: Command) -> bool:
        """True if all awaited events are signalled, or will never be."""
        return self._closed or bool(self.device.root.lost) or all(e.signalled for e in command.waits)

    def _run(self, command: Command) -> None:
        if self.device.root.lost or self._closed:
            return None
        start = self.device.ticks()
        try:
            command.run()
        except Fault as fault:
            return self.device.lose(str(fault))
        except Exception as error:
            return self.device.lose(f"{type(error).__name__}: {error}")
        with self._changes.lock():
            if command.signal is not None and not self.device.root.lost:
                command.signal.stamps = (start, max(self.device.ticks(), start + 1))
                command.signal.signalled = True
        return None


class CommandList(Object):
    """Commands to be submitted together, or by ``queue`` at once where it is an immediate one."""

    def __init__(
        self, context: Context, device: Device, ordinal: int, flags: int, queue: CommandQueue | None
    ) -> None:
        super().__init__()
        self.context, self.device, self.ordinal, self.flags, self.queue = (
            context,
            device,
            ordinal,
            flags,
            queue,
        )
        self.commands: list[Command] = []
        self.closed = False

    def append(self, command: Command) -> None:
        """One more command; Refused on a closed list."""
        if self.queue is not None:
            self.queue.submit([command])
        elif self.closed:
            raise Refused(Result.ERROR_INVALID_ARGUMENT, "the command list is closed")
        else:
            self.commands.append(command)


def wait_for(
    driver: Driver, done: Callable[[], bool], timeout: int, devices: Sequence[Device | None]
) -> None:
    """Wait up to ``timeout`` ns until ``done``; Refused: not ready, or that one of ``devices`` is lost."""
    lost = [d.root for d in devices if d is not None]
    with driver.changes.lock():
        driver.changes.wait(lambda: done() or any(d.lost for d in lost), timeout)
        for device in lost:
            device.check()
        if not done():
            raise Refused(Result.NOT_READY)
