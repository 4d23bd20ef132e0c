"""OpenCL's loader, found and bound (OpenCL 3.0, chapters 4 and 5; ``cl_intel_unified_shared_memory``)."""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from tri_backend_intel.runtime.opencl.installed import announce_opencl_cpu, opencl_cpu_library
from tri_core.api import DeviceError

__all__ = ["INSTALL", "OpenClLibrary", "opencl_library"]

INSTALL = "pip install 'tri-backend-intel[cpu]'"
#: what the pip-installed libraries need of their folder, and find only where another one's search path helps, in order
_BESIDE = ("libintlc.so.5", "libirng.so", "libimf.so", "libsvml.so")
LIBRARY = "OpenCL.dll" if sys.platform == "win32" else "libOpenCL.so.1"

_P, _Z, _U, _I = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_int
_U64 = ctypes.c_uint64
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "clGetPlatformIDs": (_I, (_U, _P, _P)),
    "clGetPlatformInfo": (_I, (_P, _U, _Z, _P, _P)),
    "clGetDeviceIDs": (_I, (_P, _U64, _U, _P, _P)),
    "clGetDeviceInfo": (_I, (_P, _U, _Z, _P, _P)),
    "clCreateContext": (_P, (_P, _U, _P, _P, _P, _P)),
    "clReleaseContext": (_I, (_P,)),
    "clCreateCommandQueueWithProperties": (_P, (_P, _P, _P, _P)),
    "clReleaseCommandQueue": (_I, (_P,)),
    "clFinish": (_I, (_P,)),
    "clCreateKernel": (_P, (_P, ctypes.c_char_p, _P)),
    "clReleaseKernel": (_I, (_P,)),
    "clGetKernelWorkGroupInfo": (_I, (_P, _P, _U, _Z, _P, _P)),
    "clSetKernelArg": (_I, (_P, _U, _Z, _P)),
    "clEnqueueNDRangeKernel": (_I, (_P, _P, _U, _P, _P, _P, _U, _P, _P)),
    "clGetExtensionFunctionAddressForPlatform": (_P, (_P, ctypes.c_char_p)),
}


class OpenClLibrary:
    """The functions of OpenCL in ``library``."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self._functions = {name: _bound(library, name) for name in _FUNCTIONS}

    def status(self, name: str, *args: Any) -> Any:
        """Result of function ``name``: its status, or a handle."""
        return self._functions[name](*args)

    def __call__(self, name: str, *args: Any) -> None:
        """Call ``name``; DeviceError when it fails."""
        status = self.status(name, *args)
        if status:
            raise DeviceError(f"{name} failed with OpenCL's error {status}")

    def made(self, name: str, *args: Any) -> int:
        """The handle that ``name`` makes, whose last parameter is its status; DeviceError when it fails."""
        status = _I()
        handle = self.status(name, *args, ctypes.byref(status))
        if not handle or status.value:
            raise DeviceError(f"{name} failed with OpenCL's error {status.value}")
        return int(handle)

    def listed(self, name: str, *args: Any) -> list[int]:
        """The handles of a function that is asked twice; none where it has none."""
        count = _U()
        if self.status(name, *args, 0, None, ctypes.byref(count)) or not count.value:
            return []
        found = (_P * count.value)()
        self(name, *args, count.value, found, None)
        return [h for h in found if h]

    def said(self, name: str, handle: int, what: int) -> bytes:
        """The answer of an information function; empty when it has none."""
        size = _Z()
        if self.status(name, handle, what, 0, None, ctypes.byref(size)) or not size.value:
            return b""
        memory = ctypes.create_string_buffer(size.value)
        return b"" if self.status(name, handle, what, size.value, memory, None) else bytes(memory.raw)

    def text(self, name: str, handle: int, what: int) -> str:
        """An answer that is text."""
        return self.said(name, handle, what).rstrip(b"\0").decode(errors="replace").strip()

    def extension(self, platform: int, name: str, *parameters: Any) -> Any:
        """A function of an extension that gives a status; DeviceError where the platform has none."""
        address = self.status("clGetExtensionFunctionAddressForPlatform", platform, name.encode())
        if not address:
            raise DeviceError(f"this OpenCL driver has no {name}", remedy=f"install a newer one: {INSTALL}")
        return ctypes.CFUNCTYPE(_I, *parameters)(address)


def _bound(library: Any, name: str) -> Any:
    result, parameters = _FUNCTIONS[name]
    address = ctypes.cast(getattr(library, name), _P).value or 0
    return ctypes.CFUNCTYPE(result, *parameters)(address)


@lru_cache(maxsize=1)
def opencl_library() -> OpenClLibrary:
    """OpenCL of this process: the loader beside the driver that pip installed, else the system's; DeviceError where there is none."""
    announce_opencl_cpu()
    driver = opencl_cpu_library()
    beside = driver.parent / LIBRARY if driver is not None else None
    path = str(beside) if beside is not None and beside.exists() else LIBRARY
    try:
        needed = [beside.with_name(name) for name in _BESIDE] if beside is not None else []
        for file in filter(Path.exists, needed):
            ctypes.CDLL(str(file))
        return OpenClLibrary(ctypes.CDLL(path))
    except (OSError, AttributeError) as error:
        raise DeviceError(f"OpenCL's loader cannot be loaded: {error}", remedy=INSTALL) from error
