"""The GPUs of this machine, and the context of each."""

from __future__ import annotations

import functools
import logging
from typing import Any

from tri_backend_nvidia.architectures import DEVICE_KIND, architecture_of_device
from tri_backend_nvidia.driver.driver import call, driver_present, initialised
from tri_core.api import DeviceError, DeviceInfo
from tri_core.notices import PluginWarning, warn

__all__ = ["attribute", "context", "device_of_pointer", "handle", "mapped", "probe"]

logger = logging.getLogger(__name__)


@functools.cache
def probe() -> tuple[DeviceInfo, ...]:
    """The devices that the driver shows, in its order; none without a working driver.  Creates no context.

    PluginWarning where the driver is there and cuda-python is not.
    """
    if not driver_present():
        return ()
    try:
        initialised()
        return tuple(_describe(i) for i in range(call("cuDeviceGetCount")))
    except DeviceError as error:
        if isinstance(error.__cause__, ImportError):  # of this environment, not of the machine
            warn(f"NVIDIA's driver is there, but {error.message}: its devices are left out", PluginWarning)
        else:
            logger.info("no CUDA devices: %s", error.message)
        return ()


def _describe(index: int) -> DeviceInfo:
    major = attribute(index, "COMPUTE_CAPABILITY_MAJOR")
    minor = attribute(index, "COMPUTE_CAPABILITY_MINOR")
    name: bytes = call("cuDeviceGetName", 256, handle(index))
    title = name.split(b"\0")[0].decode(errors="replace")
    return DeviceInfo(DEVICE_KIND, index, architecture_of_device(major, minor), title)


def handle(index: int) -> object:
    """The driver's handle of device ``index``."""
    return call("cuDeviceGet", index)


def attribute(index: int, name: str) -> int:
    """Attribute ``CU_DEVICE_ATTRIBUTE_<name>`` of device ``index``."""
    attributes = initialised().CUdevice_attribute
    return int(
        call("cuDeviceGetAttribute", getattr(attributes, f"CU_DEVICE_ATTRIBUTE_{name}"), handle(index))
    )


@functools.cache
def context(index: int) -> Any:
    """The primary context of device ``index``, the one that every CUDA library shares; retained for good."""
    initialised()
    return call("cuDevicePrimaryCtxRetain", handle(index))


def mapped(pointer: int, nbytes: int) -> int | None:
    """Device address, in this thread's context, of ``nbytes`` bytes of host memory at ``pointer``; None if
    not mapped.

    It reads memory that the driver allocated, or registered from the first byte to the last, and memory that it manages.
    """
    attribute = initialised().CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_POINTER
    last = max(nbytes, 1) - 1
    ends = []
    for address in dict.fromkeys((pointer, pointer + last)):
        status, found = initialised().cuPointerGetAttribute(attribute, address)
        if status:  # not the driver's
            return None
        ends.append(int(found))
    return ends[0] if ends[0] and ends[-1] - ends[0] == last else None


def device_of_pointer(pointer: int) -> DeviceInfo:
    """The device whose memory ``pointer`` points to; the first one for memory that all share, and for null."""
    present = probe()
    if not present:
        raise DeviceError("no CUDA device is present", remedy="is NVIDIA's driver running?")
    if len(present) == 1 or pointer == 0:
        return present[0]
    ordinal = initialised().CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return present[int(call("cuPointerGetAttribute", ordinal, pointer))]
