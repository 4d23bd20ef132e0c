"""Allocations of unified shared memory."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable

from tri_backend_intel.runtime.level_zero.api.enums import MemoryType
from tri_backend_intel.runtime.level_zero.api.structs import MemoryAllocationProperties
from tri_backend_intel.runtime.standin.devices import Context, Device
from tri_backend_intel.runtime.standin.pointers import at, put
from tri_backend_intel.runtime.standin.state import State

__all__ = ["CALLS"]


def _allocate(
    state: State,
    kind: MemoryType,
    context: int,
    nbytes: int,
    alignment: int,
    device: int | None,
    out: int | None,
) -> None:
    owner = state.handles.get(device, Device) if device else None
    with state.driver.changes.lock():
        made = state.usm.allocate(state.handles.get(context, Context), kind, owner, nbytes, alignment)
    put(ctypes.c_void_p, out, made.start)


def allocate_device(
    state: State, context: int, desc: int | None, nbytes: int, alignment: int, device: int, out: int | None
) -> None:
    del desc
    state.handles.get(device, Device)
    _allocate(state, MemoryType.DEVICE, context, nbytes, alignment, device, out)


def allocate_shared(
    state: State,
    context: int,
    desc: int | None,
    host: int | None,
    nbytes: int,
    alignment: int,
    device: int | None,
    out: int | None,
) -> None:
    del desc, host
    _allocate(state, MemoryType.SHARED, context, nbytes, alignment, device, out)


def allocate_host(
    state: State, context: int, desc: int | None, nbytes: int, alignment: int, out: int | None
) -> None:
    del desc
    _allocate(state, MemoryType.HOST, context, nbytes, alignment, None, out)


def free(state: State, context: int, address: int) -> None:
    with state.driver.changes.lock():
        state.usm.free(state.handles.get(context, Context), address or 0)


def properties(state: State, context: int, address: int, out: int | None, device: int | None) -> None:
    owner, block = state.handles.get(context, Context), state.usm.at(address)
    known = block if block is not None and block.context is owner else None
    found = at(MemoryAllocationProperties, out)
    found.type = known.kind if known is not None else MemoryType.UNKNOWN
    found.id = known.number if known is not None else 0
    found.pageSize = mmap.PAGESIZE if known is not None else 0
    if device:
        put(
            ctypes.c_void_p,
            device,
            known.device.handle if known is not None and known.device is not None else 0,
        )


def address_range(state: State, context: int, address: int, base: int | None, size: int | None) -> None:
    owner, block = state.handles.get(context, Context), state.usm.at(address)
    known = block if block is not None and block.context is owner else None
    if base:
        put(ctypes.c_void_p, base, known.start if known is not None else 0)
    if size:
        put(ctypes.c_size_t, size, known.data.size if known is not None else 0)


def resident(state: State, context: int, device: int, address: int, nbytes: int) -> None:
    """Everything is resident."""
    del address, nbytes
    state.handles.get(context, Context).check(state.handles.get(device, Device))


CALLS: dict[str, Callable[..., None]] = {
    "zeMemAllocDevice": allocate_device,
    "zeMemAllocShared": allocate_shared,
    "zeMemAllocHost": allocate_host,
    "zeMemFree": free,
    "zeMemGetAllocProperties": properties,
    "zeMemGetAddressRange": address_range,
    "zeContextMakeMemoryResident": resident,
    "zeContextEvictMemory": resident,
}
