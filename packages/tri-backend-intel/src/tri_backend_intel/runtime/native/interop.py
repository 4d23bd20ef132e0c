"""Handles of the driver in SYCL's objects, and a SYCL program from a handle.

dpctl makes programs from source text and from SPIR-V only.  Below it, ``sycl::make_kernel_bundle`` takes a program of
the driver; it is a template of SYCL's headers around functions that ``libsycl`` exports, which are called here by their
mangled names.  They return a ``std::shared_ptr`` in memory that the caller gives, which ctypes can say on x86-64 only.
"""

from __future__ import annotations

import ctypes
import logging
import platform
from functools import cache
from typing import Any

from tri_backend_intel.runtime.native import level_zero, opencl
from tri_backend_intel.runtime.native.api import NativeApi
from tri_backend_intel.runtime.sycl import Sycl

__all__ = ["Interop", "interop_of"]

_log = logging.getLogger(__name__)

_P = ctypes.c_void_p
_CONTEXT_NATIVE = "_ZNK4sycl3_V17context9getNativeEv"
_DEVICE_NATIVE = "_ZNK4sycl3_V16device9getNativeEv"
#: (result, handle, context, keep the handle, bundle_state, backend)
_MAKE_BUNDLE = "_ZN4sycl3_V16detail18make_kernel_bundleEmRKNS0_7contextEbNS0_12bundle_stateENS0_7backendE"
_NEW = "_Znwm"
#: sycl::bundle_state, and bytes of a sycl::kernel_bundle: a std::shared_ptr
_EXECUTABLE, _BUNDLE_BYTES = 2, 16

#: name of sycl::backend -> its number, the interface below it, that one's loader, functions that give back what getNative retained
_BACKENDS: dict[str, tuple[int, type[Any], str, tuple[str, ...]]] = {
    "opencl": (1, opencl.OpenCL, opencl.LIBRARY, ("clReleaseContext", "clReleaseDevice")),
    "level_zero": (2, level_zero.LevelZero, level_zero.LIBRARY, ()),
}


class Interop:
    """Native interface below one SYCL context and device; ``api`` makes programs there."""

    def __init__(self, sycl: Sycl, queue: Any, backend: str) -> None:
        """``queue`` is dpctl's; AttributeError or OSError where a library lacks a function, or is missing."""
        number, api, name, releases = _BACKENDS[backend]
        loader = ctypes.CDLL(name)
        self._sycl, self._context, self._number = sycl, queue.sycl_context, number
        self._make = _function(
            sycl.library, _MAKE_BUNDLE, None, _P, _P, _P, ctypes.c_bool, ctypes.c_int, ctypes.c_int
        )
        self._new = _function(sycl.library, _NEW, _P, ctypes.c_size_t)
        self._wrap = _program_maker(sycl)
        native = [
            _function(sycl.library, name, _P, _P)(owner.addressof_ref())
            for name, owner in ((_CONTEXT_NATIVE, self._context), (_DEVICE_NATIVE, queue.sycl_device))
        ]
        self.api: NativeApi = api(loader, *native)
        for release, handle in zip(releases, native, strict=False):
            _function(loader, release, ctypes.c_int, _P)(handle)  # the SYCL objects hold them, too

    def adopt(self, program: int) -> Any:
        """dpctl's ``SyclProgram`` of a built ``program``, which it owns from now on."""
        bundle = self._new(_BUNDLE_BYTES)
        self._make(bundle, program, self._context.addressof_ref(), False, _EXECUTABLE, self._number)
        try:
            return self._wrap(bundle)
        finally:
            self._sycl.delete_bundle(bundle)

    def has_kernel(self, program: Any, name: str) -> bool:
        """True if dpctl's ``program`` has kernel ``name``."""
        return bool(program.has_sycl_kernel(name))


def interop_of(sycl: Sycl, queue: Any) -> Interop | None:
    """Native interface below dpctl's ``queue``; None if it cannot be reached, which is logged."""
    backend = queue.backend.name
    if platform.machine().lower() not in ("x86_64", "amd64") or backend not in _BACKENDS:
        return None
    try:
        return Interop(sycl, queue, backend)
    except (AttributeError, OSError, KeyError) as error:
        _log.info("programs of %s are built through SYCL and not kept: %s", backend, error)
        return None


def _function(library: Any, name: str, result: Any, *arguments: Any) -> Any:
    # a function pointer of its own: who else uses the library sees no types of ours
    address = ctypes.cast(getattr(library, name), _P).value or 0
    return ctypes.CFUNCTYPE(result, *arguments)(address)


@cache
def _program_maker(sycl: Sycl) -> Any:
    """dpctl's C function that wraps a copy of a kernel bundle; KeyError where dpctl has none."""
    capsule = sycl.dpctl.program._program.__pyx_capi__["SyclProgram_Make"]
    python = ctypes.pythonapi
    name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", python))(capsule)
    pointer = ctypes.PYFUNCTYPE(_P, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", python))
    return ctypes.PYFUNCTYPE(ctypes.py_object, _P)(pointer(capsule, name))
