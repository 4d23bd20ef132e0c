"""The one door to HIP: hip-python's bindings, imported when first needed.

Every call goes through :meth:`Hip.call`, which turns HIP's status into a :class:`DeviceError`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from tri_backend_amd.knobs import KNOBS
from tri_backend_amd.runtime.installed import (
    NAMES,
    UnusableHip,
    check_one,
    found_by_name,
    installed,
    leading_to_loaded,
    loaded,
    loading_remedy,
)
from tri_core import knobs
from tri_core.api import DeviceError

__all__ = ["Hip", "hip", "hip_present"]

#: HIP's status -> what a user can do about it
_REMEDIES = {
    "hipErrorOutOfMemory": "free device memory that is no longer used",
    "hipErrorNoBinaryForGpu": "compile for the device that is present: target amd names it",
    "hipErrorNoDevice": "HIP_VISIBLE_DEVICES may hide the devices; is the user in the groups video and render?",
    "hipErrorInvalidImage": "the installed ROCm may be too old for code object version 5",
    "hipErrorIllegalAddress": "the kernel accessed memory out of bounds: check its masks",
    "hipErrorLaunchFailure": "the kernel failed on the device: check its masks",
    "hipErrorLaunchOutOfResources": "fewer num_warps or smaller blocks need fewer registers",
}


class Hip:
    """HIP's functions by name, from ``api``, the module ``hip`` of the package ``hip``."""

    def __init__(self, api: Any) -> None:
        self.api = api

    def call(self, name: str, *args: Any) -> Any:
        """Call function ``name``: its result, None when it has none; DeviceError when it fails."""
        try:
            status, *results = getattr(self.api, name)(*args)
        except RuntimeError as failure:  # how hip-python says that the library cannot be loaded
            raise UnusableHip(f"{name}: {failure}", remedy=loading_remedy()) from failure
        if int(status):
            raise self.error(name, status)
        return results[0] if results else None

    @contextmanager
    def on_device(self, index: int) -> Iterator[None]:
        """Make device ``index`` this thread's current one for a ``with`` block: modules and streams are those of a device."""
        here = self.call("hipGetDevice")
        if here == index:
            yield
            return
        self.call("hipSetDevice", index)
        try:
            yield
        finally:
            self.call("hipSetDevice", here)

    def error(self, what: str, status: Any) -> DeviceError:
        """The error for ``status``, which ``what`` gave."""
        title = getattr(status, "name", f"HIP error {int(status)}")
        _, text = self.api.hipGetErrorString(status)
        words = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
        return DeviceError(f"{what} failed with {title}: {words}", remedy=_REMEDIES.get(title))


def hip_present() -> bool:
    """True if HIP's library can be found; much cheaper than importing the bindings."""
    knobs.register(KNOBS)  # for who looks for devices without the plugin manager
    return bool(knobs.get("AMD_STANDIN") or loaded() or installed()) or found_by_name()


@functools.cache
def hip() -> Hip:
    """The bindings, whose library is loaded; DeviceError when HIP is missing, UnusableHip where it is there and of no use."""
    if not hip_present():
        raise DeviceError(f"HIP ({NAMES[0]}) is not installed", remedy=loading_remedy())
    if knobs.get("AMD_STANDIN"):
        from tri_backend_amd.runtime.standin import announced

        announced()
        led: AbstractContextManager[None] = nullcontext()
    else:
        led = leading_to_loaded()
    try:
        from hip import hip as bindings  # 0.1 s
    except ImportError as failure:
        raise UnusableHip(
            f"hip-python cannot be imported: {failure}", remedy="pip install hip-python"
        ) from failure
    made = Hip(bindings)
    with led:
        made.call("hipRuntimeGetVersion")
    check_one()
    return made
