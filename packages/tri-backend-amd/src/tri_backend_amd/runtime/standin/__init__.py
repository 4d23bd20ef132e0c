"""HIP without a GPU, for tests: under the real hip-python, kernels run in tri's simulator.

    from tri_backend_amd.runtime.standin import Configuration, DeviceConfiguration, StandIn

    standin = StandIn(Configuration(devices=(DeviceConfiguration(arch="gfx942"),) * 8))
    standin.announce()  # before the process first calls HIP

See the section "The stand-in" of ``docs/design/amd.md``.
"""

from __future__ import annotations

from functools import cache

from tri_backend_amd.knobs import KNOBS
from tri_backend_amd.runtime.standin.configuration import Configuration, DeviceConfiguration
from tri_backend_amd.runtime.standin.driver import StandIn
from tri_backend_amd.runtime.standin.errors import HipError
from tri_core import knobs

__all__ = ["Configuration", "DeviceConfiguration", "HipError", "StandIn", "announced"]


def announced() -> StandIn | None:
    """The stand-in that the knob ``AMD_STANDIN`` asks for, announced to hip-python; None where it asks for none.

    One a process, of the devices that the knob named first.
    """
    knobs.register(KNOBS)  # again, for who asks without the plugin manager
    archs: tuple[str, ...] = knobs.get("AMD_STANDIN")
    return _begin(archs) if archs else None


@cache
def _begin(archs: tuple[str, ...]) -> StandIn:
    made = StandIn(Configuration(devices=tuple(DeviceConfiguration(arch=arch) for arch in archs)))
    made.announce()
    return made
