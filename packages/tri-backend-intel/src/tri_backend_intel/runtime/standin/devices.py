"""Devices, their clocks and how they are lost; contexts."""

from __future__ import annotations

import ctypes
import logging
import time

from tri_backend_intel.runtime.level_zero.api.enums import Result
from tri_backend_intel.runtime.standin.changes import Changes
from tri_backend_intel.runtime.standin.configuration import DeviceConfiguration
from tri_backend_intel.runtime.standin.objects import Object, Refused

__all__ = ["Context", "Device", "Driver", "Fault"]

logger = logging.getLogger(__name__)


class Fault(Exception):
    """Fatal fault of a device: an access outside of memory, a kernel that traps."""


class Driver(Object):
    """The driver; ``changes`` are whatever callers may wait for."""

    def __init__(self) -> None:
        super().__init__()
        self.changes = Changes()
        self.last_error = ""
        #: the text that a caller was shown last, which it may still read
        self.shown = ctypes.create_string_buffer(1)


class Device(Object):
    """A device, or a part of ``parent``; what happens to one part happens to all."""

    def __init__(
        self, driver: Driver, index: int, configuration: DeviceConfiguration, parent: Device | None = None
    ) -> None:
        super().__init__()
        self.driver, self.index, self.configuration, self.parent = driver, index, configuration, parent
        self.root = parent or self
        self.lost = ""
        self.used = 0
        #: launches so far, and at which of them the device is to be lost
        self.launches = 0
        self.lose_at: int | None = None
        self.parts = [
            Device(driver, part, configuration, self)
            for part in range(0 if parent is not None else configuration.sub_devices)
        ]

    def ticks(self) -> int:
        """The device's clock now."""
        return time.monotonic_ns() // self.configuration.tick

    def lose(self, why: str) -> None:
        """The device answers nothing but that it is lost."""
        with self.driver.changes.lock():
            if not self.root.lost:
                logger.error("the stand-in's device %d is lost: %s", self.root.index, why)
                self.root.lost = self.driver.last_error = why
            self.driver.changes.tell()

    def lose_on_demand(self) -> None:
        """Be lost, as a test asks for."""
        self.lose("the stand-in was asked to lose it")

    def check(self) -> None:
        """Refused when the device is lost, as it is to a forked child."""
        if self.driver.changes.alone:
            raise Refused(
                Result.ERROR_DEVICE_LOST, "the process was forked from the one that opened the driver"
            )
        if self.root.lost:
            raise Refused(Result.ERROR_DEVICE_LOST, self.root.lost)

    def count_launch(self) -> None:
        """One more launch, which may be the one that is not survived."""
        with self.driver.changes.lock():
            self.root.launches += 1
            due = self.root.lose_at is not None and self.root.launches >= self.root.lose_at
        if due:
            raise Fault(f"launch {self.root.launches} was to lose the device")


class Context(Object):
    """A context of some devices."""

    def __init__(self, driver: Driver, devices: tuple[Device, ...]) -> None:
        super().__init__()
        self.driver, self.devices = driver, devices

    def check(self, device: Device) -> None:
        """Refused for a device of another context."""
        if self.devices and device.root not in {d.root for d in self.devices}:
            raise Refused(
                Result.ERROR_INVALID_ARGUMENT, f"device {device.root.index} is not one of the context's"
            )
