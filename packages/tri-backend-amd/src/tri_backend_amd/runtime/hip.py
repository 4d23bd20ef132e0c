"""The one door to HIP: hip-python's bindings, imported when first needed.

Every call goes through :meth:`Hip.call`, which turns HIP's status into a :class:`DeviceError`.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tri_core.api import DeviceError

__all__ = ["Hip", "hip", "hip_present"]

_LIBRARY = "amdhip64.dll" if sys.platform == "win32" else "libamdhip64.so"
_NO_HIP = "install ROCm, or compile without launching by naming a target such as amd:gfx942"

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
            raise DeviceError(f"{name}: {failure}", remedy=_NO_HIP) from failure
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


@functools.cache
def hip_present() -> bool:
    """Whether HIP's library can be found; much cheaper than importing the bindings to find out."""
    if importlib.util.find_spec("_rocm_sdk_core") is not None:  # ROCm's wheels bring it along
        return True
    try:
        ctypes.CDLL(_LIBRARY)
    except OSError:
        return False
    return True


@functools.cache
def hip() -> Hip:
    """The bindings; DeviceError when HIP or hip-python is missing."""
    if not hip_present():
        raise DeviceError(f"HIP ({_LIBRARY}) is not installed", remedy=_NO_HIP)
    try:
        from hip import hip as bindings  # 0.1 s

        return Hip(bindings)
    except ImportError as failure:
        raise DeviceError(
            f"hip-python cannot be imported: {failure}", remedy="pip install hip-python"
        ) from failure
