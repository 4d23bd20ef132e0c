"""Errors for each ``ze_result_t`` (Level Zero specification, "Error Handling")."""

from __future__ import annotations

from tri_backend_intel.runtime.level_zero.api import Result
from tri_core.api import DeviceError, KernelFault, TriError

__all__ = ["INSTALL_DRIVER", "INSTALL_LOADER", "error", "name_of"]

INSTALL_LOADER = "install Level Zero's loader (libze1 in Debian and Ubuntu, level-zero elsewhere), or name it in TRI_INTEL_LEVEL_ZERO"
INSTALL_DRIVER = "install Intel's GPU driver (libze-intel-gpu1 or intel-level-zero-gpu), and let this user read /dev/dri/render*"

#: after these nothing runs on the device any more
_LOST = (Result.ERROR_DEVICE_LOST, Result.ERROR_DEVICE_REQUIRES_RESET)
_REMEDIES = {
    Result.ERROR_UNINITIALIZED: INSTALL_DRIVER,
    Result.ERROR_INSUFFICIENT_PERMISSIONS: "let this user read /dev/dri/render* (the groups render and video have it)",
    Result.ERROR_DEPENDENCY_UNAVAILABLE: INSTALL_DRIVER,
    Result.ERROR_UNSUPPORTED_VERSION: "install a driver and a loader of one version",
    Result.ERROR_UNSUPPORTED_FEATURE: "install a newer driver",
    Result.ERROR_OUT_OF_DEVICE_MEMORY: "free device memory that is no longer used",
    Result.ERROR_OUT_OF_HOST_MEMORY: "free memory that is no longer used",
    Result.ERROR_DEVICE_IN_LOW_POWER_STATE: "wake the device, or turn its power saving off",
}


def name_of(status: int) -> str:
    """The name of ``status`` in C."""
    try:
        return f"ZE_RESULT_{Result(status).name}"
    except ValueError:
        return f"ze_result_t {status:#x}"


def error(function: str, status: int, said: str = "") -> TriError:
    """The error for ``status`` of ``function``; ``said`` is what the driver adds in words.

    A KernelFault where the device is lost: a kernel did it, and which one is not certain.
    """
    text = f"{function} failed with {name_of(status)}" + (f": {said}" if said else "")
    if status in _LOST:
        return KernelFault(
            text,
            remedy="start the process again; look for accesses out of bounds with a sim:intel target, and whether the kernel ran "
            "longer than the system allows",
            kernel=None,
            kernels=(),
            program=None,
            thread=None,
        )
    known = next((words for code, words in _REMEDIES.items() if code == status), None)
    return DeviceError(text, remedy=known)
