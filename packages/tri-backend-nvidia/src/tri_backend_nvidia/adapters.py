"""Arrays of CUDA libraries: everything that shows a ``__cuda_array_interface__``."""

from __future__ import annotations

import sys
from typing import Any

from tri_backend_nvidia.driver.devices import device_of_pointer
from tri_core.api import ArrayArgument, FrameworkAdapter
from tri_runtime.array_interface import read_interface

__all__ = ["ADAPTERS", "describe"]


_PROTOCOL = "__cuda_array_interface__"


def describe(array: Any) -> ArrayArgument | None:
    """``array`` as a kernel argument; LaunchError for an element type that kernels do not have.

    None where the class has the interface and this array, in host memory say, does not.
    """
    interface = getattr(array, _PROTOCOL, None)
    if interface is None:
        return None
    found = read_interface(interface)
    device = device_of_pointer(found.pointer)
    return ArrayArgument(
        found.pointer, found.dtype, found.nbytes, device, writable=not found.flag, owner=array
    )


def _cupy_stream(index: int) -> int:
    cupy: Any = sys.modules["cupy"]  # only called for CuPy's own arrays
    with cupy.cuda.Device(index):
        return int(cupy.cuda.get_current_stream().ptr)


ADAPTERS = (
    FrameworkAdapter(name="cupy", module="cupy", describe=describe, current_stream=_cupy_stream),
    FrameworkAdapter(name="numba", module="numba.cuda", describe=describe),
    FrameworkAdapter(name="numba-cuda", module="numba_cuda", describe=describe),
    FrameworkAdapter(name="pycuda", module="pycuda", describe=describe),
    # last: any other library's arrays, on the default stream
    FrameworkAdapter(name="cuda-array-interface", module="", describe=describe, protocol=_PROTOCOL),
)
