"""Devices of the stand-in, by processor and modes."""

from __future__ import annotations

from tri_backend_amd.processors import FAMILIES, PROCESSORS, Family
from tri_backend_amd.target_ids import checked_modes
from tri_core.api import OptionError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Configuration", "DeviceConfiguration"]


@dataclass(frozen=True, kw_only=True)
class DeviceConfiguration:
    """A device: a GPU with target id ``arch`` (``"gfx942:sramecc+:xnack-"``) and ``memory`` bytes.

    OptionError for a processor that is none, TargetError for modes that it does not have.
    """

    arch: str = "gfx942:sramecc+:xnack-"
    memory: int = 4 << 30

    def __post_init__(self) -> None:
        if self.processor not in PROCESSORS:
            raise OptionError(f"no GPU is called {self.arch!r}", remedy=f"known: {', '.join(PROCESSORS)}")
        checked_modes(self.arch, self.processor, self.arch.split(":")[1:])

    @property
    def processor(self) -> str:
        """The target id without its modes."""
        return self.arch.partition(":")[0]

    @property
    def family(self) -> Family:
        """The row of the processor."""
        return FAMILIES[PROCESSORS[self.processor].family]


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """The devices, whether their kernels reach each other's memory, and HIP's version."""

    devices: tuple[DeviceConfiguration, ...] = (DeviceConfiguration(),)
    peers: bool = False
    version: int = 70_151_831
