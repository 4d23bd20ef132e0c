"""OpenCL as a driver of the runtime: Intel's device for CPUs, without SYCL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tri_backend_intel.architectures import DEVICE_KIND
from tri_backend_intel.runtime.build import build_kernel
from tri_backend_intel.runtime.found import DeviceFacts, FoundDevice
from tri_backend_intel.runtime.native import (
    NativeApi,
    NativeRefused,
    OwnedPrograms,
    Program,
    Programs,
    images_of,
)
from tri_backend_intel.runtime.native.opencl import OpenCL
from tri_backend_intel.runtime.opencl.kernels import ClKernel, ClProgram, make_kernel, make_launch
from tri_backend_intel.runtime.opencl.library import opencl_library
from tri_backend_intel.runtime.opencl.queue import ClDevice, ClMemory, ClQueue
from tri_core.api import DeviceInfo, KernelImage, Launch, LaunchPlan

__all__ = ["OpenClDriver"]

#: CL_DEVICE_TYPE_CPU
_CPU = 1 << 1
#: CL_PLATFORM_VERSION, CL_PLATFORM_NAME, CL_DEVICE_NAME, _VENDOR, CL_DRIVER_VERSION, CL_DEVICE_EXTENSIONS, _SUB_GROUP_SIZES_INTEL
_VERSION, _PLATFORM, _NAME, _VENDOR, _DRIVER, _EXTENSIONS, _SIZES = (
    0x0901, 0x0902, 0x102B, 0x102C, 0x102D, 0x1030, 0x4108,
)  # fmt: skip
#: extension -> feature
_FEATURES = {"cl_khr_fp64": "fp64", "cl_khr_fp16": "fp16", "cl_khr_int64_base_atomics": "atomic64"}


class OpenClDriver:
    """:class:`Driver` by OpenCL's loader."""

    name = "opencl"

    def devices(self) -> tuple[FoundDevice, ...]:
        """Intel's devices that are CPUs."""
        library = opencl_library()
        found = [
            ClDevice(library, platform, handle)
            for platform in library.listed("clGetPlatformIDs")
            for handle in library.listed("clGetDeviceIDs", platform, _CPU)
        ]
        intel = [d for d in found if "Intel" in library.text("clGetDeviceInfo", d.handle, _VENDOR)]
        return tuple(FoundDevice(_info(i, d), d, _facts(i, d), self.name) for i, d in enumerate(intel))

    def open(self, device: FoundDevice) -> ClQueue:
        """An in-order queue in a context of its own."""
        return ClQueue(device.native)

    def memory(self, queue: ClQueue) -> ClMemory:
        """The host's memory."""
        return ClMemory(queue)

    def programs(self, device: FoundDevice, queue: ClQueue) -> Programs | None:
        """Programs, kept as the driver's binaries."""
        api = _api(queue)
        return Programs(OwnedPrograms(api, partial(ClProgram, queue)), images_of(device, api))

    def build(
        self, image: KernelImage, queue: ClQueue, modes: Sequence[str], programs: Programs | None
    ) -> ClKernel:
        """By ``clBuildProgram``."""
        where = queue.library.text("clGetDeviceInfo", queue.cl_device.handle, _NAME)
        return self.kernel(build_kernel(image, modes, programs, where, "OpenCL"), image, queue)

    def kernel(self, program: Program, image: KernelImage, queue: ClQueue) -> ClKernel:
        """The kernel of a program."""
        del queue
        return make_kernel(program.program, image.metadata.entry)

    def launcher(self, kernel: ClKernel, image: KernelImage) -> Launch:
        """By ``clEnqueueNDRangeKernel``."""
        return make_launch(kernel, image)

    def launch_plan(self, kernel: ClKernel, image: KernelImage) -> LaunchPlan | None:
        """None: a launch waits for its end, which compiled code does not."""
        del kernel, image
        return None

    def check_build(self, selector: str, data: bytes, name: str, options: str) -> None:
        """By ``clBuildProgram`` on the device of number ``selector``."""
        queue = ClQueue(self.devices()[int(selector)].native)
        try:
            program = ClProgram(queue, _api(queue).from_spirv(data, options))
            if not program.has_kernel(name):
                raise NativeRefused("there is no such kernel in the module")
            del program
        finally:
            queue.close()


def _api(queue: ClQueue) -> NativeApi:
    return OpenCL(queue.library.library, queue.context, queue.cl_device.handle)


def _info(index: int, device: ClDevice) -> DeviceInfo:
    name = device.library.text("clGetDeviceInfo", device.handle, _NAME)
    return DeviceInfo(DEVICE_KIND, index, "opencl-cpu", name)


def _facts(index: int, device: ClDevice) -> DeviceFacts:
    library, handle = device.library, device.handle
    listed = set(library.text("clGetDeviceInfo", handle, _EXTENSIONS).split())
    sizes = library.said("clGetDeviceInfo", handle, _SIZES)
    return DeviceFacts(
        vendor=library.text("clGetDeviceInfo", handle, _VENDOR),
        driver_version=library.text("clGetDeviceInfo", handle, _DRIVER),
        platform=tuple(library.text("clGetPlatformInfo", device.platform, w) for w in (_PLATFORM, _VERSION)),
        selector=str(index),
        features=frozenset(word for name, word in _FEATURES.items() if name in listed),
        sub_group_sizes=tuple(
            int.from_bytes(sizes[i : i + 8], "little") for i in range(0, len(sizes) // 8 * 8, 8)
        ),
    )
