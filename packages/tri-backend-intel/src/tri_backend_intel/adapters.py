"""Arrays of SYCL libraries: everything that shows a ``__sycl_usm_array_interface__``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tri_backend_intel.runtime.devices import device_of
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
    interface: Mapping[str, Any] = array.__sycl_usm_array_interface__
    typestr: str = interface["typestr"]
    dtype = _DTYPES.get(typestr[1:])
    if dtype is None or typestr[0] == ">":
        raise LaunchError(
            f"an array with elements of type {typestr!r} was passed to a kernel",
            remedy=f"convert it to one of {', '.join(_DTYPES.values())}",
        )
    itemsize = int(typestr[2:])
    # the protocol's text calls the flag read-only; dpctl sets it on what may be written
    base, writable = interface["data"]
    return ArrayArgument(
        base + int(interface.get("offset", 0)) * itemsize,
        dtype,
        _span(interface, itemsize),
        device_of(interface["syclobj"]),
        writable=bool(writable),
        owner=array,
    )


def _span(interface: Mapping[str, Any], itemsize: int) -> int:
    """Bytes from the first element to the end of the last one; strides are in elements."""
    shape: tuple[int, ...] = interface["shape"]
    if 0 in shape:
        return 0
    strides: tuple[int, ...] | None = interface.get("strides")
    if strides is None:
        return math.prod(shape) * itemsize
    return (1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))) * itemsize


ADAPTERS = tuple(
    FrameworkAdapter(name=name, module=name, describe=describe) for name in ("dpctl", "dpnp", "numba_dpex")
)
