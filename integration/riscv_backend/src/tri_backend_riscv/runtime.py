"""The runtime: a device for each length of registers, whose memory is shared with the programs that run kernels."""

from __future__ import annotations

import functools
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from tri_backend_cpu.launch_abi import Facts
from tri_core.api import (
    Argument,
    ArrayArgument,
    DeviceInfo,
    HostMemory,
    InternalError,
    KernelImage,
    Launch,
    LoadedKernel,
    OverlapLaunch,
    TargetError,
)
from tri_runtime import RuntimeBase, argument_table, check_parameters

from tri_backend_riscv import emulator
from tri_backend_riscv.launches import Launcher, bounded
from tri_backend_riscv.linking import link
from tri_backend_riscv.memory import SharedMemory
from tri_backend_riscv.processors import KIND, PROCESSORS, register_bits

__all__ = ["RiscvRuntime", "probe"]


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

    def run(self, words: Sequence[int], memory: int) -> bytes:
        """Run it with ``words`` on its command line, on the memory of file ``memory``: what it writes."""
        return emulator.run(self.program, self.bits, words, memory, self.name)

    @property
    def apart(self) -> tuple[tuple[int, int, bool], ...]:
        """Pairs of parameters that the kernel takes for disjoint, and whether they may also be the same."""
        return tuple((first, second, bool(in_place)) for first, second, in_place in self.facts.apart)

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

    def staged(self, arrays: Sequence[ArrayArgument]) -> AbstractContextManager[Sequence[Argument]]:
        """Copies of ``arrays``, by pointers that know their extents."""
        return bounded(arrays, super().staged(arrays))

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
        launches = [Launcher(loaded, self.shared, ordered=False)]
        if loaded.facts.ordered is not None:
            launches.append(Launcher(loaded, self.shared, ordered=True))

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
        ordered = Launcher(loaded, self.shared, ordered=True)
        pairs = tuple((first, second) for first, second, _ in loaded.facts.apart)
        return OverlapLaunch(pairs, lambda grid, stream, args: ordered(grid, args))

    def synchronize(self) -> None:
        """Nothing to wait for: a launch returns when the kernel is done."""


def _own(kernel: LoadedKernel) -> EmulatedKernel:
    if not isinstance(kernel, EmulatedKernel):
        raise InternalError(f"{type(kernel).__name__} was loaded by another runtime")
    return kernel
