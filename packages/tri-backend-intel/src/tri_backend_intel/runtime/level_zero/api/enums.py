"""Numbers of Level Zero's C API (Level Zero specification 1.17, "Core API"): names are C's without the type's prefix."""

from __future__ import annotations

from enum import IntEnum, IntFlag

__all__ = [
    "CommandListFlag",
    "CommandQueueFlag",
    "CommandQueueGroupPropertyFlag",
    "CommandQueueMode",
    "CommandQueuePriority",
    "DeviceFpFlag",
    "DeviceMemAllocFlag",
    "DeviceModuleFlag",
    "DeviceP2PPropertyFlag",
    "DevicePropertyFlag",
    "DeviceType",
    "EventPoolFlag",
    "EventScopeFlag",
    "FenceFlag",
    "HostMemAllocFlag",
    "InitDriverTypeFlag",
    "InitFlag",
    "KernelFlag",
    "KernelIndirectAccessFlag",
    "MemoryAccessCapFlag",
    "MemoryType",
    "ModuleFormat",
    "Result",
]


class Result(IntEnum):
    """``ze_result_t``."""

    SUCCESS = 0
    NOT_READY = 1
    ERROR_DEVICE_LOST = 0x70000001
    ERROR_OUT_OF_HOST_MEMORY = 0x70000002
    ERROR_OUT_OF_DEVICE_MEMORY = 0x70000003
    ERROR_MODULE_BUILD_FAILURE = 0x70000004
    ERROR_MODULE_LINK_FAILURE = 0x70000005
    ERROR_DEVICE_REQUIRES_RESET = 0x70000006
    ERROR_DEVICE_IN_LOW_POWER_STATE = 0x70000007
    EXP_ERROR_DEVICE_IS_NOT_VERTEX = 0x7FF00001
    EXP_ERROR_VERTEX_IS_NOT_DEVICE = 0x7FF00002
    EXP_ERROR_REMOTE_DEVICE = 0x7FF00003
    EXP_ERROR_OPERANDS_INCOMPATIBLE = 0x7FF00004
    EXP_RTAS_BUILD_RETRY = 0x7FF00005
    EXP_RTAS_BUILD_DEFERRED = 0x7FF00006
    ERROR_INSUFFICIENT_PERMISSIONS = 0x70010000
    ERROR_NOT_AVAILABLE = 0x70010001
    ERROR_DEPENDENCY_UNAVAILABLE = 0x70020000
    WARNING_DROPPED_DATA = 0x70020001
    ERROR_UNINITIALIZED = 0x78000001
    ERROR_UNSUPPORTED_VERSION = 0x78000002
    ERROR_UNSUPPORTED_FEATURE = 0x78000003
    ERROR_INVALID_ARGUMENT = 0x78000004
    ERROR_INVALID_NULL_HANDLE = 0x78000005
    ERROR_HANDLE_OBJECT_IN_USE = 0x78000006
    ERROR_INVALID_NULL_POINTER = 0x78000007
    ERROR_INVALID_SIZE = 0x78000008
    ERROR_UNSUPPORTED_SIZE = 0x78000009
    ERROR_UNSUPPORTED_ALIGNMENT = 0x7800000A
    ERROR_INVALID_SYNCHRONIZATION_OBJECT = 0x7800000B
    ERROR_INVALID_ENUMERATION = 0x7800000C
    ERROR_UNSUPPORTED_ENUMERATION = 0x7800000D
    ERROR_UNSUPPORTED_IMAGE_FORMAT = 0x7800000E
    ERROR_INVALID_NATIVE_BINARY = 0x7800000F
    ERROR_INVALID_GLOBAL_NAME = 0x78000010
    ERROR_INVALID_KERNEL_NAME = 0x78000011
    ERROR_INVALID_FUNCTION_NAME = 0x78000012
    ERROR_INVALID_GROUP_SIZE_DIMENSION = 0x78000013
    ERROR_INVALID_GLOBAL_WIDTH_DIMENSION = 0x78000014
    ERROR_INVALID_KERNEL_ARGUMENT_INDEX = 0x78000015
    ERROR_INVALID_KERNEL_ARGUMENT_SIZE = 0x78000016
    ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE = 0x78000017
    ERROR_INVALID_MODULE_UNLINKED = 0x78000018
    ERROR_INVALID_COMMAND_LIST_TYPE = 0x78000019
    ERROR_OVERLAPPING_REGIONS = 0x7800001A
    WARNING_ACTION_REQUIRED = 0x7800001B
    ERROR_INVALID_KERNEL_HANDLE = 0x7800001C
    EXT_RTAS_BUILD_RETRY = 0x7800001D
    EXT_RTAS_BUILD_DEFERRED = 0x7800001E
    EXT_ERROR_OPERANDS_INCOMPATIBLE = 0x7800001F
    ERROR_SURVIVABILITY_MODE_DETECTED = 0x78000020
    ERROR_ADDRESS_NOT_FOUND = 0x78000021
    QUERY_TRUE = 0x78000022
    QUERY_FALSE = 0x78000023
    ERROR_INVALID_GRAPH = 0x78000024
    ERROR_GRAPH_CAPTURE_UNSUPPORTED = 0x78000025
    ERROR_GRAPH_CAPTURE_INVALIDATED = 0x78000026
    ERROR_GRAPH_CAPTURE_MERGE_ATTEMPT = 0x78000027
    ERROR_COMMAND_LIST_NOT_CAPTURING = 0x78000028
    ERROR_GRAPH_UNJOINED_FORKS = 0x78000029
    ERROR_GRAPH_INTERNAL_EVENT = 0x7800002A
    ERROR_UNKNOWN = 0x7FFFFFFE


