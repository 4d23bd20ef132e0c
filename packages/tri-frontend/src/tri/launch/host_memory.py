"""Kernels on arrays in host memory: on which device, and how the arrays get there.

A runtime may have devices of several architectures; it then has ``device_for(arch)`` and ``host_memory_for(arch)``, as
:class:`tri_runtime.RuntimeBase` has.  One that refuses host memory may read some of it, memory that its driver pinned, say: it then
has ``mapped(array, device)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tri.launch.calls import call_site
from tri_core.errors import LaunchError

if TYPE_CHECKING:
    from tri_core.runtime import ArrayArgument, HostMemory, Runtime
    from tri_core.target import DeviceInfo, TargetKey

__all__ = ["device_for", "host_memory_for", "may_be_mapped", "refusal", "with_mapped"]


def device_for(owner: Runtime, arch: str) -> DeviceInfo:
    """The device of ``owner`` for a kernel of ``arch``; DeviceError when there is none."""
    choose = getattr(owner, "device_for", None)
    found: DeviceInfo = owner.current_device() if choose is None else choose(arch)
    return found


def host_memory_for(owner: Runtime, arch: str) -> HostMemory:
    """Access of kernels of ``arch`` that ``owner`` launches to host memory."""
    ask = getattr(owner, "host_memory_for", None)
    found: HostMemory = owner.host_memory if ask is None else ask(arch)
    return found


def may_be_mapped(owner: Runtime) -> bool:
    """True if devices of ``owner``, which refuses host memory, read some of it."""
    return getattr(owner, "mapped", None) is not None


def refusal(kernel: str, owner: Runtime, target: TargetKey) -> LaunchError:
    """The error of a launch of ``kernel`` with an array in host memory that the device does not read."""
    return LaunchError(
        f"{kernel} got an array in host memory, which {target} cannot read",
        remedy=getattr(owner, "host_array_remedy", "move the array to the device first"),
    )


def with_mapped(
    kernel: tuple[str, TargetKey],
    owner: Runtime,
    device: DeviceInfo | None,
    arguments: Sequence[Any],
    arrays: Mapping[int, ArrayArgument],
) -> list[Any]:
    """``arguments`` with the addresses by which ``device`` (None: the current one) reads those of ``arrays``, which are in host memory.

    Raises LaunchError where it does not read one.
    """
    read: Any = getattr(owner, "mapped", None)
    found = list(arguments)
    for place, array in arrays.items():
        address = read(array, device_for(owner, kernel[1].arch) if device is None else device)
        if address is None:
            error = refusal(kernel[0], owner, kernel[1])
            error.location = call_site()
            raise error
        found[place] = address
    return found
