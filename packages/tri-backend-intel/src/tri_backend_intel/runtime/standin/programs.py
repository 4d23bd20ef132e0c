"""Modules and kernels: what the driver's compiler would refuse, native images, and kernels run by the simulator."""

from __future__ import annotations

import ctypes
import struct
import zlib
from collections.abc import Sequence

from tri_backend_intel.runtime.level_zero.api.enums import (
    KernelIndirectAccessFlag,
    MemoryType,
    ModuleFormat,
    Result,
)
from tri_backend_intel.runtime.standin.devices import Context, Device, Fault
from tri_backend_intel.runtime.standin.memory import Block
from tri_backend_intel.runtime.standin.native import ArgumentBlock
from tri_backend_intel.runtime.standin.objects import Object, Refused
from tri_backend_intel.simulation import externals
from tri_backend_intel.spirv.carried import carried_by
from tri_backend_intel.spirv.reader import SpirvModule, read_module
from tri_core.api import TargetKey, TriError
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.lowering.carried import Carried
from tri_runtime.simulator.machine_level import MachineLevelKernel

__all__ = ["BuildFailed", "BuildLog", "Kernel", "Module", "build", "native_image"]

_NATIVE = struct.Struct("<8s16sI")
_MAGIC = b"TRIZEBIN"
#: words that an option of the driver's compiler begins with
_OPTIONS = ("-cl-", "-ze-", "-g", "-Xfinalizer", "-igc_opts")
_LARGE = ("-ze-opt-large-register-file", "-cl-intel-256-GRF-per-thread")
_KINDS = {
    KernelIndirectAccessFlag.HOST: MemoryType.HOST,
    KernelIndirectAccessFlag.DEVICE: MemoryType.DEVICE,
    KernelIndirectAccessFlag.SHARED: MemoryType.SHARED,
}


class BuildFailed(Exception):
    """A module that the driver's compiler refuses; the text is its log."""


class BuildLog(Object):
    """Output of the driver's compiler."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Module(Object):
    """A built module."""

    def __init__(
        self, context: Context, device: Device, spirv: bytes, options: str, carried: Carried
    ) -> None:
        super().__init__()
        self.context, self.device, self.spirv, self.options, self.carried = (
            context,
            device,
            spirv,
            options,
            carried,
        )
        self.facts: SpirvModule = read_module(spirv)
        self.program = _runnable(carried)
        #: names of kernels that a caller was shown, which it may still read
        self.names = [ctypes.create_string_buffer(name.encode()) for name in self.facts.kernels]

    def spills(self, name: str) -> int:
        """Bytes that kernel ``name`` spills with the options that the module was built with."""
        large = any(word in self.options.split() for word in _LARGE)
        return 0 if large else self.device.configuration.spills.get(name, 0)


def build(context: Context, device: Device, form: int, data: bytes, options: str, version: int) -> Module:
    """The module of ``data``; BuildFailed with a log, Refused for an image of another driver or device."""
    device.check()
    context.check(device)
    if form == ModuleFormat.NATIVE:
        data = _from_native(data, device, version)
    elif form != ModuleFormat.IL_SPIRV:
        raise Refused(Result.ERROR_UNSUPPORTED_ENUMERATION, f"modules of format {form}")
    try:
        facts, carried = read_module(data), carried_by(data)
    except TriError as error:
        raise BuildFailed(f"error: {error}") from error
    _check(facts, device, options)
    if carried is None:
        raise BuildFailed(
            "error: the module carries nothing that the stand-in driver can run; compile it with TRI_INTEL_STANDIN=pvc"
        )
    if carried.arch != device.configuration.arch:
        raise BuildFailed(
            f"error: the module was compiled for {carried.arch}, the device is {device.configuration.arch}"
        )
    return Module(context, device, data, options, carried)


def _check(facts: SpirvModule, device: Device, options: str) -> None:
    """BuildFailed for what the device's compiler does not take."""
    for word in options.split():
        if not word.startswith(_OPTIONS):
            raise BuildFailed(f"error: unknown option {word}")
    if missing := sorted(facts.extensions - device.configuration.extensions):
        raise BuildFailed(f"error: requires extension {', '.join(missing)}, which is not supported")
    if "Float64" in facts.capabilities and not device.configuration.row.fp64:
        raise BuildFailed("error: double type is not supported on this platform")
    for name, size in facts.sub_group_size.items():
        if size not in device.configuration.row.sub_groups:
            raise BuildFailed(f"error: kernel {name}: sub-groups of {size} are not supported")


