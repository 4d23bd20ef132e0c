"""Drivers and devices of Level Zero, and what they say of themselves (Level Zero specification, "Drivers and Devices")."""

from __future__ import annotations

import ctypes
from typing import TypeVar

from tri_backend_intel.runtime.level_zero.api import (
    Described,
    DeviceComputeProperties,
    DeviceModuleFlag,
    DeviceModuleProperties,
    DeviceP2PProperties,
    DeviceP2PPropertyFlag,
    DeviceProperties,
    DevicePropertyFlag,
    DeviceType,
    DriverProperties,
)
from tri_backend_intel.runtime.level_zero.loader import Loader
from tri_core.api import DeviceError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["INTEL", "ZeDevice", "ZeDriver", "check_driver", "ze_devices", "ze_drivers"]

INTEL = 0x8086
#: the first driver with in-order command lists, as Unified Runtime asks for it (``L0_DRIVER_INORDER_MIN_VERSION``)
_IN_ORDER = (1, 3, 29534)

_S = TypeVar("_S", bound=Described)


@dataclass(frozen=True)
class ZeDriver:
    """A driver; ``version`` is major, minor, build, zeros where it does not say."""

    handle: int
    version: tuple[int, int, int]
    api: tuple[int, int]

    @property
    def version_text(self) -> str:
        """The version as it is written."""
        return ".".join(map(str, self.version))


@dataclass(frozen=True)
class ZeDevice:
    """A device, or a part of one (a tile, ``is_part``); the structures are the driver's answers."""

    loader: Loader
    driver: ZeDriver
    handle: int
    properties: DeviceProperties
    compute: DeviceComputeProperties
    module: DeviceModuleProperties

    @property
    def name(self) -> str:
        """The product's name."""
        return str(self.properties.name.decode(errors="replace")).strip()

    @property
    def is_part(self) -> bool:
        """True if it is a sub-device."""
        return bool(self.properties.flags & DevicePropertyFlag.SUBDEVICE)

    @property
    def sub_group_sizes(self) -> tuple[int, ...]:
        """Sizes of sub-groups that kernels may have."""
        return tuple(self.compute.subGroupSizes[: self.compute.numSubGroupSizes])

    @property
    def features(self) -> frozenset[str]:
        """``fp64``, ``fp16``, ``atomic64``: those that the device has."""
        flags = {
            "fp16": DeviceModuleFlag.FP16,
            "fp64": DeviceModuleFlag.FP64,
            "atomic64": DeviceModuleFlag.INT64_ATOMICS,
        }
        return frozenset(word for word, flag in flags.items() if self.module.flags & flag)

    def parts(self) -> list[ZeDevice]:
        """Its sub-devices, each a device to which kernels may go; none where it is in one piece."""
        return [
            _described(self.loader, self.driver, h)
            for h in self.loader.listed("zeDeviceGetSubDevices", self.handle)
        ]

    def can_access(self, other: ZeDevice) -> bool:
        """True if kernels here may read and write memory of ``other``."""
        answer = ctypes.c_uint8()
        self.loader("zeDeviceCanAccessPeer", self.handle, other.handle, ctypes.byref(answer))
        return bool(answer.value)

    def has_atomics_on(self, other: ZeDevice) -> bool:
        """True if atomics on memory of ``other`` are atomic for both."""
        properties = DeviceP2PProperties.new()
        self.loader("zeDeviceGetP2PProperties", self.handle, other.handle, ctypes.byref(properties))
        return bool(properties.flags & DeviceP2PPropertyFlag.ATOMICS)


def ze_drivers(loader: Loader) -> list[ZeDriver]:
    """The drivers of GPUs; DeviceError when there is none."""
    found = []
    for handle in loader.drivers():
        properties = DriverProperties.new()
        loader("zeDriverGetProperties", handle, ctypes.byref(properties))
        api = ctypes.c_uint32()
        loader("zeDriverGetApiVersion", handle, ctypes.byref(api))
        said = properties.driverVersion
        version = (said >> 24, said >> 16 & 0xFF, said & 0xFFFF)
        found.append(ZeDriver(handle, version, (api.value >> 16, api.value & 0xFFFF)))
    return found


def check_driver(driver: ZeDriver, name: str) -> None:
    """DeviceError when the driver of the device called ``name`` is too old for in-order command lists."""
    if any(driver.version) and driver.version < _IN_ORDER:
        raise DeviceError(
            f"the driver of {name}, {driver.version_text}, has no in-order command lists",
            remedy=f"install a driver from {'.'.join(map(str, _IN_ORDER))} on, or use it through SYCL: "
            "pip install 'tri-backend-intel[sycl]'",
        )


def ze_devices(loader: Loader) -> list[ZeDevice]:
    """Intel's GPUs, in the drivers' order; ``ZE_AFFINITY_MASK`` and ``ZE_FLAT_DEVICE_HIERARCHY`` say which and how."""
    found = []
    for driver in ze_drivers(loader):
        for handle in loader.listed("zeDeviceGet", driver.handle):
            device = _described(loader, driver, handle)
            if device.properties.type == DeviceType.GPU and device.properties.vendorId == INTEL:
                found.append(device)
    return found


def _described(loader: Loader, driver: ZeDriver, handle: int) -> ZeDevice:
    def asked(function: str, kind: type[_S]) -> _S:
        answer = kind.new()
        loader(function, handle, ctypes.byref(answer))
        return answer

    return ZeDevice(
        loader,
        driver,
        handle,
        asked("zeDeviceGetProperties", DeviceProperties),
        asked("zeDeviceGetComputeProperties", DeviceComputeProperties),
        asked("zeDeviceGetModuleProperties", DeviceModuleProperties),
    )
