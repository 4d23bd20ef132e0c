"""A driver of Level Zero without a GPU, for tests: under the real loader, kernels run in tri's simulator.

    from tri_backend_intel.runtime.standin import Configuration, DeviceConfiguration, StandIn

    driver = StandIn(Configuration(devices=(DeviceConfiguration(arch="pvc"),) * 2))
    driver.announce()  # before the process first asks Level Zero for something

See ``docs/design/intel-standin.md``.
"""

from __future__ import annotations

from functools import cache

from tri_backend_intel.knobs import KNOBS
from tri_backend_intel.runtime.standin.configuration import Configuration, DeviceConfiguration
from tri_backend_intel.runtime.standin.driver import StandIn
from tri_core import knobs

__all__ = ["Configuration", "DeviceConfiguration", "StandIn", "announced"]


def announced() -> StandIn | None:
    """The driver that the knob ``INTEL_STANDIN`` asks for, announced to the loader; None where it asks for none.

    One a process, of the devices that the knob named first.
    """
    knobs.register(KNOBS)  # again, for who asks without the plugin manager
    archs: tuple[str, ...] = knobs.get("INTEL_STANDIN")
    return _begin(archs) if archs else None


@cache
def _begin(archs: tuple[str, ...]) -> StandIn:
    made = StandIn(Configuration(devices=tuple(DeviceConfiguration(arch=arch) for arch in archs)))
    made.announce()
    return made
