"""The AMD GPUs of this machine."""

from __future__ import annotations

import functools
import logging
from typing import Any

from tri_backend_amd.architectures import DEVICE_KIND
from tri_backend_amd.runtime.hip import Hip, hip, hip_present
from tri_backend_amd.runtime.installed import UnusableHip
from tri_core.api import DeviceError, DeviceInfo
from tri_core.notices import PluginWarning, warn

__all__ = ["list_devices", "probe", "target_id_of"]

logger = logging.getLogger(__name__)


@functools.cache
def probe() -> tuple[DeviceInfo, ...]:
    """The devices that HIP shows, in its order; none without a working HIP.  Creates no context.

    PluginWarning where HIP is there and cannot be used: without hip-python, half of ROCm, two HIPs in the process.
    """
    if not hip_present():
        return ()
    try:
        return list_devices(hip())
    except DeviceError as error:
        if isinstance(error, UnusableHip):  # of this environment, not of the machine
            warn(
                f"HIP is there, but {error.message}: its devices are left out; {error.remedy}", PluginWarning
            )
        else:
            logger.info("no HIP devices: %s", error.message)
        return ()


def list_devices(loaded: Hip) -> tuple[DeviceInfo, ...]:
    """The devices that ``loaded`` shows; DeviceError when it fails."""
    return tuple(_describe(loaded, i) for i in range(loaded.call("hipGetDeviceCount")))


def target_id_of(loaded: Hip, index: int) -> str:
    """The processor of device ``index`` with its modes: ``gfx942:sramecc+:xnack-``."""
    return _text(_properties(loaded, index).gcnArchName)


def _describe(loaded: Hip, index: int) -> DeviceInfo:
    properties = _properties(loaded, index)
    # our code runs in any mode, unless its target names one
    arch = _text(properties.gcnArchName).partition(":")[0]
    return DeviceInfo(DEVICE_KIND, index, arch, _text(properties.name))


def _properties(loaded: Hip, index: int) -> Any:
    try:
        return loaded.call("hipGetDeviceProperties", index)
    except TypeError:  # hip-python before version 10 fills what it is given
        properties = loaded.api.hipDeviceProp_t()
        loaded.call("hipGetDeviceProperties", properties, index)
        return properties


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