class InitFlag(IntFlag):
    """``ze_init_flag_t``."""

    GPU_ONLY = 1 << 0
    VPU_ONLY = 1 << 1


class InitDriverTypeFlag(IntFlag):
    """``ze_init_driver_type_flag_t``."""

    GPU = 1 << 0
    NPU = 1 << 1


class DeviceType(IntEnum):
    """``ze_device_type_t``."""

    GPU = 1
    CPU = 2
    FPGA = 3
    MCA = 4
    VPU = 5


class DevicePropertyFlag(IntFlag):
    """``ze_device_property_flag_t``."""

    INTEGRATED = 1 << 0
    SUBDEVICE = 1 << 1
    ECC = 1 << 2
    ONDEMANDPAGING = 1 << 3


class DeviceModuleFlag(IntFlag):
    """``ze_device_module_flag_t``."""

    FP16 = 1 << 0
    FP64 = 1 << 1
    INT64_ATOMICS = 1 << 2
    DP4A = 1 << 3


class DeviceFpFlag(IntFlag):
    """``ze_device_fp_flag_t``."""

    DENORM = 1 << 0
    INF_NAN = 1 << 1
    ROUND_TO_NEAREST = 1 << 2
    ROUND_TO_ZERO = 1 << 3
    ROUND_TO_INF = 1 << 4
    FMA = 1 << 5
    ROUNDED_DIVIDE_SQRT = 1 << 6
    SOFT_FLOAT = 1 << 7


class CommandQueueGroupPropertyFlag(IntFlag):
    """``ze_command_queue_group_property_flag_t``."""

    COMPUTE = 1 << 0
    COPY = 1 << 1
    COOPERATIVE_KERNELS = 1 << 2
    METRICS = 1 << 3


class CommandQueueFlag(IntFlag):
    """``ze_command_queue_flag_t``."""

    EXPLICIT_ONLY = 1 << 0
    IN_ORDER = 1 << 1
    COPY_OFFLOAD_HINT = 1 << 2


class CommandQueueMode(IntEnum):
    """``ze_command_queue_mode_t``."""

    DEFAULT = 0
    SYNCHRONOUS = 1
    ASYNCHRONOUS = 2


class CommandQueuePriority(IntEnum):
    """``ze_command_queue_priority_t``."""

    NORMAL = 0
    PRIORITY_LOW = 1
    PRIORITY_HIGH = 2


class CommandListFlag(IntFlag):
    """``ze_command_list_flag_t``."""

    RELAXED_ORDERING = 1 << 0
    MAXIMIZE_THROUGHPUT = 1 << 1
    EXPLICIT_ONLY = 1 << 2
    IN_ORDER = 1 << 3
    EXP_CLONEABLE = 1 << 4
    COPY_OFFLOAD_HINT = 1 << 5


class EventPoolFlag(IntFlag):
    """``ze_event_pool_flag_t``."""

    HOST_VISIBLE = 1 << 0
    IPC = 1 << 1
    KERNEL_TIMESTAMP = 1 << 2
    KERNEL_MAPPED_TIMESTAMP = 1 << 3


class EventScopeFlag(IntFlag):
    """``ze_event_scope_flag_t``."""

    SUBDEVICE = 1 << 0
    DEVICE = 1 << 1
    HOST = 1 << 2


class FenceFlag(IntFlag):
    """``ze_fence_flag_t``."""

    SIGNALED = 1 << 0


class DeviceMemAllocFlag(IntFlag):
    """``ze_device_mem_alloc_flag_t``."""

    BIAS_CACHED = 1 << 0
    BIAS_UNCACHED = 1 << 1
    BIAS_INITIAL_PLACEMENT = 1 << 2


class HostMemAllocFlag(IntFlag):
    """``ze_host_mem_alloc_flag_t``."""

    BIAS_CACHED = 1 << 0
    BIAS_UNCACHED = 1 << 1
    BIAS_WRITE_COMBINED = 1 << 2
    BIAS_INITIAL_PLACEMENT = 1 << 3
    MEM_READ_ONLY = 1 << 4


class MemoryType(IntEnum):
    """``ze_memory_type_t``."""

    UNKNOWN = 0
    HOST = 1
    DEVICE = 2
    SHARED = 3
    HOST_IMPORTED = 4


class ModuleFormat(IntEnum):
    """``ze_module_format_t``."""

    IL_SPIRV = 0
    NATIVE = 1


class KernelFlag(IntFlag):
    """``ze_kernel_flag_t``."""

    FORCE_RESIDENCY = 1 << 0
    EXPLICIT_RESIDENCY = 1 << 1


class KernelIndirectAccessFlag(IntFlag):
    """``ze_kernel_indirect_access_flag_t``."""

    HOST = 1 << 0
    DEVICE = 1 << 1
    SHARED = 1 << 2


class DeviceP2PPropertyFlag(IntFlag):
    """``ze_device_p2p_property_flag_t``."""

    ACCESS = 1 << 0
    ATOMICS = 1 << 1


class MemoryAccessCapFlag(IntFlag):
    """``ze_memory_access_cap_flag_t``."""

    RW = 1 << 0
    ATOMIC = 1 << 1
    CONCURRENT = 1 << 2
    CONCURRENT_ATOMIC = 1 << 3
