"""Queues and lists of commands, and what is appended to them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from tri_backend_intel.runtime.level_zero.api.enums import Result
from tri_backend_intel.runtime.level_zero.api.structs import (
    CommandListDesc,
    CommandQueueDesc,
    GroupCount,
    KernelTimestampResult,
)
from tri_backend_intel.runtime.standin.calls.devices import CLOCK_BITS
from tri_backend_intel.runtime.standin.calls.events import stamps
from tri_backend_intel.runtime.standin.devices import Context, Device
from tri_backend_intel.runtime.standin.objects import Refused
from tri_backend_intel.runtime.standin.pointers import at, put
from tri_backend_intel.runtime.standin.programs import Kernel
from tri_backend_intel.runtime.standin.queues import Command, CommandList, CommandQueue, Event, Fence
from tri_backend_intel.runtime.standin.state import State

__all__ = ["CALLS"]

_GROUPS = 1


def _queue(state: State, context: int, device: int, desc: int | None) -> CommandQueue:
    given = at(CommandQueueDesc, desc)
    owner, on = state.handles.get(context, Context), state.handles.get(device, Device)
    owner.check(on)
    on.check()
    if given.ordinal >= _GROUPS:
        raise Refused(
            Result.ERROR_INVALID_ARGUMENT,
            f"the device has {_GROUPS} group of queues, not {given.ordinal + 1}",
        )
    return CommandQueue(owner, on, given.mode, given.flags, (given.ordinal, given.index))


def queue_create(state: State, context: int, device: int, desc: int | None, out: int | None) -> None:
    put(ctypes.c_void_p, out, state.handles.add(_queue(state, context, device, desc)).handle)


def queue_destroy(state: State, queue: int) -> None:
    found = state.handles.get(queue, CommandQueue)
    found.close()
    state.handles.drop(found)


def queue_execute(state: State, queue: int, count: int, lists: int | None, fence: int | None) -> None:
    found = state.handles.get(queue, CommandQueue)
    commands: list[Command] = []
    for handle in (ctypes.c_void_p * count).from_address(lists) if lists else ():
        given = state.handles.get(handle, CommandList)
        if given.queue is not None or not given.closed:
            raise Refused(Result.ERROR_INVALID_ARGUMENT, "a list that is not closed, or an immediate one")
        commands += given.commands
    if fence:
        done = state.handles.get(fence, Fence)
        commands.append(Command(lambda: setattr(done, "signalled", True)))
    found.submit(commands)


def queue_synchronize(state: State, queue: int, timeout: int) -> None:
    state.handles.get(queue, CommandQueue).synchronize(timeout)


def queue_ordinal(state: State, queue: int, out: int | None) -> None:
    put(ctypes.c_uint32, out, state.handles.get(queue, CommandQueue).ordinal)


def queue_index(state: State, queue: int, out: int | None) -> None:
    put(ctypes.c_uint32, out, state.handles.get(queue, CommandQueue).number)


def list_create(state: State, context: int, device: int, desc: int | None, out: int | None) -> None:
    given = at(CommandListDesc, desc)
    owner, on = state.handles.get(context, Context), state.handles.get(device, Device)
    owner.check(on)
    made = CommandList(owner, on, given.commandQueueGroupOrdinal, given.flags, None)
    put(ctypes.c_void_p, out, state.handles.add(made).handle)


def list_create_immediate(state: State, context: int, device: int, desc: int | None, out: int | None) -> None:
    queue = _queue(state, context, device, desc)
    made = CommandList(queue.context, queue.device, queue.ordinal, queue.flags, queue)
    put(ctypes.c_void_p, out, state.handles.add(made).handle)


def list_destroy(state: State, commands: int) -> None:
    found = state.handles.get(commands, CommandList)
    if found.queue is not None:
        found.queue.close()
    state.handles.drop(found)


def list_close(state: State, commands: int) -> None:
    state.handles.get(commands, CommandList).closed = True


def list_reset(state: State, commands: int) -> None:
    found = state.handles.get(commands, CommandList)
    found.commands, found.closed = [], False


def list_synchronize(state: State, commands: int, timeout: int) -> None:
    found = state.handles.get(commands, CommandList)
    if found.queue is None:
        raise Refused(Result.ERROR_INVALID_ARGUMENT, "the command list is no immediate one")
    found.queue.synchronize(timeout)


def list_device(state: State, commands: int, out: int | None) -> None:
    put(ctypes.c_void_p, out, state.handles.get(commands, CommandList).device.handle)


def list_context(state: State, commands: int, out: int | None) -> None:
    put(ctypes.c_void_p, out, state.handles.get(commands, CommandList).context.handle)


def list_ordinal(state: State, commands: int, out: int | None) -> None:
    put(ctypes.c_uint32, out, state.handles.get(commands, CommandList).ordinal)


def list_index(state: State, commands: int, out: int | None) -> None:
    queue = state.handles.get(commands, CommandList).queue
    if queue is None:
        raise Refused(Result.ERROR_INVALID_ARGUMENT, "the command list is no immediate one")
    put(ctypes.c_uint32, out, queue.number)


def list_is_immediate(state: State, commands: int, out: int | None) -> None:
    put(ctypes.c_uint8, out, state.handles.get(commands, CommandList).queue is not None)


def _append(
    state: State, commands: int, run: Callable[[], None], signal: int | None, count: int, waits: int | None
) -> None:
    events = (ctypes.c_void_p * count).from_address(waits) if waits and count else ()
    command = Command(
        run,
        state.handles.get(signal, Event) if signal else None,
        tuple(state.handles.get(handle, Event) for handle in events),
    )
    state.handles.get(commands, CommandList).append(command)


def _nothing() -> None:
    """Action of a barrier after its events: none."""


def barrier(state: State, commands: int, signal: int | None, count: int, waits: int | None) -> None:
    _append(state, commands, _nothing, signal, count, waits)


def ranges_barrier(
    state: State,
    commands: int,
    number: int,
    sizes: int | None,
    ranges: int | None,
    signal: int | None,
    count: int,
    waits: int | None,
) -> None:
    del number, sizes, ranges
    _append(state, commands, _nothing, signal, count, waits)


def system_barrier(state: State, context: int, device: int) -> None:
    state.handles.get(context, Context).check(state.handles.get(device, Device))


def copy(
    state: State,
    commands: int,
    to: int,
    source: int,
    nbytes: int,
    signal: int | None,
    count: int,
    waits: int | None,
) -> None:
    if not to or not source:
        raise Refused(Result.ERROR_INVALID_NULL_POINTER)

    def run() -> None:
        if nbytes:
            state.usm.bytes_at(to, nbytes)[:] = state.usm.bytes_at(source, nbytes).copy()

    _append(state, commands, run, signal, count, waits)


def fill(
    state: State,
    commands: int,
    to: int,
    pattern: int,
    pattern_bytes: int,
    nbytes: int,
    signal: int | None,
    count: int,
    waits: int | None,
) -> None:
    if not pattern or not to:
        raise Refused(Result.ERROR_INVALID_NULL_POINTER)
    if not pattern_bytes or nbytes % pattern_bytes:
        raise Refused(
            Result.ERROR_INVALID_SIZE, f"{nbytes} bytes are no multiple of a pattern of {pattern_bytes}"
        )
    piece = state.usm.bytes_at(pattern, pattern_bytes).copy()

    def run() -> None:
        state.usm.bytes_at(to, nbytes).reshape(-1, pattern_bytes)[:] = piece

    _append(state, commands, run, signal, count, waits)


def prefetch(state: State, commands: int, address: int, nbytes: int) -> None:
    """A hint, and a command as any other."""
    del address, nbytes
    _append(state, commands, _nothing, None, 0, None)


def signal_event(state: State, commands: int, event: int) -> None:
    state.handles.get(event, Event)
    _append(state, commands, _nothing, event, 0, None)


def wait_on_events(state: State, commands: int, count: int, waits: int | None) -> None:
    _append(state, commands, _nothing, None, count, waits)


def reset_event(state: State, commands: int, event: int) -> None:
    found = state.handles.get(event, Event)

    def run() -> None:
        with state.driver.changes.lock():
            found.signalled = False

    _append(state, commands, run, None, 0, None)


def write_clock(
    state: State, commands: int, to: int, signal: int | None, count: int, waits: int | None
) -> None:
    device = state.handles.get(commands, CommandList).device

    def run() -> None:
        value = ctypes.c_uint64(device.ticks() & ((1 << CLOCK_BITS) - 1))
        state.usm.bytes_at(to, 8).view("u8")[0] = value.value

    _append(state, commands, run, signal, count, waits)


def query_stamps(
    state: State,
    commands: int,
    number: int,
    events: int | None,
    to: int,
    offsets: int | None,
    signal: int | None,
    count: int,
    waits: int | None,
) -> None:
    given = (ctypes.c_void_p * number).from_address(events) if events else ()
    found = [state.handles.get(handle, Event) for handle in given]
    size = ctypes.sizeof(KernelTimestampResult)
    places = (
        list((ctypes.c_size_t * number).from_address(offsets))
        if offsets
        else [size * i for i in range(number)]
    )

    def run() -> None:
        for event, place in zip(found, places, strict=True):
            state.usm.bytes_at(to + place, size)[:] = bytearray(stamps(event))

    _append(state, commands, run, signal, count, waits)


def launch(
    state: State,
    commands: int,
    kernel: int,
    groups: int | None,
    signal: int | None,
    count: int,
    waits: int | None,
) -> None:
    """Arguments are those of now; what the kernel reaches are allocations of when it runs."""
    found, given = state.handles.get(kernel, Kernel), at(GroupCount, groups)
    target = state.handles.get(commands, CommandList)
    grid = (given.groupCountX, given.groupCountY, given.groupCountZ)
    if found.module.device.root is not target.device.root or found.module.context is not target.context:
        raise Refused(Result.ERROR_INVALID_ARGUMENT, "the kernel was built for another device or context")
    arguments, reach, program = found.ready(), found.reach, found.module.program

    def run() -> None:
        target.device.count_launch()
        if 0 in grid:
            return
        addresses = [
            int.from_bytes(a, "little") for a in arguments if len(a) == ctypes.sizeof(ctypes.c_void_p)
        ]
        with state.driver.changes.lock():
            blocks = state.usm.reached(
                target.context, target.device, addresses, reach, peers=state.configuration.peers
            )
        program.run(grid, arguments, blocks)

    _append(state, commands, run, signal, count, waits)


CALLS: dict[str, Callable[..., None]] = {
    "zeCommandQueueCreate": queue_create,
    "zeCommandQueueDestroy": queue_destroy,
    "zeCommandQueueExecuteCommandLists": queue_execute,
    "zeCommandQueueSynchronize": queue_synchronize,
    "zeCommandQueueGetOrdinal": queue_ordinal,
    "zeCommandQueueGetIndex": queue_index,
    "zeCommandListCreate": list_create,
    "zeCommandListCreateImmediate": list_create_immediate,
    "zeCommandListDestroy": list_destroy,
    "zeCommandListClose": list_close,
    "zeCommandListReset": list_reset,
    "zeCommandListHostSynchronize": list_synchronize,
    "zeCommandListGetDeviceHandle": list_device,
    "zeCommandListGetContextHandle": list_context,
    "zeCommandListGetOrdinal": list_ordinal,
    "zeCommandListImmediateGetIndex": list_index,
    "zeCommandListIsImmediate": list_is_immediate,
    "zeCommandListAppendBarrier": barrier,
    "zeCommandListAppendMemoryRangesBarrier": ranges_barrier,
    "zeContextSystemBarrier": system_barrier,
    "zeCommandListAppendMemoryCopy": copy,
    "zeCommandListAppendMemoryFill": fill,
    "zeCommandListAppendMemoryPrefetch": prefetch,
    "zeCommandListAppendSignalEvent": signal_event,
    "zeCommandListAppendWaitOnEvents": wait_on_events,
    "zeCommandListAppendEventReset": reset_event,
    "zeCommandListAppendWriteGlobalTimestamp": write_clock,
    "zeCommandListAppendQueryKernelTimestamps": query_stamps,
    "zeCommandListAppendLaunchKernel": launch,
    "zeCommandListAppendLaunchCooperativeKernel": launch,
}
