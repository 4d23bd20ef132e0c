"""OpenCL's programs through its loader (OpenCL 3.0, sections 5.8 and 5.9)."""

from __future__ import annotations

import ctypes
from typing import Any

from tri_backend_intel.runtime.native.api import NativeRefused

__all__ = ["LIBRARY", "OpenCL"]

LIBRARY = "libOpenCL.so.1"

_P, _Z, _U, _I = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_int
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "clCreateProgramWithIL": (_P, (_P, _P, _Z, _P)),
    "clCreateProgramWithBinary": (_P, (_P, _U, _P, _P, _P, _P, _P)),
    "clBuildProgram": (_I, (_P, _U, _P, ctypes.c_char_p, _P, _P)),
    "clGetProgramBuildInfo": (_I, (_P, _P, _U, _Z, _P, _P)),
    "clGetProgramInfo": (_I, (_P, _U, _Z, _P, _P)),
    "clReleaseProgram": (_I, (_P,)),
    "clCreateKernel": (_P, (_P, ctypes.c_char_p, _P)),
    "clGetKernelWorkGroupInfo": (_I, (_P, _P, _U, _Z, _P, _P)),
    "clReleaseKernel": (_I, (_P,)),
    "clGetDeviceInfo": (_I, (_P, _U, _Z, _P, _P)),
}
#: numbers of CL/cl.h and CL/cl_ext.h
_NUM_DEVICES, _BINARY_SIZES, _BINARIES, _BUILD_LOG, _SPILL_SIZE = 0x1162, 0x1165, 0x1166, 0x1183, 0x4109
#: of a device: CL_DEVICE_MAX_CLOCK_FREQUENCY, CL_DEVICE_EXTENSIONS, CL_DEVICE_SPIRV_EXTENSIONS_KHR and the extension that has it
_CLOCK, _EXTENSIONS, _SPIRV_EXTENSIONS, _SPIRV_QUERIES = 0x100C, 0x1030, 0x12BA, "cl_khr_spirv_queries"


class OpenCL:
    """:class:`NativeApi` of OpenCL; ``library`` is its loader, ``context`` and ``device`` are handles of the caller's."""

    name = "opencl"

    def __init__(self, library: Any, context: int, device: int) -> None:
        self._context, self._device = context, _P(device)
        self._call = {name: _bound(library, name) for name in _FUNCTIONS}

    def extensions(self) -> frozenset[str] | None:
        """``CL_DEVICE_SPIRV_EXTENSIONS_KHR``, an array of strings that the driver keeps."""
        said = self._device_info(_EXTENSIONS).decode(errors="replace").rstrip("\0").split()
        if _SPIRV_QUERIES not in said:
            return None
        data = self._device_info(_SPIRV_EXTENSIONS)
        names = (ctypes.c_char_p * (len(data) // ctypes.sizeof(_P))).from_buffer_copy(data)
        return frozenset(name.decode() for name in names if name)

    def megahertz(self) -> int | None:
        """``CL_DEVICE_MAX_CLOCK_FREQUENCY``."""
        return int.from_bytes(self._device_info(_CLOCK), "little") or None

    def _device_info(self, what: int) -> bytes:
        """The answer; empty when the driver has none."""
        ask, size = self._call["clGetDeviceInfo"], _Z()
        if ask(self._device, what, 0, None, ctypes.byref(size)) or not size.value:
            return b""
        memory = ctypes.create_string_buffer(size.value)
        return b"" if ask(self._device, what, size.value, memory, None) else bytes(memory.raw)

    def from_spirv(self, data: bytes, options: str) -> int:
        """``clCreateProgramWithIL`` and a build."""
        status = _I()
        program = self._call["clCreateProgramWithIL"](self._context, data, len(data), ctypes.byref(status))
        return self._built(program, status.value, options)

    def from_image(self, data: bytes, options: str) -> int:
        """``clCreateProgramWithBinary`` and a build, which links."""
        status, taken = _I(), _I()
        memory = ctypes.create_string_buffer(data, len(data))
        length, place = _Z(len(data)), _P(ctypes.addressof(memory))
        program = self._call["clCreateProgramWithBinary"](
            self._context,
            1,
            ctypes.byref(self._device),
            ctypes.byref(length),
            ctypes.byref(place),
            ctypes.byref(taken),
            ctypes.byref(status),
        )
        return self._built(program, status.value or taken.value, options)

    def image(self, program: int) -> bytes:
        """``CL_PROGRAM_BINARIES`` of the one device that a program was built for."""
        count = _U()
        self._info(program, _NUM_DEVICES, ctypes.byref(count), 4)
        sizes = (_Z * max(count.value, 1))()
        self._info(program, _BINARY_SIZES, sizes, ctypes.sizeof(sizes))
        memories = [ctypes.create_string_buffer(max(size, 1)) for size in sizes]
        places = (_P * len(memories))(*(ctypes.addressof(m) for m in memories))
        self._info(program, _BINARIES, places, ctypes.sizeof(places))
        found = [bytes(m.raw[:size]) for m, size in zip(memories, sizes, strict=True) if size]
        if len(found) != 1:
            raise NativeRefused(f"{len(found)} binaries for {count.value} devices")
        return found[0]

    def spills(self, program: int, kernel: str) -> int | None:
        """``CL_KERNEL_SPILL_MEM_SIZE_INTEL`` (``cl_intel_required_subgroup_size``)."""
        status = _I()
        made = self._call["clCreateKernel"](program, kernel.encode(), ctypes.byref(status))
        if not made:
            raise NativeRefused(f"there is no kernel {kernel} in the program ({status.value})")
        size = ctypes.c_ulonglong()
        try:
            said = self._call["clGetKernelWorkGroupInfo"](
                made, self._device, _SPILL_SIZE, 8, ctypes.byref(size), None
            )
        finally:
            self._call["clReleaseKernel"](made)
        return None if said else size.value

    def release(self, program: int) -> None:
        """``clReleaseProgram``."""
        self._call["clReleaseProgram"](program)

    def _built(self, program: int | None, status: int, options: str) -> int:
        if program and not status:
            status = self._call["clBuildProgram"](
                program, 1, ctypes.byref(self._device), options.encode(), None, None
            )
        if program and not status:
            return program
        log = self._log(program) if program else ""
        if program:
            self.release(program)
        raise NativeRefused(log or f"OpenCL's error {status}")

    def _log(self, program: int) -> str:
        ask, size = self._call["clGetProgramBuildInfo"], _Z()
        if ask(program, self._device, _BUILD_LOG, 0, None, ctypes.byref(size)) or not size.value:
            return ""
        text = ctypes.create_string_buffer(size.value)
        ask(program, self._device, _BUILD_LOG, size.value, text, None)
        return text.value.decode(errors="replace").strip()

    def _info(self, program: int, what: int, place: Any, size: int) -> None:
        status = self._call["clGetProgramInfo"](program, what, size, place, None)
        if status:
            raise NativeRefused(f"OpenCL's error {status}")


def _bound(library: Any, name: str) -> Any:
    function = getattr(library, name)
    function.restype, function.argtypes = _FUNCTIONS[name][0], list(_FUNCTIONS[name][1])
    return function
