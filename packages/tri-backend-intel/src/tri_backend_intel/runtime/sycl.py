"""dpctl, loaded on demand, and the functions of its C interface that a launch needs.

Kernels are submitted through ``libDPCTLSyclInterface``, the C interface that the dpctl wheel publishes:
one call per launch, and pointers of any origin (dpctl's own ``submit`` takes USM objects only).
"""

from __future__ import annotations

import ctypes
import re
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from tri_backend_intel.runtime.opencl.installed import announce_opencl_cpu
from tri_core.api import DeviceError

__all__ = [
    "KERNEL_ARGUMENT",
    "POINTER_ARGUMENT",
    "Sycl",
    "check_one_runtime",
    "driver_error",
    "sycl",
    "sycl_libraries",
]

_P, _Z, _I = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int

#: C function -> result, parameters; references are opaque pointers, NULL means failure
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "DPCTLQueue_SubmitNDRange": (_P, (_P, _P, _P, _P, _Z, _P, _P, _Z, _P, _Z)),
    "DPCTLQueue_SubmitBarrier": (_P, (_P,)),
    "DPCTLQueue_Wait": (None, (_P,)),
    "DPCTLQueue_IsInOrder": (ctypes.c_bool, (_P,)),
    "DPCTLQueue_AreEq": (ctypes.c_bool, (_P, _P)),
    "DPCTLQueue_Copy": (_P, (_P,)),
    "DPCTLQueue_Delete": (None, (_P,)),
    "DPCTLQueue_GetContext": (_P, (_P,)),
    "DPCTLContext_AreEq": (ctypes.c_bool, (_P, _P)),
    "DPCTLContext_Delete": (None, (_P,)),
    "DPCTLQueue_Memcpy": (_P, (_P, _P, _P, _Z)),
    "DPCTLQueue_Memset": (_P, (_P, _P, ctypes.c_uint8, _Z)),
    "DPCTLEvent_WaitAndThrow": (None, (_P,)),
    "DPCTLEvent_Delete": (None, (_P,)),
    "DPCTLEvent_GetProfilingInfoStart": (_Z, (_P,)),
    "DPCTLEvent_GetProfilingInfoEnd": (_Z, (_P,)),
    "DPCTLmalloc_device": (_P, (_Z, _P)),
    "DPCTLmalloc_host": (_P, (_Z, _P)),
    "DPCTLfree_with_queue": (None, (_P, _P)),
    "DPCTLKernelBundle_Delete": (None, (_P,)),
}

#: dpctl's numbers for argument types (``DPCTLKernelArgType``)
POINTER_ARGUMENT = 10
KERNEL_ARGUMENT = {
    "i1": 0,
    "u1": 1,
    "i8": 0,
    "u8": 1,
    "i16": 2,
    "u16": 3,
    "i32": 4,
    "u32": 5,
    "i64": 6,
    "u64": 7,
    "fp16": 3,  # as the 16 bits they are
    "bf16": 3,
    "fp32": 8,
    "fp64": 9,
}

_LIBRARY = "DPCTLSyclInterface.dll" if sys.platform == "win32" else "libDPCTLSyclInterface.so"
#: of the library itself, not its parts (libsycl-*.so)
_RUNTIME = re.compile(r"libsycl\.so[.\d]*")


