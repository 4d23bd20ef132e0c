"""A driver of Level Zero without a GPU, for tests: under the real loader, kernels run in tri's simulator.

    from tri_backend_intel.runtime.standin import Configuration, DeviceConfiguration, StandIn

    driver = StandIn(Configuration(devices=(DeviceConfiguration(arch="pvc"),) * 2))
    driver.announce()  # before the process first asks Level Zero for something

See ``docs/design/intel-standin.md``.
"""

from __future__ import annotations

from tri_backend_intel.runtime.standin.configuration import Configuration, DeviceConfiguration
from tri_backend_intel.runtime.standin.driver import StandIn

__all__ = ["Configuration", "DeviceConfiguration", "StandIn"]
