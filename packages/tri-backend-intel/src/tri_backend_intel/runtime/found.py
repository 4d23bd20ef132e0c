"""A device as its driver describes it."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from tri_core.api import DeviceInfo, HostMemory
from tri_core.lazy_dataclasses import dataclass

__all__ = ["DeviceFacts", "FoundDevice"]


@dataclass(frozen=True)
class DeviceFacts:
    """Facts of a device from its driver: ``features`` among ``fp64``, ``fp16``, ``atomic64``; sizes of
    sub-groups in lanes.

    ``selector`` names the device to the same driver in another process; ``platform`` are words that decide, with the other
    names and the version, what code the driver makes.
    """

    vendor: str = ""
    driver_version: str = ""
    platform: tuple[str, ...] = ()
    selector: str = ""
    features: frozenset[str] = frozenset()
    sub_group_sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class FoundDevice:
    """A device, ``info`` for the rest of tri and ``native`` for the driver of name ``driver``."""

    info: DeviceInfo
    native: Any
    facts: DeviceFacts = field(default_factory=DeviceFacts)
    driver: str = "sycl"

    @property
    def is_cpu(self) -> bool:
        """True if the device is a CPU: its memory is the host's."""
        return self.info.arch == "opencl-cpu"

    @property
    def host_memory(self) -> HostMemory:
        """Host arrays are used in place on a CPU; copied by Level Zero, which has no arrays of its own; refused by SYCL's GPUs."""
        if self.is_cpu:
            return "direct"
        return "staged" if self.driver == "level_zero" else "refused"
