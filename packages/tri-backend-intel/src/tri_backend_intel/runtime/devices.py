"""The Intel devices of this machine, the best first, and the architecture of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tri_backend_intel.architectures import DEVICE_KIND
from tri_backend_intel.runtime.sycl import Sycl, sycl
from tri_core.api import DeviceError, DeviceInfo

__all__ = ["FoundDevice", "architecture_of", "device_of", "devices", "find_devices", "probe", "stream_of"]

#: PCI device ids, both ends included -> architecture (the lists are in Linux' intel/pciids.h)
_PCI: tuple[tuple[int, int, str], ...] = (
    (0x0B69, 0x0B6E, "pvc"),
    (0x0BD0, 0x0BE5, "pvc"),
    (0x4600, 0x46FF, "xe-lp"),
    (0x4905, 0x4909, "xe-lp"),
    (0x4C80, 0x4C9A, "xe-lp"),
    (0x4F80, 0x4F88, "dg2"),
    (0x5690, 0x56C2, "dg2"),
    (0x6420, 0x64B0, "lnl"),
    (0x7D51, 0x7D51, "arl-h"),
    (0x7DD1, 0x7DD1, "arl-h"),
    (0x7D40, 0x7DD5, "mtl"),
    (0x9A40, 0x9AFF, "xe-lp"),
    (0xA700, 0xA7FF, "xe-lp"),
    (0xB080, 0xB0BF, "ptl"),
    (0xB640, 0xB640, "mtl"),
    (0xE200, 0xE22F, "bmg"),
    (0xFD80, 0xFD81, "ptl"),
)

#: backend and type of a SYCL device, best first: a GPU that Level Zero shows is not taken from OpenCL too
_PREFERENCE = (("level_zero", "gpu"), ("opencl", "gpu"), ("opencl", "cpu"))


@dataclass(frozen=True)
class FoundDevice:
    """A device, ``info`` for the rest of tri and ``sycl_device`` for the driver."""

    info: DeviceInfo
    sycl_device: Any

    @property
    def is_cpu(self) -> bool:
        """Whether the device is a CPU: its memory is the host's."""
        return self.info.arch == "opencl-cpu"


def architecture_of(device_id: int, sub_group_sizes: list[int]) -> str:
    """The architecture of PCI device ``device_id``; of an unlisted GPU, the nearest that it can run."""
    for first, last, name in _PCI:
        if first <= device_id <= last:
            return name
    return "xe-lp" if 8 in sub_group_sizes else "ptl"


def find_devices(sycl: Sycl) -> tuple[FoundDevice, ...]:
    """Intel's GPUs and OpenCL CPU device; makes no queue and no context of its own."""
    groups: dict[tuple[str, str], list[Any]] = {key: [] for key in _PREFERENCE}
    for device in sycl.dpctl.get_devices():
        key = (device.backend.name, device.device_type.name)
        if key in groups and "Intel" in device.vendor:
            groups[key].append(device)
    gpus = groups["level_zero", "gpu"] or groups["opencl", "gpu"]
    chosen = [*gpus, *groups["opencl", "cpu"]]
    return tuple(FoundDevice(_info(sycl, i, device), device) for i, device in enumerate(chosen))


@lru_cache(maxsize=1)
def devices() -> tuple[FoundDevice, ...]:
    """The devices of this process; DeviceError when dpctl cannot be loaded."""
    return find_devices(sycl())


def probe() -> tuple[DeviceInfo, ...]:
    """The devices present; none when dpctl cannot be loaded."""
    try:
        return tuple(found.info for found in devices())
    except DeviceError:
        return ()


def device_of(syclobj: Any) -> DeviceInfo:
    """The device of an array's ``syclobj``: a queue, a context, a capsule of one, or a filter string."""
    wanted = _sycl_device(sycl(), syclobj)
    for found in devices():
        if found.sycl_device == wanted:
            return found.info
    raise DeviceError(
        f"an array lies on {wanted.name}, which runs no kernels here",
        remedy=f"copy it to {', '.join(found.info.name for found in devices()) or 'a device'}",
    )


#: the queues of arrays, each as one object: an array gives new ones, whose addresses do not last
_queues: dict[Any, Any] = {}


def stream_of(syclobj: Any) -> int | None:
    """The address of the ``sycl::queue`` of an array's ``syclobj``; None where that names no queue."""
    loaded = sycl()
    if isinstance(syclobj, str | loaded.dpctl.SyclContext | loaded.dpctl.SyclDevice):
        return None
    queue = syclobj if isinstance(syclobj, loaded.dpctl.SyclQueue) else loaded.dpctl.SyclQueue(syclobj)
    return int(_queues.setdefault(queue, queue).addressof_ref())


def _sycl_device(loaded: Sycl, syclobj: Any) -> Any:
    if isinstance(syclobj, str):
        return loaded.dpctl.SyclDevice(syclobj)
    if hasattr(syclobj, "sycl_device"):
        return syclobj.sycl_device
    if isinstance(syclobj, loaded.dpctl.SyclContext):
        return syclobj.get_devices()[0]
    return loaded.dpctl.SyclQueue(syclobj).sycl_device


def _info(sycl: Sycl, index: int, device: Any) -> DeviceInfo:
    arch = "opencl-cpu"
    if device.is_gpu:
        import dpctl.utils

        facts = dpctl.utils.intel_device_info(device)
        arch = architecture_of(int(facts.get("device_id", 0)), list(device.sub_group_sizes))
    return DeviceInfo(DEVICE_KIND, index, arch, device.name.strip())
