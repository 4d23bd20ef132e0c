"""The functions of the driver, by name; each is given the state and the caller's arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tri_backend_intel.runtime.standin.calls import devices, events, lists, memory, modules

__all__ = ["CALLS"]

CALLS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {**devices.CALLS, **memory.CALLS, **modules.CALLS, **lists.CALLS, **events.CALLS}
)
