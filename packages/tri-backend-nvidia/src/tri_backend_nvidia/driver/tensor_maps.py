"""Tensor maps made by the driver.  CUDA driver API, "Tensor Map Object Management"."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from tri_backend_nvidia.driver.driver import call, driver
from tri_core.api import DeviceError, LaunchDescriptor, LaunchError

__all__ = ["encode"]

_BYTES = 128
#: a stride that is allowed
_PIECE = 16
_TYPES = {
    "u8": "UINT8", "u16": "UINT16", "u32": "UINT32", "s32": "INT32", "u64": "UINT64", "s64": "INT64",
    "f16": "FLOAT16", "bf16": "BFLOAT16", "f32": "FLOAT32", "f64": "FLOAT64", "tf32": "TFLOAT32",
}  # fmt: skip
_SWIZZLES = {0: "NONE", 32: "32B", 64: "64B", 128: "128B"}


def encode(descriptor: LaunchDescriptor, address: int, shape: Sequence[int], strides: Sequence[int]) -> bytes:
    """The map of ``descriptor``; the contiguous dimension last.  LaunchError for what the driver refuses."""
    bindings = driver()
    kind = getattr(bindings.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{_TYPES[descriptor.element]}")
    # without a stride the bindings pass no array, which the driver refuses even where it would not read it
    steps = [*reversed(strides)] or [_PIECE]
    fill = "NAN_REQUEST_ZERO_FMA" if descriptor.nan else "NONE"
    arguments = (
        kind,
        len(shape),
        address,
        [bindings.cuuint64_t(n) for n in reversed(shape)],
        [bindings.cuuint64_t(n) for n in steps],
        [bindings.cuuint32_t(n) for n in reversed(descriptor.box)],
        [bindings.cuuint32_t(1)] * len(shape),
        bindings.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        getattr(bindings.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{_SWIZZLES[descriptor.swizzle]}"),
        bindings.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        getattr(bindings.CUtensorMapFloatOOBfill, f"CU_TENSOR_MAP_FLOAT_OOB_FILL_{fill}"),
    )
    try:
        made = call("cuTensorMapEncodeTiled", *arguments)
    except DeviceError as failure:
        raise LaunchError(
            f"the driver makes no tensor map at {address:#x} of shape {list(shape)}, strides {list(strides)} bytes, "
            f"box {list(descriptor.box)} of {descriptor.element}: {failure.message}",
            remedy="pass tma_copies=False, and descriptors are accessed by pointers",
        ) from failure
    return ctypes.string_at(int(made.getPtr()), _BYTES)
