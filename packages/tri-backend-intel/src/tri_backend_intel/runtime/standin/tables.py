"""The tables of functions through which the loader of Level Zero calls a driver.

Fields in order, each with the version of the API that has it first; a loader that asks for an older version has
a shorter table (``ze_ddi.h`` of the Level Zero headers; since when: the specification's history of functions).
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["EMPTY", "TABLES", "Field", "table_function"]


class Field(NamedTuple):
    """A field: the function that it holds, and the version (minor number of 1.x) of the first table with it."""

    function: str
    since: int


#: names of fields without the table's, with ``:`` and the minor version from which on they are there
_FIELDS = {
    "Global": "Init InitDrivers:10",
    "Driver": "Get GetApiVersion GetProperties GetIpcProperties GetExtensionProperties GetExtensionFunctionAddress:1 "
    "GetLastErrorDescription:6",
    "DriverExp": "RTASFormatCompatibilityCheckExp:7",
    "Device": "Get GetSubDevices GetProperties GetComputeProperties GetModuleProperties GetCommandQueueGroupProperties "
    "GetMemoryProperties GetMemoryAccessProperties GetCacheProperties GetImageProperties GetExternalMemoryProperties "
    "GetP2PProperties CanAccessPeer GetStatus GetGlobalTimestamps:1 ReserveCacheExt:2 SetCacheAdviceExt PciGetPropertiesExt:3 "
    "GetRootDevice:7 ImportExternalSemaphoreExt:12 ReleaseExternalSemaphoreExt GetVectorWidthPropertiesExt:13",
    "DeviceExp": "GetFabricVertexExp:4",
    "Context": "Create Destroy GetStatus SystemBarrier MakeMemoryResident EvictMemory MakeImageResident EvictImage CreateEx:1",
    "CommandQueue": "Create Destroy ExecuteCommandLists Synchronize GetOrdinal:9 GetIndex",
    "CommandList": "Create CreateImmediate Destroy Close Reset AppendWriteGlobalTimestamp AppendBarrier "
    "AppendMemoryRangesBarrier AppendMemoryCopy AppendMemoryFill AppendMemoryCopyRegion AppendMemoryCopyFromContext "
    "AppendImageCopy AppendImageCopyRegion AppendImageCopyToMemory AppendImageCopyFromMemory AppendMemoryPrefetch "
    "AppendMemAdvise AppendSignalEvent AppendWaitOnEvents AppendEventReset AppendQueryKernelTimestamps AppendLaunchKernel "
    "AppendLaunchCooperativeKernel AppendLaunchKernelIndirect AppendLaunchMultipleKernelsIndirect "
    "AppendImageCopyToMemoryExt:3 AppendImageCopyFromMemoryExt HostSynchronize:6 GetDeviceHandle:9 GetContextHandle GetOrdinal "
    "ImmediateGetIndex IsImmediate AppendSignalExternalSemaphoreExt:12 AppendWaitExternalSemaphoreExt",
    "CommandListExp": "CreateCloneExp:9 ImmediateAppendCommandListsExp GetNextCommandIdExp UpdateMutableCommandsExp "
    "UpdateMutableCommandSignalEventExp UpdateMutableCommandWaitEventsExp GetNextCommandIdWithKernelsExp:10 "
    "UpdateMutableCommandKernelsExp",
    "Image": "GetProperties Create Destroy GetAllocPropertiesExt:3 ViewCreateExt:5",
    "ImageExp": "GetMemoryPropertiesExp:2 ViewCreateExp GetDeviceOffsetExp:9",
    "Mem": "AllocShared AllocDevice AllocHost Free GetAllocProperties GetAddressRange GetIpcHandle OpenIpcHandle CloseIpcHandle "
    "FreeExt:3 PutIpcHandle:6 GetPitchFor2dImage:9",
    "MemExp": "GetIpcHandleFromFileDescriptorExp:6 GetFileDescriptorFromIpcHandleExp SetAtomicAccessAttributeExp:7 "
    "GetAtomicAccessAttributeExp",
    "Fence": "Create Destroy HostSynchronize QueryStatus Reset",
    "EventPool": "Create Destroy GetIpcHandle OpenIpcHandle CloseIpcHandle PutIpcHandle:6 GetContextHandle:9 GetFlags",
    "Event": "Create Destroy HostSignal HostSynchronize QueryStatus HostReset QueryKernelTimestamp QueryKernelTimestampsExt:6 "
    "GetEventPool:9 GetSignalScope GetWaitScope",
    "EventExp": "QueryTimestampsExp:2",
    "Module": "Create Destroy DynamicLink GetNativeBinary GetGlobalPointer GetKernelNames GetProperties GetFunctionPointer "
    "InspectLinkageExt:3",
    "ModuleBuildLog": "Destroy GetString",
    "Kernel": "Create Destroy SetCacheConfig SetGroupSize SuggestGroupSize SuggestMaxCooperativeGroupCount SetArgumentValue "
    "SetIndirectAccess GetIndirectAccess GetSourceAttributes GetProperties GetName",
    "KernelExp": "SetGlobalOffsetExp:1 SchedulingHintExp:2 GetBinaryExp:11",
    "Sampler": "Create Destroy",
    "PhysicalMem": "Create Destroy",
    "VirtualMem": "Reserve Free QueryPageSize Map Unmap SetAccessAttribute GetAccessAttribute",
    "FabricVertexExp": "GetExp:4 GetSubVerticesExp GetPropertiesExp GetDeviceExp",
    "FabricEdgeExp": "GetExp:4 GetVerticesExp GetPropertiesExp",
    "RTASBuilderExp": "CreateExp:7 GetBuildPropertiesExp BuildExp DestroyExp",
    "RTASParallelOperationExp": "CreateExp:7 GetPropertiesExp JoinExp DestroyExp",
}


def _fields(table: str, text: str) -> tuple[Field, ...]:
    since, found = 0, []
    prefix = "" if table == "Global" else table.removesuffix("Exp")
    for word in text.split():
        name, _, version = word.partition(":")
        since = int(version) if version else since
        found.append(Field(f"ze{prefix}{name}", since))
    return tuple(found)


#: fields in order, by name of the table
TABLES: dict[str, tuple[Field, ...]] = {name: _fields(name, text) for name, text in _FIELDS.items()}


def table_function(table: str) -> str:
    """The function of a driver that fills in ``table``."""
    return f"zeGet{table}ProcAddrTable"


#: functions that fill in tables of tools, of system management and of the newer runtime: the loader wants them, they leave
#: tables as they are, and calls then say that nothing is there
EMPTY = tuple(
    f"{prefix}Get{table}ProcAddrTable"
    for prefix, tables in {
        "zet": "CommandList CommandListExp Context Debug Device DeviceExp Kernel Metric MetricDecoderExp MetricExp MetricGroup "
        "MetricGroupExp MetricProgrammableExp MetricQuery MetricQueryPool MetricStreamer MetricTracerExp Module TracerExp",
        "zes": "Device DeviceExp Diagnostics Driver DriverExp Engine FabricPort Fan Firmware FirmwareExp Frequency Global Led "
        "Memory Overclock PerformanceFactor Power Psu Ras RasExp Scheduler Standby Temperature VFManagementExp",
        "zer": "Global",
    }.items()
    for table in tables.split()
)
