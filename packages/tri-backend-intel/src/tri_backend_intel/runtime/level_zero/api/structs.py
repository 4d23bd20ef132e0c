"""Structures of Level Zero's C API, with the names of its fields (Level Zero specification 1.17, "Core API").

A structure that describes or reports something begins with its type's number and a pointer to a further one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, ClassVar, Self

__all__ = [
    "CommandListDesc",
    "CommandQueueDesc",
    "CommandQueueGroupProperties",
    "ContextDesc",
    "Described",
    "DeviceCacheProperties",
    "DeviceComputeProperties",
    "DeviceMemAllocDesc",
    "DeviceMemoryAccessProperties",
    "DeviceMemoryProperties",
    "DeviceModuleProperties",
    "DeviceP2PProperties",
    "DeviceProperties",
    "DriverExtensionProperties",
    "DriverProperties",
    "EventDesc",
    "EventPoolDesc",
    "FenceDesc",
    "GroupCount",
    "HostMemAllocDesc",
    "InitDriverTypeDesc",
    "KernelDesc",
    "KernelPreferredGroupSizeProperties",
    "KernelProperties",
    "KernelTimestampData",
    "KernelTimestampResult",
    "MemoryAllocationProperties",
    "ModuleConstants",
    "ModuleDesc",
    "ModuleProperties",
]

P, S, Z = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
U8, U32, U64, C = ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_char


class Described(ctypes.Structure):
    """A structure with ``stype`` and ``pNext``; :meth:`new` fills in the first."""

    #: its ``ze_structure_type_t``
    STYPE: ClassVar[int] = 0
    _fields_: ClassVar[Sequence[tuple[str, Any]]] = (("stype", U32), ("pNext", P))

    @classmethod
    def new(cls, **values: Any) -> Self:
        """A structure of this type with ``values``, the others zero."""
        return cls(stype=cls.STYPE, **values)


class DriverProperties(Described):
    """``ze_driver_properties_t``."""

    STYPE = 0x1
    _fields_ = (
        ("uuid", U8 * 16),
        ("driverVersion", U32),
    )


class DriverExtensionProperties(ctypes.Structure):
    """``ze_driver_extension_properties_t``."""

    _fields_ = (
        ("name", C * 256),
        ("version", U32),
    )


class DeviceProperties(Described):
    """``ze_device_properties_t``."""

    STYPE = 0x3
    _fields_ = (
        ("type", U32),
        ("vendorId", U32),
        ("deviceId", U32),
        ("flags", U32),
        ("subdeviceId", U32),
        ("coreClockRate", U32),
        ("maxMemAllocSize", U64),
        ("maxHardwareContexts", U32),
        ("maxCommandQueuePriority", U32),
        ("numThreadsPerEU", U32),
        ("physicalEUSimdWidth", U32),
        ("numEUsPerSubslice", U32),
        ("numSubslicesPerSlice", U32),
        ("numSlices", U32),
        ("timerResolution", U64),
        ("timestampValidBits", U32),
        ("kernelTimestampValidBits", U32),
        ("uuid", U8 * 16),
        ("name", C * 256),
    )


class DeviceComputeProperties(Described):
    """``ze_device_compute_properties_t``."""

    STYPE = 0x4
    _fields_ = (
        ("maxTotalGroupSize", U32),
        ("maxGroupSizeX", U32),
        ("maxGroupSizeY", U32),
        ("maxGroupSizeZ", U32),
        ("maxGroupCountX", U32),
        ("maxGroupCountY", U32),
        ("maxGroupCountZ", U32),
        ("maxSharedLocalMemory", U32),
        ("numSubGroupSizes", U32),
        ("subGroupSizes", U32 * 8),
    )


class DeviceModuleProperties(Described):
    """``ze_device_module_properties_t``."""

    STYPE = 0x5
    _fields_ = (
        ("spirvVersionSupported", U32),
        ("flags", U32),
        ("fp16flags", U32),
        ("fp32flags", U32),
        ("fp64flags", U32),
        ("maxArgumentsSize", U32),
        ("printfBufferSize", U32),
        ("nativeKernelSupported", U8 * 16),
    )


class CommandQueueGroupProperties(Described):
    """``ze_command_queue_group_properties_t``."""

    STYPE = 0x6
    _fields_ = (
        ("flags", U32),
        ("maxMemoryFillPatternSize", Z),
        ("numQueues", U32),
    )


class DeviceMemoryProperties(Described):
    """``ze_device_memory_properties_t``."""

    STYPE = 0x7
    _fields_ = (
        ("flags", U32),
        ("maxClockRate", U32),
        ("maxBusWidth", U32),
        ("totalSize", U64),
        ("name", C * 256),
    )


class DeviceMemoryAccessProperties(Described):
    """``ze_device_memory_access_properties_t``."""

    STYPE = 0x8
    _fields_ = (
        ("hostAllocCapabilities", U32),
        ("deviceAllocCapabilities", U32),
        ("sharedSingleDeviceAllocCapabilities", U32),
        ("sharedCrossDeviceAllocCapabilities", U32),
        ("sharedSystemAllocCapabilities", U32),
    )


class DeviceCacheProperties(Described):
    """``ze_device_cache_properties_t``."""

    STYPE = 0x9
    _fields_ = (
        ("flags", U32),
        ("cacheSize", Z),
    )


class DeviceP2PProperties(Described):
    """``ze_device_p2p_properties_t``."""

    STYPE = 0xB
    _fields_ = (("flags", U32),)


class ContextDesc(Described):
    """``ze_context_desc_t``."""

    STYPE = 0xD
    _fields_ = (("flags", U32),)


class CommandQueueDesc(Described):
    """``ze_command_queue_desc_t``."""

    STYPE = 0xE
    _fields_ = (
        ("ordinal", U32),
        ("index", U32),
        ("flags", U32),
        ("mode", U32),
        ("priority", U32),
    )


class CommandListDesc(Described):
    """``ze_command_list_desc_t``."""

    STYPE = 0xF
    _fields_ = (
        ("commandQueueGroupOrdinal", U32),
        ("flags", U32),
    )


class EventPoolDesc(Described):
    """``ze_event_pool_desc_t``."""

    STYPE = 0x10
    _fields_ = (
        ("flags", U32),
        ("count", U32),
    )


class EventDesc(Described):
    """``ze_event_desc_t``."""

    STYPE = 0x11
    _fields_ = (
        ("index", U32),
        ("signal", U32),
        ("wait", U32),
    )


class FenceDesc(Described):
    """``ze_fence_desc_t``."""

    STYPE = 0x12
    _fields_ = (("flags", U32),)


class DeviceMemAllocDesc(Described):
    """``ze_device_mem_alloc_desc_t``."""

    STYPE = 0x15
    _fields_ = (
        ("flags", U32),
        ("ordinal", U32),
    )


class HostMemAllocDesc(Described):
    """``ze_host_mem_alloc_desc_t``."""

    STYPE = 0x16
    _fields_ = (("flags", U32),)


class MemoryAllocationProperties(Described):
    """``ze_memory_allocation_properties_t``."""

    STYPE = 0x17
    _fields_ = (
        ("type", U32),
        ("id", U64),
        ("pageSize", U64),
    )


class ModuleConstants(ctypes.Structure):
    """``ze_module_constants_t``."""

    _fields_ = (
        ("numConstants", U32),
        ("pConstantIds", P),
        ("pConstantValues", P),
    )


class ModuleDesc(Described):
    """``ze_module_desc_t``."""

    STYPE = 0x1B
    _fields_ = (
        ("format", U32),
        ("inputSize", Z),
        ("pInputModule", P),
        ("pBuildFlags", S),
        ("pConstants", P),
    )


class ModuleProperties(Described):
    """``ze_module_properties_t``."""

    STYPE = 0x1C
    _fields_ = (("flags", U32),)


class KernelDesc(Described):
    """``ze_kernel_desc_t``."""

    STYPE = 0x1D
    _fields_ = (
        ("flags", U32),
        ("pKernelName", S),
    )


class KernelProperties(Described):
    """``ze_kernel_properties_t``."""

    STYPE = 0x1E
    _fields_ = (
        ("numKernelArgs", U32),
        ("requiredGroupSizeX", U32),
        ("requiredGroupSizeY", U32),
        ("requiredGroupSizeZ", U32),
        ("requiredNumSubGroups", U32),
        ("requiredSubgroupSize", U32),
        ("maxSubgroupSize", U32),
        ("maxNumSubgroups", U32),
        ("localMemSize", U32),
        ("privateMemSize", U32),
        ("spillMemSize", U32),
        ("uuid", U8 * 32),
    )


class KernelPreferredGroupSizeProperties(Described):
    """``ze_kernel_preferred_group_size_properties_t``."""

    STYPE = 0x21
    _fields_ = (("preferredMultiple", U32),)


class GroupCount(ctypes.Structure):
    """``ze_group_count_t``."""

    _fields_ = (
        ("groupCountX", U32),
        ("groupCountY", U32),
        ("groupCountZ", U32),
    )


class KernelTimestampData(ctypes.Structure):
    """``ze_kernel_timestamp_data_t``."""

    _fields_ = (
        ("kernelStart", U64),
        ("kernelEnd", U64),
    )


class KernelTimestampResult(ctypes.Structure):
    """``ze_kernel_timestamp_result_t``."""

    _fields_ = (
        ("global_", KernelTimestampData),
        ("context", KernelTimestampData),
    )


class InitDriverTypeDesc(Described):
    """``ze_init_driver_type_desc_t``."""

    STYPE = 0x20021
    _fields_ = (("flags", U32),)
