"""The one door to the CUDA driver: cuda-python, imported when first needed.

Every call goes through :func:`call`, which turns the driver's status into a :class:`DeviceError`.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import sys
from types import ModuleType
from typing import Any

from tri_backend_nvidia.driver import faults
from tri_core.api import DeviceError

__all__ = ["address_of", "call", "driver", "driver_present", "error", "initialised"]

_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_NO_DRIVER = "install NVIDIA's driver, or compile without launching by naming a target such as nvidia:sm_90a"

#: the driver's status -> what a user can do about it
_REMEDIES = {
    "CUDA_ERROR_OUT_OF_MEMORY": "free device memory that is no longer used",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "compile for the device that is present: target nvidia names it",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": "update the driver",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": "fewer num_warps, smaller blocks or a maxnreg need fewer registers",
    "CUDA_ERROR_NOT_INITIALIZED": "CUDA does not survive a fork: "
    'start workers with multiprocessing.get_context("spawn")',
    "CUDA_ERROR_INVALID_HANDLE": "a stream must be of the device that the arguments are on, and not destroyed",
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": "launch fewer programs that loop over the work",
    **dict.fromkeys(
        (f"CUDA_ERROR_STREAM_CAPTURE_{why}" for why in ("UNSUPPORTED", "INVALIDATED", "IMPLICIT")),
        "launch the kernel once before the capture, which compiles and loads it, and do not wait within",
    ),
    "CUDA_ERROR_NO_DEVICE": "CUDA_VISIBLE_DEVICES may hide the devices",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "restart the machine, or reinstall the driver",
}


@functools.cache
def driver_present() -> bool:
    """True if the driver's library can be loaded; much cheaper than importing the bindings."""
    try:
        ctypes.CDLL(_LIBRARY)
    except OSError:
        return False
    return True


@functools.cache
def driver() -> ModuleType:
    """``cuda.bindings.driver``; DeviceError when the driver or the bindings are missing."""
    if not driver_present():
        raise DeviceError(f"the CUDA driver ({_LIBRARY}) is not installed", remedy=_NO_DRIVER)
    try:
        return importlib.import_module("cuda.bindings.driver")
    except ImportError as failure:
        raise DeviceError(
            f"cuda-python cannot be imported: {failure}", remedy="pip install cuda-python"
        ) from failure


@functools.cache
def initialised(pid: int | None = None) -> ModuleType:
    """The bindings after ``cuInit``; DeviceError when the driver cannot start."""
    del pid
    bindings = driver()
    call("cuInit", 0)
    return bindings


def call(name: str, *args: Any) -> Any:
    """Call driver function ``name``: its result (a tuple when there are several); DeviceError when it fails."""
    function = getattr(driver(), name, None)
    if function is None:
        raise DeviceError(f"these bindings have no {name}", remedy="pip install -U cuda-python")
    try:
        status, *results = function(*args)
    except RuntimeError as failure:  # how the bindings say that the library lacks the function
        raise DeviceError(f"{name}: {failure}", remedy=_NO_DRIVER) from failure
    if status:
        raise error(name, int(status))
    if not results:
        return None
    return results[0] if len(results) == 1 else tuple(results)


@functools.cache
def address_of(name: str) -> int:
    """Address of the driver's function ``name``, in its version of CUDA 12.0."""
    address, _ = call("cuGetProcAddress", name.encode(), 12000, 0)
    return int(address)


def error(name: str, status: int) -> DeviceError:
    """The error for ``status``, given by driver function ``name``: a KernelFault where the context is lost."""
    bindings = driver()
    try:
        code = bindings.CUresult(status)
        title, text = (getattr(bindings, f)(code)[1] for f in ("cuGetErrorName", "cuGetErrorString"))
        title, text = title.decode(), text.decode()
    except (ValueError, AttributeError):
        title, text = f"CUDA error {status}", "unknown to these bindings"
    what = f"{name} failed with {title}: {text}"
    if faults.is_fatal(status):
        return faults.explain(status, what)
    return DeviceError(what, remedy=_REMEDIES.get(title))
