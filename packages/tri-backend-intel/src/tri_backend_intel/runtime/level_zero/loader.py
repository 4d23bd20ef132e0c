"""Level Zero's loader, found and bound: the one door to it.

The loader forwards each call to the driver of the handle, through its layers (validation, tracing) where the environment asks for
them.  Level Zero specification, "Getting Started".
"""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from functools import lru_cache
from typing import Any

from tri_backend_intel.runtime.level_zero.api import FUNCTIONS, REQUIRED, InitFlag, Result
from tri_backend_intel.runtime.level_zero.errors import INSTALL_DRIVER, INSTALL_LOADER, error
from tri_core import knobs
from tri_core.api import DeviceError

__all__ = ["LIBRARY", "Functions", "Loader", "loader", "open_library"]

LIBRARY = "ze_loader.dll" if sys.platform == "win32" else "libze_loader.so.1"

_P, _U32 = ctypes.c_void_p, ctypes.c_uint32


class Functions:
    """The functions that ``library`` has, a :class:`ctypes.CDLL` of the loader or what stands in for one; ``path`` names it in errors."""

    def __init__(self, library: Any, path: str = LIBRARY) -> None:
        self.path, self.library = path, library
        self._functions = {name: f for name in FUNCTIONS if (f := _bound(library, name)) is not None}

    def status(self, name: str, *args: Any) -> int:
        """Call ``name``: its ``ze_result_t``; that of an unsupported feature where the loader is older than the function."""
        function = self._functions.get(name)
        return Result.ERROR_UNSUPPORTED_FEATURE if function is None else int(function(*args))

    def __call__(self, name: str, *args: Any) -> None:
        """Call ``name``; DeviceError (a KernelFault where the device is lost) when it fails."""
        status = self.status(name, *args)
        if status:
            raise error(name, status)

    def handle(self, name: str, *args: Any) -> int:
        """The handle, or address, that ``name`` gives through its last parameter."""
        made = _P()
        self(name, *args, ctypes.byref(made))
        return made.value or 0

    def listed(self, name: str, *args: Any) -> list[int]:
        """The handles of a function that is asked twice, for their number and for them."""
        count = _U32()
        self(name, *args, ctypes.byref(count), None)
        found = (_P * count.value)()
        if count.value:
            self(name, *args, ctypes.byref(count), found)
        return [h for h in found[: count.value] if h]

    def address(self, name: str) -> int:
        """Address of function ``name``, for compiled code; DeviceError if the loader has none."""
        if name not in self._functions:
            raise DeviceError(f"Level Zero's loader {self.path} has no {name}", remedy="install a newer one")
        return ctypes.cast(self._functions[name], _P).value or 0


class Loader(Functions):
    """The loader; DeviceError when it lacks a function that the runtime needs."""

    def __init__(self, library: Any, path: str = LIBRARY) -> None:
        super().__init__(library, path)
        lacking = [name for name in FUNCTIONS if name in REQUIRED and name not in self._functions]
        if "zeInit" not in self._functions:
            raise DeviceError(f"{path} is not Level Zero's loader: it has no zeInit", remedy=INSTALL_LOADER)
        if lacking:
            raise DeviceError(
                f"Level Zero's loader {path} is too old: it has no {lacking[0]}",
                remedy=f"install a loader of API {REQUIRED[lacking[0]]} or newer",
            )

    def drivers(self) -> list[int]:
        """The drivers of GPUs; DeviceError when there is none."""
        status = self.status("zeInit", InitFlag.GPU_ONLY)
        if status == Result.ERROR_UNINITIALIZED:
            raise DeviceError("Level Zero's loader finds no driver of a GPU", remedy=INSTALL_DRIVER)
        if status:
            raise error("zeInit", status)
        return self.listed("zeDriverGet")


def _bound(library: Any, name: str) -> Any:
    try:
        function = getattr(library, name)
    except AttributeError:
        return None
    if not hasattr(function, "argtypes"):
        return function
    # a pointer of its own: who else uses the library sees no types of ours
    address = ctypes.cast(function, _P).value or 0
    return ctypes.CFUNCTYPE(_U32, *FUNCTIONS[name])(address)


def open_library() -> tuple[ctypes.CDLL, str]:
    """The loader's library and its path: that of the knob ``INTEL_LEVEL_ZERO``, else the system's; DeviceError where there is none."""
    if knobs.get("INTEL_STANDIN"):
        from tri_backend_intel.runtime.standin import announced  # which no other process needs

        announced()
    asked = knobs.get("INTEL_LEVEL_ZERO")
    path = asked or LIBRARY
    try:
        return ctypes.CDLL(path), path
    except OSError as failure:
        why = (
            f"TRI_INTEL_LEVEL_ZERO names {path}, which cannot be loaded"
            if asked
            else f"Level Zero's loader is missing ({path})"
        )
        raise DeviceError(f"{why}: {failure}", remedy=INSTALL_LOADER) from failure


@lru_cache(maxsize=1)
def loader() -> Loader:
    """The loader of this process; DeviceError where there is none that will do."""
    return Loader(*open_library())
