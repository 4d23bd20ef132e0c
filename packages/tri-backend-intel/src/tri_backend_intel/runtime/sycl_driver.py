"""SYCL through dpctl: GPUs by Level Zero or OpenCL, the OpenCL CPU device, and queues of other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tri_backend_intel.architectures import DEVICE_KIND
from tri_backend_intel.runtime.architecture import architecture_of
from tri_backend_intel.runtime.found import DeviceFacts, FoundDevice
from tri_backend_intel.runtime.kernels import SyclKernel, build_kernel, kernel_of, make_launch
from tri_backend_intel.runtime.memory import UsmMemory
from tri_backend_intel.runtime.native import NativeRefused, Program, Programs, images_of, interop_of
from tri_backend_intel.runtime.queues import DeviceQueue
from tri_backend_intel.runtime.sycl import Sycl, sycl
from tri_core.api import DeviceError, DeviceInfo, KernelImage, Launch, LaunchPlan

__all__ = ["SyclDriver"]

#: backend and type of a SYCL device, best first: a GPU that Level Zero shows is not taken from OpenCL too
_PREFERENCE = (("level_zero", "gpu"), ("opencl", "gpu"), ("opencl", "cpu"))
#: dpctl's name of a device aspect -> the feature
_ASPECTS = {"has_aspect_fp64": "fp64", "has_aspect_fp16": "fp16", "has_aspect_atomic64": "atomic64"}


class SyclDriver:
    """:class:`Driver` through dpctl."""

    name = "sycl"

    def __init__(self) -> None:
        self._trial_queues: dict[str, Any] = {}

    def devices(self) -> tuple[FoundDevice, ...]:
        """Intel's GPUs and OpenCL CPU device; makes no queue and no context of its own."""
        return _find_devices(sycl())

    def open(self, device: FoundDevice) -> DeviceQueue:
        """An in-order queue."""
        loaded = sycl()
        try:
            return DeviceQueue(loaded, device)
        except loaded.dpctl.SyclQueueCreationError as error:
            raise DeviceError(f"{device.info.name} gives no queue: {error}") from error

    def memory(self, queue: DeviceQueue) -> UsmMemory:
        """USM device memory."""
        return UsmMemory(sycl(), queue)

    def programs(self, device: FoundDevice, queue: DeviceQueue) -> Programs | None:
        """Programs of the driver below SYCL, where that can be reached."""
        below = interop_of(sycl(), queue.queue)
        return Programs(below, images_of(device, below.api)) if below is not None else None

    def build(
        self, image: KernelImage, queue: DeviceQueue, modes: Sequence[str], programs: Programs | None
    ) -> SyclKernel:
        """By the driver below SYCL, else by SYCL with the first of ``modes``."""
        return build_kernel(sycl(), image, queue, modes, programs)

    def kernel(self, program: Program, image: KernelImage, queue: DeviceQueue) -> SyclKernel:
        """The kernel of dpctl's program."""
        return kernel_of(program, image.metadata.entry, queue)

    def launcher(self, kernel: SyclKernel, image: KernelImage) -> Launch:
        """By ``DPCTLQueue_SubmitNDRange``."""
        return make_launch(sycl(), kernel, image)

    def launch_plan(self, kernel: SyclKernel, image: KernelImage) -> LaunchPlan | None:
        """None: submitting to SYCL is more than one call."""
        del kernel, image
        return None

    def check_build(self, selector: str, data: bytes, name: str, options: str) -> None:
        """By dpctl's program, on the device of SYCL's filter string ``selector``."""
        dpctl = sycl().dpctl
        if selector not in self._trial_queues:
            self._trial_queues[selector] = dpctl.SyclQueue(selector)
        try:
            program = dpctl.program.create_program_from_spirv(self._trial_queues[selector], data, options)
        except (dpctl.program.SyclProgramCompilationError, ValueError) as error:
            raise NativeRefused(str(error)) from error
        if not program.has_sycl_kernel(name):
            raise NativeRefused("there is no such kernel in the module")


def _find_devices(sycl: Sycl) -> tuple[FoundDevice, ...]:
    """Intel's GPUs and OpenCL CPU device; makes no queue and no context of its own."""
    groups: dict[tuple[str, str], list[Any]] = {key: [] for key in _PREFERENCE}
    for device in sycl.dpctl.get_devices():
        key = (device.backend.name, device.device_type.name)
        if key in groups and "Intel" in device.vendor:
            groups[key].append(device)
    gpus = groups["level_zero", "gpu"] or groups["opencl", "gpu"]
    chosen = [*gpus, *groups["opencl", "cpu"]]
    return tuple(
        FoundDevice(_info(i, device), device, _facts(device), "sycl") for i, device in enumerate(chosen)
    )


def _info(index: int, device: Any) -> DeviceInfo:
    arch = "opencl-cpu"
    if device.is_gpu:
        import dpctl.utils

        facts = dpctl.utils.intel_device_info(device)
        arch = architecture_of(int(facts.get("device_id", 0)), list(device.sub_group_sizes))
    return DeviceInfo(DEVICE_KIND, index, arch, device.name.strip())


def _facts(device: Any) -> DeviceFacts:
    platform = device.sycl_platform
    return DeviceFacts(
        vendor=device.vendor,
        driver_version=device.driver_version,
        platform=(platform.name, platform.version),
        selector=device.filter_string,
        features=frozenset(word for aspect, word in _ASPECTS.items() if getattr(device, aspect)),
        sub_group_sizes=tuple(device.sub_group_sizes),
    )
