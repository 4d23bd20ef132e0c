"""Level Zero's modules through its loader (Level Zero specification, "Modules and Kernels")."""

from __future__ import annotations

import ctypes
from typing import Any

from tri_backend_intel.runtime.native.api import NativeRefused

__all__ = ["LIBRARY", "LevelZero"]

LIBRARY = "libze_loader.so.1"

_P, _Z, _U = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "zeModuleCreate": (_P, _P, _P, _P, _P),
    "zeModuleDestroy": (_P,),
    "zeModuleGetNativeBinary": (_P, _P, _P),
    "zeModuleBuildLogGetString": (_P, _P, _P),
    "zeModuleBuildLogDestroy": (_P,),
    "zeKernelCreate": (_P, _P, _P),
    "zeKernelGetProperties": (_P, _P),
    "zeKernelDestroy": (_P,),
    "zeDeviceGetProperties": (_P, _P),
}
#: ze_module_format_t
_SPIRV, _NATIVE = 0, 1


class _ModuleDesc(ctypes.Structure):
    _fields_ = (
        ("stype", _U), ("next", _P), ("format", _U), ("size", _Z), ("data", _P), ("options", ctypes.c_char_p),
        ("constants", _P),
    )  # fmt: skip
    STYPE = 0x1B


class _KernelDesc(ctypes.Structure):
    _fields_ = (("stype", _U), ("next", _P), ("flags", _U), ("name", ctypes.c_char_p))
    STYPE = 0x1D


class _KernelProperties(ctypes.Structure):
    _fields_ = (
        ("stype", _U), ("next", _P), ("arguments", _U), ("required_size", _U * 3), ("required_sub_groups", _U),
        ("required_sub_group_size", _U), ("most_sub_group_size", _U), ("most_sub_groups", _U), ("local", _U),
        ("private", _U), ("spill", _U), ("uuid", ctypes.c_uint8 * 32),
    )  # fmt: skip
    STYPE = 0x1E


class _DeviceProperties(ctypes.Structure):
    _fields_ = (
        ("stype", _U), ("next", _P), ("type", _U), ("vendor", _U), ("device", _U), ("flags", _U), ("subdevice", _U),
        ("clock", _U), ("largest_allocation", ctypes.c_uint64), ("contexts", _U), ("priorities", _U), ("threads", _U),
        ("width", _U), ("units", _U), ("subslices", _U), ("slices", _U), ("timer", ctypes.c_uint64), ("timer_bits", _U),
        ("kernel_timer_bits", _U), ("uuid", ctypes.c_uint8 * 16), ("name", ctypes.c_char * 256),
    )  # fmt: skip
    STYPE = 0x3


class LevelZero:
    """:class:`NativeApi` of Level Zero; ``library`` is its loader, ``context`` and ``device`` are handles of the caller's."""

    name = "level_zero"

    def __init__(self, library: Any, context: int, device: int) -> None:
        self._context, self._device = context, device
        self._functions = {name: _bound(library, name) for name in _FUNCTIONS}

    def extensions(self) -> frozenset[str] | None:
        """None: Level Zero has no list of SPIR-V extensions, a driver refuses the module."""
        return None

    def megahertz(self) -> int | None:
        """``coreClockRate`` of the device's properties."""
        properties = _DeviceProperties(_DeviceProperties.STYPE)
        if self._functions["zeDeviceGetProperties"](self._device, ctypes.byref(properties)):
            return None
        return int(properties.clock) or None

    def from_spirv(self, data: bytes, options: str) -> int:
        """``zeModuleCreate`` of ``ZE_MODULE_FORMAT_IL_SPIRV``."""
        return self._module(_SPIRV, data, options)

    def from_image(self, data: bytes, options: str) -> int:
        """``zeModuleCreate`` of ``ZE_MODULE_FORMAT_NATIVE``."""
        return self._module(_NATIVE, data, options)

    def image(self, program: int) -> bytes:
        """``zeModuleGetNativeBinary``."""
        size = _Z()
        self._checked("zeModuleGetNativeBinary", program, ctypes.byref(size), None)
        if not size.value:
            raise NativeRefused("the driver gave an empty binary")
        memory = ctypes.create_string_buffer(size.value)
        self._checked("zeModuleGetNativeBinary", program, ctypes.byref(size), memory)
        return bytes(memory.raw[: size.value])

    def spills(self, program: int, kernel: str) -> int | None:
        """``spillMemSize`` of the kernel's properties."""
        desc = _KernelDesc(_KernelDesc.STYPE, None, 0, kernel.encode())
        made = _P()
        self._checked("zeKernelCreate", program, ctypes.byref(desc), ctypes.byref(made))
        try:
            properties = _KernelProperties(_KernelProperties.STYPE)
            self._checked("zeKernelGetProperties", made, ctypes.byref(properties))
            return int(properties.spill)
        finally:
            self._functions["zeKernelDestroy"](made)

    def release(self, program: int) -> None:
        """``zeModuleDestroy``."""
        self._functions["zeModuleDestroy"](program)

    def _module(self, form: int, data: bytes, options: str) -> int:
        memory = ctypes.create_string_buffer(data, len(data))
        desc = _ModuleDesc(
            _ModuleDesc.STYPE, None, form, len(data), ctypes.addressof(memory), options.encode(), None
        )
        module, log = _P(), _P()
        status = self._functions["zeModuleCreate"](
            self._context, self._device, ctypes.byref(desc), ctypes.byref(module), ctypes.byref(log)
        )
        text = self._log(log)
        if status or not module.value:
            raise NativeRefused(text or f"Level Zero's error {status & 0xFFFFFFFF:#x}")
        return module.value

    def _log(self, log: ctypes.c_void_p) -> str:
        if not log.value:
            return ""
        size, text = _Z(), ""
        ask = self._functions["zeModuleBuildLogGetString"]
        if not ask(log, ctypes.byref(size), None) and size.value:
            memory = ctypes.create_string_buffer(size.value)
            if not ask(log, ctypes.byref(size), memory):
                text = memory.value.decode(errors="replace").strip()
        self._functions["zeModuleBuildLogDestroy"](log)
        return text

    def _checked(self, name: str, *arguments: Any) -> None:
        status = self._functions[name](*arguments)
        if status:
            raise NativeRefused(f"{name}: Level Zero's error {status & 0xFFFFFFFF:#x}")


def _bound(library: Any, name: str) -> Any:
    function = getattr(library, name)
    function.restype, function.argtypes = ctypes.c_int, list(_FUNCTIONS[name])
    return function
