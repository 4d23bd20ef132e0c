"""Configuration of the stand-in's devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tri_backend_intel.architectures import ARCHITECTURES, Architecture
from tri_core.api import OptionError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Configuration", "DeviceConfiguration"]

#: a PCI device id of each architecture (Linux' intel/pciids.h)
_PCI = {
    "pvc": 0x0BD5,
    "bmg": 0xE20B,
    "lnl": 0x64A0,
    "ptl": 0xB080,
    "dg2": 0x56A0,
    "arl-h": 0x7D51,
    "mtl": 0x7D55,
    "xe-lp": 0x4905,
}


@dataclass(frozen=True, kw_only=True)
class DeviceConfiguration:
    """A device: a GPU of ``arch`` with ``memory`` bytes, divided into ``sub_devices``.

    ``without``: SPIR-V extensions of the architecture that the driver's compiler refuses.  ``spills``: bytes that it
    spills of a kernel, by name, with 128 registers; with 256 it spills nothing.  ``tick``: nanoseconds of the
    device's clock.  OptionError for an architecture that is no GPU.
    """

    arch: str = "pvc"
    sub_devices: int = 0
    memory: int = 1 << 30
    without: frozenset[str] = frozenset()
    spills: Mapping[str, int] = field(default_factory=dict)
    tick: int = 52

    def __post_init__(self) -> None:
        if self.arch not in _PCI:
            raise OptionError(f"no GPU is called {self.arch!r}", remedy=f"known: {', '.join(_PCI)}")

    @property
    def row(self) -> Architecture:
        """The row of the architecture."""
        return ARCHITECTURES[self.arch]

    @property
    def pci(self) -> int:
        """The PCI device id."""
        return _PCI[self.arch]

    @property
    def extensions(self) -> frozenset[str]:
        """The SPIR-V extensions that the driver's compiler takes."""
        return frozenset(self.row.spirv_extensions) - self.without


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """The driver: its devices, whether they reach each other's memory, its version."""

    devices: tuple[DeviceConfiguration, ...] = (DeviceConfiguration(),)
    peers: bool = True
    version: tuple[int, int, int] = (1, 6, 35000)

    @property
    def version_number(self) -> int:
        """The version in one number, as Intel's driver gives it."""
        major, minor, build = self.version
        return major << 24 | minor << 16 | build
