"""Arrays of any library through DLPack: the tensor behind ``__dlpack__``, read with ctypes.

Layout: https://dmlc.github.io/dlpack/latest/c_api.html: ``DLManagedTensorVersioned``, whose flags say whether the
memory may be written, of producers that know it; else the unversioned ``DLManagedTensor``.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

from tri_core.api import LaunchError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["HOST_DEVICES", "DLTensor", "read_dlpack"]

#: DLDeviceType of memory that the host reads: its own, and what drivers pinned for it
HOST_DEVICES = frozenset({1, 3, 11, 13})

#: DLDataTypeCode -> prefix of Triton's names, by width in bits
_NAMES: dict[tuple[int, int], str] = {
    **{(0, bits): f"i{bits}" for bits in (8, 16, 32, 64)},
    **{(1, bits): f"u{bits}" for bits in (8, 16, 32, 64)},
    **{(2, bits): f"fp{bits}" for bits in (16, 32, 64)},
    (4, 16): "bf16",
    (6, 8): "i1",
    (10, 8): "fp8e4nv",
    (11, 8): "fp8e4b8",
    (12, 8): "fp8e5",
    (13, 8): "fp8e5b16",
}


class _DLDevice(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("index", ctypes.c_int32))


class _DLDataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", _DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    )


#: the version that is asked for, and flags of it
_VERSION = (1, 0)
_READ_ONLY, _COPIED = 1, 2

_capsule_is = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


@dataclass(frozen=True)
class DLTensor:
    """Array as DLPack describes it: address in bytes, Triton's dtype, span in bytes, DLPack's device numbers.

    ``writable`` is False where the producer says that the memory is read-only.
    """

    pointer: int
    dtype: str
    nbytes: int
    device_type: int
    device_index: int
    writable: bool = True


def read_dlpack(array: Any) -> DLTensor:
    """The tensor of ``array``, which keeps owning it; LaunchError for a copy, and for an element type that kernels lack.

    What ``__dlpack__`` raises is left alone.
    """
    # the capsule is not consumed: its destructor gives the producer's export back, `array` keeps the memory
    capsule = _export(array)
    tensor, flags = _unpacked(capsule)
    if flags & _COPIED:
        raise LaunchError(
            f"a {type(array).__qualname__} gave DLPack a copy of its memory, which a kernel's results would be lost in",
            remedy="pass an array whose memory others can see",
        )
    dtype = _NAMES.get((tensor.dtype.code, tensor.dtype.bits))
    if dtype is None or tensor.dtype.lanes != 1:
        raise LaunchError(
            f"an array of DLPack type code {tensor.dtype.code}, {tensor.dtype.bits} bits, "
            f"{tensor.dtype.lanes} lanes was passed to a kernel",
            remedy=f"convert it to one of {', '.join(_NAMES.values())}",
        )
    shape = [tensor.shape[i] for i in range(tensor.ndim)]
    strides = [tensor.strides[i] for i in range(tensor.ndim)] if tensor.strides else None
    return DLTensor(
        (tensor.data or 0) + tensor.byte_offset,
        dtype,
        _span(shape, strides) * (tensor.dtype.bits // 8),
        tensor.device.type,
        tensor.device.index,
        not flags & _READ_ONLY,
    )


def _export(array: Any) -> Any:
    try:
        return array.__dlpack__(max_version=_VERSION)
    except TypeError:  # a producer from before there were versions
        return array.__dlpack__()


def _unpacked(capsule: Any) -> tuple[_DLTensor, int]:
    """The tensor in ``capsule``, and its flags; BufferError for a version that is not known."""
    if not _capsule_is(capsule, b"dltensor_versioned"):
        return _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor")), 0
    managed = _DLManagedTensorVersioned.from_address(_capsule_pointer(capsule, b"dltensor_versioned"))
    if managed.major != _VERSION[0]:
        raise BufferError(f"the array has DLPack version {managed.major}.{managed.minor}, not {_VERSION[0]}")
    return managed.tensor, managed.flags


def _span(shape: list[int], strides: list[int] | None) -> int:
    """Elements from the first to the end of the last one."""
    if 0 in shape:
        return 0
    if strides is None:
        return math.prod(shape)
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s > 0)
