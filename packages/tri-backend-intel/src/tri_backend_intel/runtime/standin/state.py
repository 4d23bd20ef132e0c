"""The driver's state: what all calls work on, and what its owner asks it to do wrong."""

from __future__ import annotations

from tri_backend_intel.runtime.standin.configuration import Configuration
from tri_backend_intel.runtime.standin.devices import Device, Driver
from tri_backend_intel.runtime.standin.memory import Usm
from tri_backend_intel.runtime.standin.objects import Handles, Object

__all__ = ["State"]


class State:
    """One driver with its devices, and all that callers made."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.handles = Handles()
        self.usm = Usm()
        self.driver = self.handles.add(Driver())
        self.devices = tuple(Device(self.driver, i, d) for i, d in enumerate(configuration.devices))
        for device in self.devices:
            for part in (device, *device.parts):
                self.handles.add(part)
        #: what the driver's compiler is to say of the next modules, one text each
        self.failing_builds: list[str] = []
        #: functions that answer a code of their own, by name
        self.answers: dict[str, int] = {}
        self._permanent = {id(found) for found in self.handles.alive()}

    def left(self) -> list[str]:
        """Leaks of callers: kinds of objects, and allocations."""
        objects: list[Object] = [o for o in self.handles.alive() if id(o) not in self._permanent]
        return sorted([type(o).__name__ for o in objects] + ["allocation" for _ in self.usm])