def native_image(module: Module, version: int) -> bytes:
    """Native image of ``module`` for a store: for this device and driver only."""
    arch = module.device.configuration.arch.encode()
    return _NATIVE.pack(_MAGIC, arch, version) + zlib.compress(module.spirv)


def _from_native(data: bytes, device: Device, version: int) -> bytes:
    try:
        magic, arch, made_by = _NATIVE.unpack_from(data)
        spirv = zlib.decompress(data[_NATIVE.size :])
    except (struct.error, zlib.error) as error:
        raise Refused(Result.ERROR_INVALID_NATIVE_BINARY, str(error)) from error
    if magic != _MAGIC or arch.rstrip(b"\0").decode() != device.configuration.arch or made_by != version:
        raise Refused(Result.ERROR_INVALID_NATIVE_BINARY, "the image is of another device or driver")
    return spirv


@dataclass(frozen=True)
class _Runnable:
    """A kernel for the simulator."""

    kernel: MachineLevelKernel

    def run(self, grid: tuple[int, int, int], arguments: Sequence[bytes], blocks: Sequence[Block]) -> None:
        """Run all work groups; Fault for what hardware does not survive."""
        seen = [(f"allocation {block.number}", block.start, block.data) for block in blocks]
        try:
            self.kernel.run(grid, arguments, seen)
        except TriError as error:
            raise Fault(f"kernel {self.kernel.entry}: {error}") from error


def _runnable(carried: Carried) -> _Runnable:
    return _Runnable(
        MachineLevelKernel(
            text=carried.text,
            entry=carried.entry,
            target=TargetKey("intel", carried.arch),
            threads=carried.threads,
            threads_per_warp=carried.threads_per_warp,
            shared=carried.shared,
            externals=externals(),
        )
    )


class Kernel(Object):
    """A kernel: arguments and the size of a work group are state of its handle."""

    def __init__(self, module: Module, name: str) -> None:
        super().__init__()
        if name not in module.facts.kernels:
            raise Refused(Result.ERROR_INVALID_KERNEL_NAME, f"the module has no kernel {name}")
        self.module, self.name = module, name
        self.sizes = module.facts.parameters[name]
        self.arguments = ArgumentBlock(self.sizes)
        self.write(self.arguments.record)
        self.group: tuple[int, int, int] = (1, 1, 1)
        self.indirect = 0

    def refuse_argument(self, index: int, nbytes: int) -> None:
        """Check argument ``index`` of ``nbytes``; Refused with the reason."""
        if index >= len(self.sizes):
            raise Refused(
                Result.ERROR_INVALID_KERNEL_ARGUMENT_INDEX,
                f"{self.name} has {len(self.sizes)} arguments, not {index + 1}",
            )
        raise Refused(
            Result.ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
            f"argument {index} of {self.name} has {self.sizes[index]} bytes, not {nbytes}",
        )

    def set_group(self, x: int, y: int, z: int) -> None:
        """The size of a work group; Refused for one that the kernel is not made for."""
        if x * y * z == 0:
            raise Refused(Result.ERROR_INVALID_ARGUMENT, f"a work group of {x}x{y}x{z}")
        threads = self.module.carried.threads
        if x * y * z != threads or (y, z) != (1, 1):
            raise Refused(
                Result.ERROR_INVALID_GROUP_SIZE_DIMENSION,
                f"{self.name} runs in work groups of {threads}, not {x}x{y}x{z}",
            )
        self.group = (x, y, z)

    def ready(self) -> tuple[bytes, ...]:
        """The arguments as they are now; Refused where one is missing, or the work group is."""
        if missing := self.arguments.missing():
            raise Refused(Result.ERROR_INVALID_ARGUMENT, f"arguments {missing} of {self.name} are not set")
        if self.group[0] != self.module.carried.threads:
            raise Refused(
                Result.ERROR_INVALID_GROUP_SIZE_DIMENSION, f"the work group of {self.name} is not set"
            )
        return self.arguments.values()

    @property
    def reach(self) -> frozenset[MemoryType]:
        """The kinds of memory that it reaches through addresses in memory."""
        return frozenset(kind for flag, kind in _KINDS.items() if self.indirect & flag)
