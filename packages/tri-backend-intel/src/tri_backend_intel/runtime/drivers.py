"""Drivers of this process: SYCL if dpctl is installed, else Level Zero and OpenCL themselves.

dpctl takes arrays and queues of other libraries (PyTorch's, dpnp's), so it goes first.  The knob ``INTEL_DRIVER`` names others.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
from dataclasses import replace
from functools import cache

from tri_backend_intel.knobs import DRIVERS, KNOBS
from tri_backend_intel.runtime.found import FoundDevice
from tri_backend_intel.runtime.interfaces import Driver
from tri_core import knobs
from tri_core.api import DeviceError

__all__ = ["driver_named", "driver_names", "found_devices", "reasons"]

_log = logging.getLogger(__name__)

#: a driver's name -> the module that has it, and its class; loaded when asked for
_MODULES = {
    "sycl": ("tri_backend_intel.runtime.sycl_driver", "SyclDriver"),
    "level_zero": ("tri_backend_intel.runtime.level_zero_driver", "LevelZeroDriver"),
    "opencl": ("tri_backend_intel.runtime.opencl_driver", "OpenClDriver"),
}
assert _MODULES.keys() == set(DRIVERS)


@cache
def driver_named(name: str) -> Driver:
    """The driver ``name`` of this process."""
    module, kind = _MODULES[name]
    made: Driver = getattr(importlib.import_module(module), kind)()
    return made


def driver_names() -> tuple[str, ...]:
    """The drivers to ask, in order: those of the knob, else by what is installed."""
    knobs.register(KNOBS)  # for who looks for devices without the plugin manager
    asked: tuple[str, ...] = knobs.get("INTEL_DRIVER")
    if asked:
        return asked
    return ("sycl",) if importlib.util.find_spec("dpctl") is not None else ("level_zero", "opencl")


@cache
def found_devices(names: tuple[str, ...], named_by_user: bool) -> tuple[FoundDevice, ...]:
    """The devices of the drivers ``names``, numbered together.

    A driver that cannot be loaded has none (:func:`reasons` says why), but raises DeviceError where the user asked for it.
    """
    found: list[FoundDevice] = []
    for name in names:
        try:
            found.extend(driver_named(name).devices())
        except DeviceError as error:
            if named_by_user:
                raise
            _log.info("no devices through %s: %s", name, error.message)
            _reasons[name] = error
    gpus_first = sorted(found, key=lambda device: device.is_cpu)
    return tuple(replace(d, info=replace(d.info, index=i)) for i, d in enumerate(gpus_first))


_reasons: dict[str, DeviceError] = {}


def reasons() -> tuple[DeviceError, ...]:
    """Errors of the drivers that have no devices, in order."""
    return tuple(_reasons.values())
