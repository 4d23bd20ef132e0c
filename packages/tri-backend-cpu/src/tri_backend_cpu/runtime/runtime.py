"""The runtime: kernels run in this process, on the arrays' own memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from tri_backend_cpu.runtime.checks import BoundedPointer
from tri_backend_cpu.runtime.first_launch import check_first_launch
from tri_backend_cpu.runtime.kernel import CpuKernel
from tri_backend_cpu.runtime.launcher import make_launch, make_ordered_launch
from tri_backend_cpu.runtime.plans import launch_plan
from tri_backend_cpu.runtime.pool import ThreadPool
from tri_backend_cpu.target import DEVICE_KIND, host_device, is_host
from tri_core.api import (
    Argument,
    ArrayArgument,
    DeviceInfo,
    HostMemory,
    KernelImage,
    Launch,
    LaunchPlan,
    LoadedKernel,
    OverlapLaunch,
    TargetError,
)
from tri_runtime import LaunchCheck, RuntimeBase

__all__ = ["CpuRuntime"]


class CpuRuntime(RuntimeBase):
    """One device, this machine.  A launch returns when the kernel is done; a fork gets helpers of its own."""

    device_kind = DEVICE_KIND
    host_memory: HostMemory = "direct"
    fork_safe = True
    wants_extents = True

    def __init__(self) -> None:
        super().__init__()
        self._pool = ThreadPool()

    def devices(self) -> Sequence[DeviceInfo]:
        """This machine's processor."""
        return [host_device()]

    def load(self, image: KernelImage, device: DeviceInfo) -> LoadedKernel:
        """Link ``image`` into this process."""
        del device
        arch = image.metadata.target.arch
        if not is_host(arch):
            raise TargetError(
                f"kernel {image.metadata.name} is for {image.metadata.target}, which this machine is not",
                remedy="compile it for the target 'cpu'",
            )
        return CpuKernel(image)

    def launcher(self, kernel: LoadedKernel, image: KernelImage) -> Launch:
        """A callable that runs the programs of a grid on the pool's threads."""
        del image
        if not isinstance(kernel, CpuKernel):
            raise TypeError(f"{kernel!r} was not loaded by this runtime")
        return make_launch(kernel, self._pool)

    def launch_plan(self, kernel: LoadedKernel, image: KernelImage) -> LaunchPlan | None:
        """Launch plan of ``kernel`` for compiled code; None for one whose launches are Python's."""
        del image
        return launch_plan(kernel, self._pool) if isinstance(kernel, CpuKernel) else None

    def launch_check(self, kernel: LoadedKernel) -> LaunchCheck | None:
        """The check that raises OutOfBounds where accesses without a mask surely leave an array; None if there are no such."""
        if not isinstance(kernel, CpuKernel) or not kernel.facts.certain:
            return None
        return partial(check_first_launch, kernel)

    def overlapping(self, kernel: LoadedKernel, image: KernelImage) -> OverlapLaunch | None:
        """Launch of ``kernel`` on arrays that overlap; None if its code is the same."""
        del image
        if not isinstance(kernel, CpuKernel) or len(kernel.versions) == 1:
            return None
        pairs = tuple((first, second) for first, second, _ in kernel.apart)
        return OverlapLaunch(pairs, make_ordered_launch(kernel, self._pool))

    def staged(self, arrays: Sequence[ArrayArgument]) -> AbstractContextManager[Sequence[Argument]]:
        """Pointers that know the arrays' extents."""
        return nullcontext(tuple(BoundedPointer.to(a) for a in arrays))

    def synchronize(self) -> None:
        """Nothing to wait for: a launch returns when the kernel is done."""
