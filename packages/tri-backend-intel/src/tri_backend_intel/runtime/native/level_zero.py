"""Level Zero's modules through its loader (Level Zero specification, "Modules and Kernels")."""

from __future__ import annotations

import ctypes
from typing import Any

from tri_backend_intel.runtime.level_zero.api import (
    DeviceProperties,
    KernelDesc,
    KernelProperties,
    ModuleDesc,
    ModuleFormat,
)
from tri_backend_intel.runtime.level_zero.loader import LIBRARY, Functions
from tri_backend_intel.runtime.native.api import NativeRefused

__all__ = ["LIBRARY", "LevelZero"]

_P, _Z = ctypes.c_void_p, ctypes.c_size_t


class LevelZero:
    """:class:`NativeApi` of Level Zero; ``library`` is its loader, ``context`` and ``device`` are handles of the caller's."""

    name = "level_zero"

    def __init__(self, library: Any, context: int, device: int) -> None:
        self._context, self._device = context, device
        self._ze = library if isinstance(library, Functions) else Functions(library)

    def extensions(self) -> frozenset[str] | None:
        """None: Level Zero has no list of SPIR-V extensions, a driver refuses the module."""
        return None

    def megahertz(self) -> int | None:
        """``coreClockRate`` of the device's properties."""
        properties = DeviceProperties.new()
        if self._ze.status("zeDeviceGetProperties", self._device, ctypes.byref(properties)):
            return None
        return int(properties.coreClockRate) or None

    def from_spirv(self, data: bytes, options: str) -> int:
        """``zeModuleCreate`` of ``ZE_MODULE_FORMAT_IL_SPIRV``."""
        return self._module(ModuleFormat.IL_SPIRV, data, options)

    def from_image(self, data: bytes, options: str) -> int:
        """``zeModuleCreate`` of ``ZE_MODULE_FORMAT_NATIVE``."""
        return self._module(ModuleFormat.NATIVE, data, options)

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
        desc = KernelDesc.new(pKernelName=kernel.encode())
        made = _P()
        self._checked("zeKernelCreate", program, ctypes.byref(desc), ctypes.byref(made))
        try:
            properties = KernelProperties.new()
            self._checked("zeKernelGetProperties", made, ctypes.byref(properties))
            return int(properties.spillMemSize)
        finally:
            self._ze.status("zeKernelDestroy", made)

    def release(self, program: int) -> None:
        """``zeModuleDestroy``."""
        self._ze.status("zeModuleDestroy", program)

    def _module(self, form: ModuleFormat, data: bytes, options: str) -> int:
        memory = ctypes.create_string_buffer(data, len(data))
        desc = ModuleDesc.new(
            format=form,
            inputSize=len(data),
            pInputModule=ctypes.addressof(memory),
            pBuildFlags=options.encode(),
        )
        module, log = _P(), _P()
        status = self._ze.status(
            "zeModuleCreate",
            self._context,
            self._device,
            ctypes.byref(desc),
            ctypes.byref(module),
            ctypes.byref(log),
        )
        text = self._log(log)
        if status or not module.value:
            raise NativeRefused(text or f"Level Zero's error {status & 0xFFFFFFFF:#x}")
        return module.value

    def _log(self, log: ctypes.c_void_p) -> str:
        if not log.value:
            return ""
        size, text = _Z(), ""
        ask = "zeModuleBuildLogGetString"
        if not self._ze.status(ask, log, ctypes.byref(size), None) and size.value:
            memory = ctypes.create_string_buffer(size.value)
            if not self._ze.status(ask, log, ctypes.byref(size), memory):
                text = memory.value.decode(errors="replace").strip()
        self._ze.status("zeModuleBuildLogDestroy", log)
        return text

    def _checked(self, name: str, *arguments: Any) -> None:
        status = self._ze.status(name, *arguments)
        if status:
            raise NativeRefused(f"{name}: Level Zero's error {status & 0xFFFFFFFF:#x}")
