"""The runtime: a device for each length of registers, whose memory is shared with the programs that run kernels."""

from __future__ import annotations

import ctypes
import functools
import shutil
import struct
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path

from tri_backend_cpu.launch_abi import (
    ARGUMENTS,
    ATTENTION,
    FAILED,
    FAILED_PROGRAM,
    TASK,
    Facts,
)
from tri_backend_cpu.runtime.checks import place_of
from tri_backend_cpu.runtime.printing import Printer
from tri_core.api import (
    Argument,
    DeviceInfo,
    HostMemory,
    InternalError,
    KernelFault,
    KernelImage,
    Launch,
    LoadedKernel,
    OverlapLaunch,
    TargetError,
)
from tri_runtime import RuntimeBase, argument_table, check_grid, check_parameters, null_pointer

from tri_backend_riscv import emulator
from tri_backend_riscv.linking import link
from tri_backend_riscv.memory import BASE, BYTES, SharedMemory
from tri_backend_riscv.processors import KIND, PROCESSORS, register_bits

__all__ = ["RiscvRuntime", "probe"]

_HEADER = TASK.head("stream")
_LIMITS = {f"grid_{axis}": 2**31 - 1 for axis in "xyz"}
_PAGE = 4096
#: a record that a program prints: site, program, whether there is a value, element, value
_RECORD = struct.Struct("<qiiiiq8s")
#: of :attr:`Printer.address`
_PRINT = ctypes.CFUNCTYPE(
    None, ctypes.c_int64, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p
)


def probe() -> Sequence[DeviceInfo]:
    """A device for each processor; none without an emulator."""
    if emulator.find() is None:
        return ()
    return [
        DeviceInfo(KIND, i, arch, f"QEMU, {bits} bits") for i, (arch, bits) in enumerate(PROCESSORS.items())
    ]


