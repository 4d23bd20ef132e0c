"""Arrays of CUDA libraries: everything that shows a ``__cuda_array_interface__``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from tri_backend_nvidia.runtime.devices import device_of_pointer
from tri_core.api import ArrayArgument, FrameworkAdapter, LaunchError

__all__ = ["ADAPTERS", "describe"]

#: NumPy's type strings without byte order -> Triton's names
_DTYPES = {
    "b1": "i1",
    "i1": "i8",
    "i2": "i16",
    "i4": "i32",
    "i8": "i64",
    "u1": "u8",
    "u2": "u16",
    "u4": "u32",
    "u8": "u64",
    "f2": "fp16",
    "f4": "fp32",
    "f8": "fp64",
}


def describe(array: Any) -> ArrayArgument:
    """``array`` as a kernel argument; LaunchError for an element type that kernels do not have."""
    interface: Mapping[str, Any] = array.__cuda_array_interface__
    typestr: str = interface["typestr"]
    dtype = _DTYPES.get(typestr[1:])
    if dtype is None or typestr[0] == ">":
        raise LaunchError(
            f"an array with elements of type {typestr!r} was passed to a kernel",
            remedy=f"convert it to one of {', '.join(_DTYPES.values())}",
        )
    pointer, read_only = interface["data"]
    return ArrayArgument(
        pointer or 0,
        dtype,
        _span(interface, int(typestr[2:])),
        device_of_pointer(pointer or 0),
        writable=not read_only,
        owner=array,
    )


def _span(interface: Mapping[str, Any], itemsize: int) -> int:
    """Bytes from the first element to the end of the last one."""
    shape: tuple[int, ...] = interface["shape"]
    if 0 in shape:
        return 0
    strides: tuple[int, ...] | None = interface.get("strides")
    if strides is None:
        count = 1
        for extent in shape:
            count *= extent
        return count * itemsize
    steps = zip(shape, strides, strict=True)
    return itemsize + sum((extent - 1) * stride for extent, stride in steps if stride > 0)


def _cupy_stream(index: int) -> int:
    cupy: Any = sys.modules["cupy"]  # only called for CuPy's own arrays
    with cupy.cuda.Device(index):
        return int(cupy.cuda.get_current_stream().ptr)


ADAPTERS = (
    FrameworkAdapter(name="cupy", module="cupy", describe=describe, current_stream=_cupy_stream),
    FrameworkAdapter(name="numba", module="numba.cuda", describe=describe),
    FrameworkAdapter(name="numba-cuda", module="numba_cuda", describe=describe),
    FrameworkAdapter(name="pycuda", module="pycuda", describe=describe),
)
