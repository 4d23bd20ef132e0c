"""Drivers, devices and contexts."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

from tri_backend_intel.runtime.level_zero.api.enums import (
    CommandQueueGroupPropertyFlag,
    DeviceFpFlag,
    DeviceModuleFlag,
    DeviceP2PPropertyFlag,
    DevicePropertyFlag,
    DeviceType,
    MemoryAccessCapFlag,
    Result,
)
from tri_backend_intel.runtime.level_zero.api.structs import (
    CommandQueueGroupProperties,
    DeviceCacheProperties,
    DeviceComputeProperties,
    DeviceMemoryAccessProperties,
    DeviceMemoryProperties,
    DeviceModuleProperties,
    DeviceP2PProperties,
    DeviceProperties,
    DriverExtensionProperties,
    DriverProperties,
)
from tri_backend_intel.runtime.standin.devices import Context, Device, Driver
from tri_backend_intel.runtime.standin.objects import Refused
from tri_backend_intel.runtime.standin.pointers import at, put, put_handles, put_listed
from tri_backend_intel.runtime.standin.state import State

__all__ = ["CALLS"]

_GPU_INIT = 1
_API_VERSION = 1 << 16 | 9
_INTEL = 0x8086
#: bits of the time stamps of kernels, which begin anew when they are full, and of the device's clock
STAMP_BITS, CLOCK_BITS = 32, 36
#: ``ze_structure_type_t`` of properties whose clock is in ticks a second
_SINCE_1_2 = 0x20006
#: vector engines of a core, and threads of each
_ENGINES, _ENGINE_THREADS = 8, 8


def init(state: State, flags: int) -> None:
    """Nothing to do for who asks for GPUs; there is nothing else."""
    del state
    if flags and not flags & _GPU_INIT:
        raise Refused(Result.ERROR_UNINITIALIZED, "there are GPUs only")


def init_drivers(state: State, count: int | None, out: int | None, desc: int | None) -> None:
    del desc
    put_handles(count, out, [state.driver.handle])


def driver_get(state: State, count: int | None, out: int | None) -> None:
    put_handles(count, out, [state.driver.handle])


def driver_version(state: State, driver: int, out: int | None) -> None:
    state.handles.get(driver, Driver)
    put(ctypes.c_uint32, out, _API_VERSION)


def driver_properties(state: State, driver: int, out: int | None) -> None:
    state.handles.get(driver, Driver)
    found = at(DriverProperties, out)
    found.driverVersion = state.configuration.version_number
    found.uuid[:] = b"tri stand-in\0\0\0\0"


def driver_extensions(state: State, driver: int, count: int | None, out: int | None) -> None:
    state.handles.get(driver, Driver)
    names = (b"ZE_extension_float_atomics",)
    put_listed(count, out, DriverExtensionProperties, [{"name": n, "version": 1 << 16} for n in names])


def driver_last_error(state: State, driver: int, out: int | None) -> None:
    found = state.handles.get(driver, Driver)
    found.shown = ctypes.create_string_buffer(found.last_error.encode())
    put(ctypes.c_void_p, out, ctypes.addressof(found.shown))


def device_get(state: State, driver: int, count: int | None, out: int | None) -> None:
    state.handles.get(driver, Driver)
    put_handles(count, out, [d.handle for d in state.devices])


def device_parts(state: State, device: int, count: int | None, out: int | None) -> None:
    put_handles(count, out, [d.handle for d in state.handles.get(device, Device).parts])


def device_root(state: State, device: int, out: int | None) -> None:
    found = state.handles.get(device, Device)
    put(ctypes.c_void_p, out, found.parent.handle if found.parent is not None else 0)


def device_properties(state: State, device: int, out: int | None) -> None:
    found, properties = state.handles.get(device, Device), at(DeviceProperties, out)
    known, row = found.configuration, found.configuration.row
    properties.type = DeviceType.GPU
    properties.vendorId, properties.deviceId = _INTEL, known.pci
    properties.flags = DevicePropertyFlag.SUBDEVICE if found.parent is not None else 0
    properties.subdeviceId = found.index if found.parent is not None else 0
    properties.coreClockRate = round(row.ticks * 1000)
    properties.maxMemAllocSize = known.memory
    properties.maxHardwareContexts = 1 << 16
    properties.numThreadsPerEU, properties.numEUsPerSubslice = (
        _ENGINE_THREADS,
        row.threads_per_core // _ENGINE_THREADS,
    )
    properties.physicalEUSimdWidth = row.sub_groups[0]
    properties.numSubslicesPerSlice, properties.numSlices = 1, 1
    since = properties.stype == _SINCE_1_2
    properties.timerResolution = round(1e9 / known.tick) if since else known.tick
    properties.timestampValidBits, properties.kernelTimestampValidBits = CLOCK_BITS, STAMP_BITS
    properties.uuid[:] = bytes([found.root.index, found.index, 1 if found.parent is not None else 0]).ljust(
        16, b"\0"
    )
    properties.name = f"{row.title} (stand-in)".encode()


def device_compute(state: State, device: int, out: int | None) -> None:
    row, found = state.handles.get(device, Device).configuration.row, at(DeviceComputeProperties, out)
    found.maxTotalGroupSize = found.maxGroupSizeX = found.maxGroupSizeY = found.maxGroupSizeZ = row.threads
    found.maxGroupCountX = found.maxGroupCountY = found.maxGroupCountZ = (1 << 32) - 1
    found.maxSharedLocalMemory = row.shared
    found.numSubGroupSizes = len(row.sub_groups)
    found.subGroupSizes[: len(row.sub_groups)] = sorted(row.sub_groups)


def device_module(state: State, device: int, out: int | None) -> None:
    row, found = state.handles.get(device, Device).configuration.row, at(DeviceModuleProperties, out)
    floats = DeviceFpFlag.DENORM | DeviceFpFlag.INF_NAN | DeviceFpFlag.ROUND_TO_NEAREST | DeviceFpFlag.FMA
    found.spirvVersionSupported = 1 << 16 | 4 << 8
    found.flags = (
        DeviceModuleFlag.FP16 | DeviceModuleFlag.INT64_ATOMICS | (DeviceModuleFlag.FP64 if row.fp64 else 0)
    )
    found.fp16flags = found.fp32flags = floats
    found.fp64flags = floats if row.fp64 else 0
    found.maxArgumentsSize, found.printfBufferSize = 2048, 4 << 20


def device_queue_groups(state: State, device: int, count: int | None, out: int | None) -> None:
    state.handles.get(device, Device)
    flags = CommandQueueGroupPropertyFlag.COMPUTE | CommandQueueGroupPropertyFlag.COPY
    groups = [{"flags": flags, "maxMemoryFillPatternSize": 1 << 20, "numQueues": 4}]
    put_listed(count, out, CommandQueueGroupProperties, groups)


def device_memory(state: State, device: int, count: int | None, out: int | None) -> None:
    found = state.handles.get(device, Device)
    listed = [{"totalSize": found.configuration.memory, "maxBusWidth": 64, "name": b"memory"}]
    put_listed(count, out, DeviceMemoryProperties, listed)


def device_access(state: State, device: int, out: int | None) -> None:
    state.handles.get(device, Device)
    found = at(DeviceMemoryAccessProperties, out)
    able = MemoryAccessCapFlag.RW | MemoryAccessCapFlag.ATOMIC
    found.hostAllocCapabilities = found.deviceAllocCapabilities = (
        found.sharedSingleDeviceAllocCapabilities
    ) = able
    found.sharedCrossDeviceAllocCapabilities = able if state.configuration.peers else 0
    found.sharedSystemAllocCapabilities = 0


def device_caches(state: State, device: int, count: int | None, out: int | None) -> None:
    state.handles.get(device, Device)
    put_listed(count, out, DeviceCacheProperties, [{"flags": 0, "cacheSize": 4 << 20}])


def _peers(state: State, one: int, other: int) -> bool:
    first, second = state.handles.get(one, Device), state.handles.get(other, Device)
    return first.root is second.root or state.configuration.peers


def device_p2p(state: State, one: int, other: int, out: int | None) -> None:
    at(DeviceP2PProperties, out).flags = DeviceP2PPropertyFlag.ACCESS if _peers(state, one, other) else 0


def device_can_access(state: State, one: int, other: int, out: int | None) -> None:
    put(ctypes.c_uint8, out, _peers(state, one, other))


def device_status(state: State, device: int) -> None:
    state.handles.get(device, Device).check()


def device_clock(state: State, device: int, host: int | None, out: int | None) -> None:
    found = state.handles.get(device, Device)
    put(ctypes.c_uint64, host, time.monotonic_ns())
    put(ctypes.c_uint64, out, found.ticks() & ((1 << CLOCK_BITS) - 1))


def context_create(state: State, driver: int, desc: int | None, out: int | None) -> None:
    context_create_ex(state, driver, desc, 0, None, out)


def context_create_ex(
    state: State, driver: int, desc: int | None, count: int, devices: int | None, out: int | None
) -> None:
    del desc
    found = state.handles.get(driver, Driver)
    given = (ctypes.c_void_p * count).from_address(devices) if devices and count else ()
    members = tuple(state.handles.get(handle, Device) for handle in given)
    put(ctypes.c_void_p, out, state.handles.add(Context(found, members)).handle)


def context_destroy(state: State, context: int) -> None:
    found = state.handles.get(context, Context)
    if any(block.context is found for block in state.usm):
        raise Refused(Result.ERROR_HANDLE_OBJECT_IN_USE, "the context has allocations")
    state.handles.drop(found)


def context_status(state: State, context: int) -> None:
    found = state.handles.get(context, Context)
    for device in found.devices or state.devices:
        device.check()


CALLS: dict[str, Callable[..., None]] = {
    "zeInit": init,
    "zeInitDrivers": init_drivers,
    "zeDriverGet": driver_get,
    "zeDriverGetApiVersion": driver_version,
    "zeDriverGetProperties": driver_properties,
    "zeDriverGetExtensionProperties": driver_extensions,
    "zeDriverGetLastErrorDescription": driver_last_error,
    "zeDeviceGet": device_get,
    "zeDeviceGetSubDevices": device_parts,
    "zeDeviceGetRootDevice": device_root,
    "zeDeviceGetProperties": device_properties,
    "zeDeviceGetComputeProperties": device_compute,
    "zeDeviceGetModuleProperties": device_module,
    "zeDeviceGetCommandQueueGroupProperties": device_queue_groups,
    "zeDeviceGetMemoryProperties": device_memory,
    "zeDeviceGetMemoryAccessProperties": device_access,
    "zeDeviceGetCacheProperties": device_caches,
    "zeDeviceGetP2PProperties": device_p2p,
    "zeDeviceCanAccessPeer": device_can_access,
    "zeDeviceGetStatus": device_status,
    "zeDeviceGetGlobalTimestamps": device_clock,
    "zeContextCreate": context_create,
    "zeContextCreateEx": context_create_ex,
    "zeContextDestroy": context_destroy,
    "zeContextGetStatus": context_status,
}
