"""Modules, build logs and kernels."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable

from tri_backend_intel.runtime.level_zero.api.enums import Result
from tri_backend_intel.runtime.level_zero.api.structs import (
    KernelDesc,
    KernelProperties,
    ModuleDesc,
    ModuleProperties,
)
from tri_backend_intel.runtime.standin.devices import Context, Device
from tri_backend_intel.runtime.standin.objects import Refused
from tri_backend_intel.runtime.standin.pointers import at, put, put_bytes, put_handles, text_at
from tri_backend_intel.runtime.standin.programs import (
    BuildFailed,
    BuildLog,
    Kernel,
    Module,
    build,
    native_image,
)
from tri_backend_intel.runtime.standin.state import State

__all__ = ["CALLS"]


def create(
    state: State, context: int, device: int, desc: int | None, out: int | None, log: int | None
) -> None:
    given = at(ModuleDesc, desc)
    owner, on = state.handles.get(context, Context), state.handles.get(device, Device)
    data = ctypes.string_at(given.pInputModule, given.inputSize)
    options = (given.pBuildFlags or b"").decode()
    try:
        if state.failing_builds:
            raise BuildFailed(state.failing_builds.pop(0))
        made = build(owner, on, given.format, data, options, state.configuration.version_number)
    except BuildFailed as error:
        _give_log(state, log, str(error))
        raise Refused(Result.ERROR_MODULE_BUILD_FAILURE, str(error)) from error
    _give_log(state, log, "")
    put(ctypes.c_void_p, out, state.handles.add(made).handle)


def _give_log(state: State, out: int | None, text: str) -> None:
    if out:
        put(ctypes.c_void_p, out, state.handles.add(BuildLog(text)).handle)


def destroy(state: State, module: int) -> None:
    found = state.handles.get(module, Module)
    if any(isinstance(o, Kernel) and o.module is found for o in state.handles.alive()):
        raise Refused(Result.ERROR_HANDLE_OBJECT_IN_USE, "the module has kernels")
    state.handles.drop(found)


def log_text(state: State, log: int, size: int | None, out: int | None) -> None:
    put_bytes(size, out, state.handles.get(log, BuildLog).text.encode() + b"\0")


def log_destroy(state: State, log: int) -> None:
    state.handles.drop(state.handles.get(log, BuildLog))


def native(state: State, module: int, size: int | None, out: int | None) -> None:
    put_bytes(size, out, native_image(state.handles.get(module, Module), state.configuration.version_number))


def kernel_names(state: State, module: int, count: int | None, out: int | None) -> None:
    found = state.handles.get(module, Module)
    put_handles(count, out, [ctypes.addressof(name) for name in found.names])


def properties(state: State, module: int, out: int | None) -> None:
    state.handles.get(module, Module)
    at(ModuleProperties, out).flags = 0


def kernel_create(state: State, module: int, desc: int | None, out: int | None) -> None:
    name = (at(KernelDesc, desc).pKernelName or b"").decode()
    put(ctypes.c_void_p, out, state.handles.add(Kernel(state.handles.get(module, Module), name)).handle)


def kernel_destroy(state: State, kernel: int) -> None:
    state.handles.drop(state.handles.get(kernel, Kernel))


def kernel_properties(state: State, kernel: int, out: int | None) -> None:
    found, properties = state.handles.get(kernel, Kernel), at(KernelProperties, out)
    carried, facts = found.module.carried, found.module.facts
    lanes = carried.threads_per_warp
    properties.numKernelArgs = len(found.sizes)
    size = facts.local_size.get(found.name, (0, 0, 0))
    properties.requiredGroupSizeX, properties.requiredGroupSizeY, properties.requiredGroupSizeZ = size
    properties.requiredNumSubGroups = 0
    properties.requiredSubgroupSize = facts.sub_group_size.get(found.name, 0)
    properties.maxSubgroupSize, properties.maxNumSubgroups = (
        lanes,
        found.module.device.configuration.row.threads // lanes,
    )
    properties.localMemSize = carried.shared
    properties.spillMemSize = found.module.spills(found.name)
    properties.privateMemSize = 0
    properties.uuid[:] = hashlib.sha256(found.name.encode() + found.module.spirv).digest()


def kernel_name(state: State, kernel: int, size: int | None, out: int | None) -> None:
    put_bytes(size, out, state.handles.get(kernel, Kernel).name.encode() + b"\0")


def kernel_group(state: State, kernel: int, x: int, y: int, z: int) -> None:
    state.handles.get(kernel, Kernel).set_group(x, y, z)


def kernel_suggest(
    state: State, kernel: int, x: int, y: int, z: int, gx: int | None, gy: int | None, gz: int | None
) -> None:
    del x, y, z
    found = state.handles.get(kernel, Kernel)
    for out, value in zip((gx, gy, gz), (found.module.carried.threads, 1, 1), strict=True):
        put(ctypes.c_uint32, out, value)


def kernel_cooperative(state: State, kernel: int, out: int | None) -> None:
    state.handles.get(kernel, Kernel)
    put(ctypes.c_uint32, out, 4)


def kernel_argument(state: State, kernel: int, index: int, nbytes: int, value: int | None) -> None:
    """Refuse an argument that the library's own code did not take."""
    del value
    state.handles.get(kernel, Kernel).refuse_argument(index, nbytes)


def kernel_indirect(state: State, kernel: int, flags: int) -> None:
    state.handles.get(kernel, Kernel).indirect = flags


def kernel_get_indirect(state: State, kernel: int, out: int | None) -> None:
    put(ctypes.c_uint32, out, state.handles.get(kernel, Kernel).indirect)


def global_pointer(state: State, module: int, name: int | None, size: int | None, out: int | None) -> None:
    del size, out
    state.handles.get(module, Module)
    raise Refused(Result.ERROR_INVALID_GLOBAL_NAME, f"the module has no variable {text_at(name)}")


CALLS: dict[str, Callable[..., None]] = {
    "zeModuleCreate": create,
    "zeModuleDestroy": destroy,
    "zeModuleBuildLogGetString": log_text,
    "zeModuleBuildLogDestroy": log_destroy,
    "zeModuleGetNativeBinary": native,
    "zeModuleGetKernelNames": kernel_names,
    "zeModuleGetProperties": properties,
    "zeModuleGetGlobalPointer": global_pointer,
    "zeKernelCreate": kernel_create,
    "zeKernelDestroy": kernel_destroy,
    "zeKernelGetProperties": kernel_properties,
    "zeKernelGetName": kernel_name,
    "zeKernelSetGroupSize": kernel_group,
    "zeKernelSuggestGroupSize": kernel_suggest,
    "zeKernelSuggestMaxCooperativeGroupCount": kernel_cooperative,
    "zeKernelSetArgumentValue": kernel_argument,
    "zeKernelSetIndirectAccess": kernel_indirect,
    "zeKernelGetIndirectAccess": kernel_get_indirect,
}
