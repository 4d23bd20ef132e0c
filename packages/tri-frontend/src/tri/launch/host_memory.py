"""Kernels on arrays in host memory: on which device, and how the arrays get there.

A runtime may have devices of several architectures; it then has ``device_for(arch)`` and ``host_memory_for(arch)``, as
:class:`tri_runtime.RuntimeBase` has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tri_core.runtime import HostMemory, Runtime
    from tri_core.target import DeviceInfo

__all__ = ["device_for", "host_memory_for"]


def device_for(owner: Runtime, arch: str) -> DeviceInfo:
    """The device of ``owner`` for a kernel of ``arch``; DeviceError when there is none."""
    choose = getattr(owner, "device_for", None)
    found: DeviceInfo = owner.current_device() if choose is None else choose(arch)
    return found


def host_memory_for(owner: Runtime, arch: str) -> HostMemory:
    """How host memory gets to kernels of ``arch`` that ``owner`` launches."""
    ask = getattr(owner, "host_memory_for", None)
    found: HostMemory = owner.host_memory if ask is None else ask(arch)
    return found
