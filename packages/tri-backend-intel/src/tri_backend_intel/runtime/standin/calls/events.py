"""Pools of events, events and fences."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from tri_backend_intel.runtime.level_zero.api.enums import EventPoolFlag, FenceFlag, Result
from tri_backend_intel.runtime.level_zero.api.structs import (
    EventDesc,
    EventPoolDesc,
    FenceDesc,
    KernelTimestampResult,
)
from tri_backend_intel.runtime.standin.calls.devices import STAMP_BITS
from tri_backend_intel.runtime.standin.devices import Context
from tri_backend_intel.runtime.standin.objects import Refused
from tri_backend_intel.runtime.standin.pointers import at, put
from tri_backend_intel.runtime.standin.queues import CommandQueue, Event, EventPool, Fence, wait_for
from tri_backend_intel.runtime.standin.state import State

__all__ = ["CALLS", "stamps"]

_TIMED = EventPoolFlag.KERNEL_TIMESTAMP | EventPoolFlag.KERNEL_MAPPED_TIMESTAMP


def pool_create(
    state: State, context: int, desc: int | None, count: int, devices: int | None, out: int | None
) -> None:
    del count, devices
    given = at(EventPoolDesc, desc)
    made = EventPool(state.handles.get(context, Context), given.flags, given.count)
    put(ctypes.c_void_p, out, state.handles.add(made).handle)


def pool_destroy(state: State, pool: int) -> None:
    found = state.handles.get(pool, EventPool)
    if found.taken:
        raise Refused(Result.ERROR_HANDLE_OBJECT_IN_USE, f"the pool has {len(found.taken)} events")
    state.handles.drop(found)


def pool_context(state: State, pool: int, out: int | None) -> None:
    put(ctypes.c_void_p, out, state.handles.get(pool, EventPool).context.handle)


def pool_flags(state: State, pool: int, out: int | None) -> None:
    put(ctypes.c_uint32, out, state.handles.get(pool, EventPool).flags)


def create(state: State, pool: int, desc: int | None, out: int | None) -> None:
    found, given = state.handles.get(pool, EventPool), at(EventDesc, desc)
    if given.index >= found.count or given.index in found.taken:
        raise Refused(
            Result.ERROR_INVALID_ARGUMENT,
            f"place {given.index} of a pool of {found.count} is taken, or not there",
        )
    found.taken.add(given.index)
    made = Event(found, given.index, given.signal, given.wait)
    put(ctypes.c_void_p, out, state.handles.add(made).handle)


def destroy(state: State, event: int) -> None:
    found = state.handles.get(event, Event)
    found.pool.taken.discard(found.index)
    state.handles.drop(found)


def host_signal(state: State, event: int) -> None:
    _set(state, event, signalled=True)


def host_reset(state: State, event: int) -> None:
    _set(state, event, signalled=False)


def _set(state: State, event: int, *, signalled: bool) -> None:
    found = state.handles.get(event, Event)
    with state.driver.changes.lock():
        found.signalled = signalled
        state.driver.changes.tell()


def synchronize(state: State, event: int, timeout: int) -> None:
    found = state.handles.get(event, Event)
    wait_for(state.driver, lambda: found.signalled, timeout, [found.device])


def status(state: State, event: int) -> None:
    synchronize(state, event, 0)


def timestamp(state: State, event: int, out: int | None) -> None:
    found = state.handles.get(event, Event)
    if not found.pool.flags & _TIMED:
        raise Refused(Result.ERROR_INVALID_ARGUMENT, "the event's pool takes no time stamps")
    if not found.signalled:
        raise Refused(Result.NOT_READY)
    ctypes.pointer(at(KernelTimestampResult, out))[0] = stamps(found)


def stamps(event: Event) -> KernelTimestampResult:
    """The time stamps of ``event``, in as many bits as the device has for them."""
    mask, made = (1 << STAMP_BITS) - 1, KernelTimestampResult()
    for part in (made.global_, made.context):
        part.kernelStart, part.kernelEnd = (stamp & mask for stamp in event.stamps)
    return made


def get_pool(state: State, event: int, out: int | None) -> None:
    put(ctypes.c_void_p, out, state.handles.get(event, Event).pool.handle)


def get_signal_scope(state: State, event: int, out: int | None) -> None:
    put(ctypes.c_uint32, out, state.handles.get(event, Event).signal_scope)


def get_wait_scope(state: State, event: int, out: int | None) -> None:
    put(ctypes.c_uint32, out, state.handles.get(event, Event).wait_scope)


def fence_create(state: State, queue: int, desc: int | None, out: int | None) -> None:
    made = Fence(
        state.handles.get(queue, CommandQueue), signalled=bool(at(FenceDesc, desc).flags & FenceFlag.SIGNALED)
    )
    put(ctypes.c_void_p, out, state.handles.add(made).handle)


def fence_destroy(state: State, fence: int) -> None:
    state.handles.drop(state.handles.get(fence, Fence))


def fence_synchronize(state: State, fence: int, timeout: int) -> None:
    found = state.handles.get(fence, Fence)
    wait_for(state.driver, lambda: found.signalled, timeout, [found.queue.device])


def fence_status(state: State, fence: int) -> None:
    fence_synchronize(state, fence, 0)


def fence_reset(state: State, fence: int) -> None:
    state.handles.get(fence, Fence).signalled = False


CALLS: dict[str, Callable[..., None]] = {
    "zeEventPoolCreate": pool_create,
    "zeEventPoolDestroy": pool_destroy,
    "zeEventPoolGetContextHandle": pool_context,
    "zeEventPoolGetFlags": pool_flags,
    "zeEventCreate": create,
    "zeEventDestroy": destroy,
    "zeEventHostSignal": host_signal,
    "zeEventHostReset": host_reset,
    "zeEventHostSynchronize": synchronize,
    "zeEventQueryStatus": status,
    "zeEventQueryKernelTimestamp": timestamp,
    "zeEventGetEventPool": get_pool,
    "zeEventGetSignalScope": get_signal_scope,
    "zeEventGetWaitScope": get_wait_scope,
    "zeFenceCreate": fence_create,
    "zeFenceDestroy": fence_destroy,
    "zeFenceHostSynchronize": fence_synchronize,
    "zeFenceQueryStatus": fence_status,
    "zeFenceReset": fence_reset,
}
