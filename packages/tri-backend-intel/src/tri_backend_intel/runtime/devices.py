"""The Intel devices of this machine, the best first, and the architecture of each."""

from __future__ import annotations

from typing import Any

from tri_backend_intel.runtime.drivers import driver_names, found_devices
from tri_backend_intel.runtime.found import FoundDevice
from tri_backend_intel.runtime.sycl import Sycl, sycl
from tri_core import knobs
from tri_core.api import DeviceError, DeviceInfo

__all__ = ["FoundDevice", "device_of", "devices", "probe", "stream_of", "sycl_devices"]


def devices() -> tuple[FoundDevice, ...]:
    """The devices of this process; DeviceError when a driver cannot be loaded that ``TRI_INTEL_DRIVER`` names."""
    names = driver_names()
    return found_devices(names, bool(knobs.get("INTEL_DRIVER")))


def sycl_devices() -> tuple[FoundDevice, ...]:
    """Those that SYCL serves, for arrays of its libraries; DeviceError where it serves none here."""
    found = tuple(device for device in devices() if device.driver == "sycl")
    if not found:
        sycl()  # says what to install where that is why
        raise DeviceError(
            f"an array of a SYCL library is given, and devices are used through {' and '.join(driver_names())} here",
            remedy="unset TRI_INTEL_DRIVER, or let it be sycl",
        )
    return found


def probe() -> tuple[DeviceInfo, ...]:
    """The devices present; none when a driver cannot be loaded."""
    try:
        return tuple(found.info for found in devices())
    except DeviceError:
        return ()


def device_of(syclobj: Any) -> DeviceInfo:
    """The device of an array's ``syclobj``: a queue, a context, a capsule of one, or a filter string."""
    present = sycl_devices()
    wanted = _sycl_device(sycl(), syclobj)
    for found in present:
        if found.native == wanted:
            return found.info
    raise DeviceError(
        f"an array lies on {wanted.name}, which runs no kernels here",
        remedy=f"copy it to {', '.join(found.info.name for found in present) or 'a device'}",
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
