"""Level Zero as a driver of the runtime."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from tri_backend_intel.architectures import DEVICE_KIND
from tri_backend_intel.runtime.architecture import architecture_of
from tri_backend_intel.runtime.build import build_kernel
from tri_backend_intel.runtime.found import DeviceFacts, FoundDevice
from tri_backend_intel.runtime.level_zero.devices import ZeDevice, ze_devices
from tri_backend_intel.runtime.level_zero.kernels import (
    ZeKernel,
    ZeModule,
    launch_plan,
    make_kernel,
    make_launch,
)
from tri_backend_intel.runtime.level_zero.loader import loader
from tri_backend_intel.runtime.level_zero.memory import ZeMemory
from tri_backend_intel.runtime.level_zero.queue import ZeQueue
from tri_backend_intel.runtime.native import (
    NativeApi,
    NativeRefused,
    OwnedPrograms,
    Program,
    Programs,
    images_of,
)
from tri_backend_intel.runtime.native.level_zero import LevelZero
from tri_core import forks
from tri_core.api import DeviceError, DeviceInfo, KernelImage, Launch, LaunchPlan

__all__ = ["LevelZeroDriver"]


class LevelZeroDriver:
    """:class:`Driver` by Level Zero's loader."""

    name = "level_zero"

    def devices(self) -> tuple[FoundDevice, ...]:
        """Intel's GPUs; ``ZE_AFFINITY_MASK`` chooses among them."""
        found = ze_devices(loader())
        return tuple(FoundDevice(_info(i, d), d, _facts(i, d), self.name) for i, d in enumerate(found))

    def open(self, device: FoundDevice) -> ZeQueue:
        """An immediate command list in a context of its own, closed when the process ends."""
        queue = ZeQueue(device.native)

        def close() -> None:
            with suppress(DeviceError):  # a lost device takes nothing back
                queue.close()

        atexit.register(close)
        forks.in_child(lambda: atexit.unregister(close))
        return queue

    def memory(self, queue: ZeQueue) -> ZeMemory:
        """USM of the queue's context."""
        return ZeMemory(queue)

    def programs(self, device: FoundDevice, queue: ZeQueue) -> Programs | None:
        """Modules, kept as native binaries."""
        api = _api(queue)
        return Programs(OwnedPrograms(api, partial(ZeModule, queue)), images_of(device, api))

    def build(
        self, image: KernelImage, queue: ZeQueue, modes: Sequence[str], programs: Programs | None
    ) -> ZeKernel:
        """By ``zeModuleCreate``."""
        where = queue.ze_device.name
        return self.kernel(build_kernel(image, modes, programs, where, "Level Zero"), image, queue)

    def kernel(self, program: Program, image: KernelImage, queue: ZeQueue) -> ZeKernel:
        """The kernel of a module, for groups of the image's size."""
        del queue
        return make_kernel(program.program, image.metadata.entry, image.metadata.threads, program.options)

    def launcher(self, kernel: ZeKernel, image: KernelImage) -> Launch:
        """By compiled code."""
        return make_launch(kernel, image)

    def launch_plan(self, kernel: ZeKernel, image: KernelImage) -> LaunchPlan | None:
        """The same code, without Python before it."""
        return launch_plan(kernel, image)

    def check_build(self, selector: str, data: bytes, name: str, options: str) -> None:
        """By ``zeModuleCreate`` on the device of number ``selector``."""
        queue = ZeQueue(ze_devices(loader())[int(selector)])
        try:
            api = _api(queue)
            module = api.from_spirv(data, options)
            try:
                api.spills(module, name)
            except NativeRefused as error:
                raise NativeRefused("there is no such kernel in the module") from error
            finally:
                api.release(module)
        finally:
            queue.close()


def _api(queue: ZeQueue) -> NativeApi:
    return LevelZero(queue.loader, queue.context, queue.ze_device.handle)


def _info(index: int, device: ZeDevice) -> DeviceInfo:
    arch = architecture_of(int(device.properties.deviceId), device.sub_group_sizes)
    return DeviceInfo(DEVICE_KIND, index, arch, device.name)


def _facts(index: int, device: ZeDevice) -> DeviceFacts:
    return DeviceFacts(
        vendor=f"{device.properties.vendorId:#x}",
        driver_version=device.driver.version_text,
        platform=(f"device {device.properties.deviceId:#x}",),
        selector=str(index),
        features=device.features,
        sub_group_sizes=device.sub_group_sizes,
    )
