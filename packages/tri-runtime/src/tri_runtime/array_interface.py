"""Arrays that describe themselves by a dictionary, as NumPy's ``__array_interface__`` does.

Several libraries of devices have such an attribute under a name of their own; what they agree on is read here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tri_core.api import ArrayArgument, DeviceInfo, LaunchError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["InterfaceArray", "read_interface", "torch_argument"]

#: NumPy's type strings without byte order -> Triton's names
_DTYPES = {
    "b1": "i1",
    **{f"i{size}": f"i{8 * size}" for size in (1, 2, 4, 8)},
    **{f"u{size}": f"u{8 * size}" for size in (1, 2, 4, 8)},
    **{f"f{size}": f"fp{8 * size}" for size in (2, 4, 8)},
}

#: PyTorch's names of dtypes that are not made of a kind and a width
_TORCH = {
    "bool": "i1",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2": "fp8e5",
    "float8_e5m2fnuz": "fp8e5b16",
}
_KINDS = {"uint": "u", "int": "i", "float": "fp"}


def torch_argument(tensor: Any, device: DeviceInfo) -> ArrayArgument:
    """A PyTorch tensor on ``device`` as a kernel argument; LaunchError for a dtype that kernels do not have."""
    name = str(tensor.dtype).rpartition(".")[2]
    kind = name.rstrip("0123456789")
    dtype = _TORCH.get(name) or (f"{_KINDS[kind]}{name[len(kind) :]}" if kind in _KINDS else None)
    if dtype is None:
        raise LaunchError(
            f"a tensor of {tensor.dtype} was passed to a kernel", remedy="convert it to a float or an integer"
        )
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    elements = 0 if 0 in tensor.shape else 1 + sum((n - 1) * step for n, step in steps)
    return ArrayArgument(tensor.data_ptr(), dtype, elements * tensor.element_size(), device, True, tensor)


@dataclass(frozen=True)
class InterfaceArray:
    """Array as an interface describes it: address in bytes, Triton's dtype, bytes to the end of the last
    element.

    ``flag`` is the second entry of ``data``: by NumPy's words whether the array is read-only.
    """

    pointer: int
    dtype: str
    nbytes: int
    flag: bool


def read_interface(interface: Mapping[str, Any], *, strides_in_bytes: bool = True) -> InterfaceArray:
    """The array that ``interface`` describes; LaunchError for an element type that kernels do not have.

    ``offset``, where there is one, counts elements; strides count bytes, or else elements too.
    """
    typestr: str = interface["typestr"]
    dtype = _DTYPES.get(typestr[1:])
    if dtype is None or typestr[0] == ">":
        raise LaunchError(
            f"an array with elements of type {typestr!r} was passed to a kernel",
            remedy=f"convert it to one of {', '.join(_DTYPES.values())}",
        )
    itemsize = int(typestr[2:])
    pointer, flag = interface["data"]
    start = (pointer or 0) + int(interface.get("offset", 0)) * itemsize
    step = 1 if strides_in_bytes else itemsize
    return InterfaceArray(start, dtype, _span(interface, itemsize, step), bool(flag))


def _span(interface: Mapping[str, Any], itemsize: int, step: int) -> int:
    """Bytes from the first element to the end of the last one; a stride counts ``step`` bytes."""
    shape: tuple[int, ...] = interface["shape"]
    if 0 in shape:
        return 0
    strides: tuple[int, ...] | None = interface.get("strides")
    if strides is None:
        return math.prod(shape) * itemsize
    forward = (step * (n - 1) * s for n, s in zip(shape, strides, strict=True) if s > 0)
    return itemsize + sum(forward)
