"""Programs of the driver below SYCL: built from SPIR-V, kept as the driver's own binary, loaded from it again."""

from __future__ import annotations

from tri_backend_intel.runtime.native.api import Below, NativeApi, NativeRefused, OwnedPrograms
from tri_backend_intel.runtime.native.images import NativeImages
from tri_backend_intel.runtime.native.interop import Interop, interop_of
from tri_backend_intel.runtime.native.programs import Program, Programs, images_of

__all__ = [
    "Below",
    "Interop",
    "NativeApi",
    "NativeImages",
    "NativeRefused",
    "OwnedPrograms",
    "Program",
    "Programs",
    "images_of",
    "interop_of",
]
