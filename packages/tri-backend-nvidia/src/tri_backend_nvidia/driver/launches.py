"""Launches with attributes: cooperative grids, and grids that begin before the one ahead of them has ended.

CUDA Driver API, "Execution Control" (``cuLaunchKernelEx``, ``CUlaunchConfig``, ``CUlaunchAttribute``) and "Occupancy".
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping
from typing import Any

from tri_backend_nvidia.driver.driver import address_of, call
from tri_core.api import DeviceInfo, OutOfResources
from tri_core.lazy_dataclasses import dataclass
from tri_runtime.native.layouts import CONFIG

__all__ = [
    "COOPERATIVE",
    "PROGRAMMATIC",
    "Residency",
    "attribute_records",
    "attributes_of",
    "extended",
    "residency",
]

#: options of a kernel that are launch attributes, and the driver's numbers of these
COOPERATIVE, PROGRAMMATIC = "launch_cooperative_grid", "launch_pdl"
_NUMBERS = {COOPERATIVE: 2, PROGRAMMATIC: 6}


class _Attribute(ctypes.Structure):
    """``CUlaunchAttribute``: the value is a union of 64 bytes, of which ours are one int."""

    _fields_ = (
        ("id", ctypes.c_uint),
        ("pad", ctypes.c_uint),
        ("value", ctypes.c_int),
        ("rest", ctypes.c_int * 15),
    )


def attributes_of(options: Mapping[str, Any]) -> tuple[int, ...]:
    """The driver's numbers of the launch attributes that a kernel's ``options`` ask for."""
    return tuple(number for name, number in _NUMBERS.items() if options.get(name))


@functools.cache
def _launch_extended() -> Callable[..., int]:
    """``cuLaunchKernelEx`` as a ctypes function."""
    return ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(address_of("cuLaunchKernelEx"))


def attribute_records(numbers: tuple[int, ...]) -> ctypes.Array[_Attribute]:
    """The driver's records of the attributes ``numbers``, all of them on."""
    return (_Attribute * len(numbers))(*[_Attribute(id=number, value=1) for number in numbers])


def extended(numbers: tuple[int, ...]) -> Callable[..., int]:
    """A function called as ``cuLaunchKernel`` is, which sets the attributes ``numbers`` as well."""
    start = _launch_extended()
    made = attribute_records(numbers)

    def launch(
        function: int, x: int, y: int, z: int, bx: int, by: int, bz: int,
        shared: int, stream: int, parameters: int, extra: None,
    ) -> int:  # fmt: skip
        config = CONFIG.structure(
            x, y, z, bx, by, bz, shared, stream, ctypes.addressof(made), len(numbers)
        )  # the driver reads it during the call
        return start(ctypes.addressof(config), function, parameters, extra)

    return launch


@dataclass(frozen=True)
class Residency:
    """Occupancy of a device by a kernel: ``per_unit`` CTAs on each of ``units`` multiprocessors."""

    per_unit: int
    units: int

    @property
    def ctas(self) -> int:
        """On the whole device."""
        return self.per_unit * self.units

    def check(self, kernel: str, grid: tuple[int, int, int], device: DeviceInfo) -> None:
        """OutOfResources for a cooperative ``grid`` that cannot be resident all at once: its CTAs would wait for ever."""
        x, y, z = grid
        if x * y * z <= self.ctas:
            return
        raise OutOfResources(
            f"the cooperative grid {grid} of {kernel} is of {x * y * z} CTAs; {device.name} holds {self.ctas} of "
            f"them at a time ({self.per_unit} on each of {self.units} multiprocessors)",
            remedy=f"launch at most {self.ctas} programs that loop over the work; with smaller blocks, fewer num_warps "
            "or fewer num_stages more of them fit",
            resource="resident_ctas",
            need=x * y * z,
            have=self.ctas,
        )


def residency(function: object, threads: int, shared: int, units: int) -> Residency:
    """That of the driver's ``function`` for CTAs of ``threads`` with ``shared`` bytes, in the current context."""
    found = call("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, threads, shared)
    return Residency(int(found), units)