class EmulatedKernel:
    """A linked kernel: its ``program``, for registers of ``bits`` bits."""

    def __init__(self, image: KernelImage, device: DeviceInfo) -> None:
        metadata = image.metadata
        self.name = metadata.name
        self.parameters = metadata.signature.parameters
        self.facts = Facts.find(image.data)
        check_parameters(image, self.facts.parameters, argument_table(self.parameters))
        self.bits = register_bits(device.arch)
        folder = tempfile.mkdtemp(prefix="tri-riscv-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.program = link(image.data, metadata.entry, Path(folder))

    @property
    def resources(self) -> dict[str, int]:
        """``arena``: bytes of scratch memory."""
        return {"arena": self.facts.arena}


class RiscvRuntime(RuntimeBase):
    """Arrays of the host are copied to the device for a launch, and back after it.  A launch returns when it is over."""

    device_kind = KIND
    host_memory: HostMemory = "staged"
    no_device_remedy = emulator.REMEDY

    @functools.cached_property
    def shared(self) -> SharedMemory:
        """The memory of the devices, made when it is first used."""
        return SharedMemory()

    def devices(self) -> Sequence[DeviceInfo]:
        """The devices of this machine."""
        return probe()

    def device_for(self, arch: str) -> DeviceInfo:
        """The device of ``arch``, whose registers are as long as its code takes them for."""
        self.current_device()  # the error where there is none
        return next(device for device in self.devices() if device.arch == arch)

    def memory(self, device: DeviceInfo) -> SharedMemory:
        """The memory of ``device``: one for all."""
        del device
        self.check_process()
        return self.shared

    def load(self, image: KernelImage, device: DeviceInfo) -> LoadedKernel:
        """Link ``image``; TargetError where ``device`` has shorter registers than its code needs."""
        self.check_process()
        arch = image.metadata.target.arch
        if register_bits(arch) > register_bits(device.arch):
            raise TargetError(
                f"code for {arch} cannot run on {device.arch}, which has shorter registers",
                remedy=f"compile for {KIND}:{device.arch}",
            )
        return EmulatedKernel(image, device)

    def launcher(self, kernel: LoadedKernel, image: KernelImage) -> Launch:
        """Launcher of ``kernel``; of two arguments that are one array, the code for arrays that overlap takes care."""
        del image
        loaded = _own(kernel)
        differ = [(first, second) for first, second, in_place in loaded.facts.apart if not in_place]
        launches = [_Launcher(loaded, self.shared, ordered=False)]
        if loaded.facts.ordered is not None:
            launches.append(_Launcher(loaded, self.shared, ordered=True))

        def launch(grid: tuple[int, int, int], stream: int | None, args: Sequence[Argument]) -> None:
            del stream
            same = any(args[first] == args[second] for first, second in differ)
            launches[-1 if same else 0](grid, args)

        return launch

    def overlapping(self, kernel: LoadedKernel, image: KernelImage) -> OverlapLaunch | None:
        """Launch of ``kernel`` on arrays that overlap; None if its code is the same."""
        del image
        loaded = _own(kernel)
        if loaded.facts.ordered is None:
            return None
        ordered = _Launcher(loaded, self.shared, ordered=True)
        pairs = tuple((first, second) for first, second, _ in loaded.facts.apart)
        return OverlapLaunch(pairs, lambda grid, stream, args: ordered(grid, args))

    def synchronize(self) -> None:
        """Nothing to wait for: a launch returns when the kernel is done."""


def _own(kernel: LoadedKernel) -> EmulatedKernel:
    if not isinstance(kernel, EmulatedKernel):
        raise InternalError(f"{type(kernel).__name__} was loaded by another runtime")
    return kernel


class _Launcher:
    """Launches of one function of a kernel: fill a task, run the program, look what it reports."""

    def __init__(self, kernel: EmulatedKernel, memory: SharedMemory, *, ordered: bool) -> None:
        self._kernel = kernel
        self._memory = memory
        self._ordered = ordered
        self._facts = kernel.facts.ordered if ordered and kernel.facts.ordered is not None else kernel.facts
        self._table = argument_table(kernel.parameters)
        self._pointers = tuple(i for i, p in enumerate(kernel.parameters) if p.is_pointer)
        self._printer = Printer(self._facts.prints)

    def __call__(self, grid: tuple[int, int, int], args: Sequence[Argument]) -> None:
        check_grid(grid, _LIMITS)
        if 0 in grid:
            return
        for index in self._pointers:
            if not args[index]:
                raise null_pointer(self._kernel.name, self._kernel.parameters[index])
        # the task, a page of zeros at its end (nobody asks for attention), and what the kernel needs for itself
        task_bytes = -(-(ARGUMENTS + self._table.size + 8) // _PAGE) * _PAGE
        task = self._memory.alloc(task_bytes + self._facts.arena)
        try:
            self._run(task, task + task_bytes, self._task(grid, args))
        finally:
            self._memory.free(task)

    def _task(self, grid: tuple[int, int, int], args: Sequence[Argument]) -> bytes:
        """The task in bytes, behind it a word of zeros."""
        made = ctypes.create_string_buffer(ARGUMENTS + self._table.size + 8)
        x, y, z = grid
        total = x * y * z
        _HEADER.pack_into(made, 0, 0, total, max(1, total), x, y, z, 0, 0, 0, 0, 0, 0)
        struct.pack_into("<Q", made, ATTENTION, BASE)  # the first page: zeros
        self._table.pack_into((ctypes.c_char * (self._table.size + 8)).from_buffer(made, ARGUMENTS), args)
        return bytes(made)

    def _run(self, task: int, arena: int, content: bytes) -> None:
        self._memory.write(task, content)
        words = (BASE, BYTES, task, arena, TASK.offset("printer"), int(self._ordered))
        kernel = self._kernel
        said = emulator.run(kernel.program, kernel.bits, words, self._memory.file, kernel.name)
        self._print(said)
        (failed,) = struct.unpack("<i", self._memory.read(task + FAILED, 4))
        if failed:
            program = struct.unpack("<3i", self._memory.read(task + FAILED_PROGRAM, 12))
            raise self._failure(failed, program)

    def _print(self, said: bytes) -> None:
        if not self._facts.prints:
            return
        function = _PRINT(self._printer.address)
        for site, x, y, z, has_value, element, value in _RECORD.iter_unpack(said):
            held = ctypes.create_string_buffer(value, 8)
            function(site, x, y, z, element, ctypes.addressof(held) if has_value else None)

    def _failure(self, number: int, program: tuple[int, ...]) -> KernelFault:
        record = self._facts.assertions[number - 1]
        name = self._kernel.name
        return KernelFault(
            f"device-side assertion {record['message']!r} failed in {name}, in program {program}",
            remedy="the arrays that the kernel writes are as before the launch",
            location=place_of(record["place"]),
            kernel=name,
            kernels=(name,),
            program=(program[0], program[1], program[2]),
            thread=None,
        )