class Sycl:
    """The loaded libraries: ``dpctl`` the module, and one attribute per C function."""

    def __init__(self, dpctl: ModuleType, library: ctypes.CDLL) -> None:
        self.dpctl: Any = dpctl
        #: dpctl's C interface; names are found in what it is linked with, too
        self.library = library
        self.submit = self._bind(library, "DPCTLQueue_SubmitNDRange")
        self.barrier = self._bind(library, "DPCTLQueue_SubmitBarrier")
        self.wait_queue = self._bind(library, "DPCTLQueue_Wait")
        self.is_in_order = self._bind(library, "DPCTLQueue_IsInOrder")
        self.same_queue = self._bind(library, "DPCTLQueue_AreEq")
        self.copy_queue = self._bind(library, "DPCTLQueue_Copy")
        self.delete_queue = self._bind(library, "DPCTLQueue_Delete")
        self._context_of = self._bind(library, "DPCTLQueue_GetContext")
        self._same_context = self._bind(library, "DPCTLContext_AreEq")
        self._delete_context = self._bind(library, "DPCTLContext_Delete")
        self.memcpy = self._bind(library, "DPCTLQueue_Memcpy")
        self.memset = self._bind(library, "DPCTLQueue_Memset")
        self.wait = self._bind(library, "DPCTLEvent_WaitAndThrow")
        self.delete_event = self._bind(library, "DPCTLEvent_Delete")
        self.event_start = self._bind(library, "DPCTLEvent_GetProfilingInfoStart")
        self.event_end = self._bind(library, "DPCTLEvent_GetProfilingInfoEnd")
        self.malloc_device = self._bind(library, "DPCTLmalloc_device")
        self.malloc_host = self._bind(library, "DPCTLmalloc_host")
        self.free = self._bind(library, "DPCTLfree_with_queue")
        self.delete_bundle = self._bind(library, "DPCTLKernelBundle_Delete")

    @staticmethod
    def _bind(library: ctypes.CDLL, name: str) -> Any:
        function = getattr(library, name)
        function.restype, function.argtypes = _FUNCTIONS[name][0], list(_FUNCTIONS[name][1])
        return function

    def share_context(self, one: int, other: int) -> bool:
        """True if the queues at two addresses are of one context."""
        contexts = [self._context_of(one), self._context_of(other)]
        try:
            return all(contexts) and bool(self._same_context(*contexts))
        finally:
            for context in filter(None, contexts):
                self._delete_context(context)

    def finish(self, event: int | None, what: str) -> None:
        """Wait for ``event`` and drop it; DeviceError when the driver gave none."""
        if not event:
            raise driver_error(what)
        self.wait(event)
        self.delete_event(event)


def driver_error(what: str) -> DeviceError:
    """The driver refused ``what``; its own words go to stderr, and only when asked for."""
    return DeviceError(
        f"the SYCL runtime refused {what}",
        remedy="set DPCTL_VERBOSITY=error before the program starts to see the driver's reason",
    )


def sycl_libraries(maps: str) -> tuple[str, ...]:
    """The SYCL runtimes in ``maps``, the text of ``/proc/PID/maps``: paths of what is loaded, symbolic links followed."""
    paths = (line.split(maxsplit=5)[5:] for line in maps.splitlines())
    return tuple(sorted({p[0] for p in paths if p and _RUNTIME.fullmatch(Path(p[0]).name)}))


def check_one_runtime() -> None:
    """DeviceError when two SYCL runtimes are loaded: a queue of one means nothing to the other.

    Looked for where the system lists what a process has loaded (Linux).
    """
    listing = Path("/proc/self/maps")
    found = sycl_libraries(listing.read_text()) if listing.exists() else ()
    if len(found) > 1:
        raise DeviceError(
            f"two SYCL runtimes are loaded in this process: {' and '.join(found)}",
            remedy="install a PyTorch and a dpctl that were built for one version of the package intel-sycl-rt, "
            "or keep them in processes of their own",
        )


@lru_cache(maxsize=1)
def sycl() -> Sycl:
    """The SYCL runtime of this process; DeviceError when dpctl cannot be loaded."""
    announce_opencl_cpu()
    try:
        import dpctl
        import dpctl.program

        library = ctypes.CDLL(str(Path(dpctl.__file__).parent / _LIBRARY))
    except (ImportError, OSError) as error:
        raise DeviceError(
            f"the SYCL runtime cannot be loaded: {error}",
            remedy="pip install 'tri-backend-intel[sycl]'",
        ) from error
    return Sycl(dpctl, library)
