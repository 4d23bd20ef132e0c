"""A kernel's program from the driver's own interface, or the error that says why there is none."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tri_backend_intel.runtime.native import NativeRefused, Program, Programs
from tri_core import forks
from tri_core.api import InternalError, KernelImage, ToolchainError

__all__ = ["announced", "build_kernel", "refused"]

logger = logging.getLogger(__name__)

#: seconds after which a build is told of, and at which level: OpenCL's compiler takes a minute for a large unrolled kernel
NOTICES = ((1.0, logging.INFO), (10.0, logging.WARNING))

#: timers that run; those of the parent are no matter of a forked child's
_timers: set[threading.Timer] = set()
forks.in_child(lambda: _timers.clear())


@contextmanager
def announced(image: KernelImage, device: str) -> Iterator[None]:
    """A ``with`` block in which the driver of ``device`` compiles ``image``: the log says so while it takes long."""
    kernel, size = image.metadata.name, len(image.data) // 1024

    def tell(level: int, seconds: float) -> None:
        logger.log(
            level,
            "the driver of %s is compiling %s (%d KiB of SPIR-V) since %.0f s; smaller tiles or more warps make less code",
            device,
            kernel,
            size,
            seconds,
        )

    timers = [threading.Timer(seconds, tell, (level, seconds)) for seconds, level in NOTICES]
    for timer in timers:
        timer.daemon = True
        _timers.add(timer)
        timer.start()
    try:
        yield
    finally:
        for timer in _timers.intersection(timers):
            _timers.discard(timer)
            timer.cancel()


def refused(name: str, device: str, tool: str, why: NativeRefused) -> ToolchainError:
    """The driver of ``device`` does not take kernel ``name``."""
    return ToolchainError(
        f"the driver of {device} cannot compile kernel {name}: {why}",
        remedy="the SPIR-V is in the compiled kernel's asm['spv']",
        tool=tool,
        returncode=None,
        log=str(why),
    )


def build_kernel(
    image: KernelImage, modes: Sequence[str], programs: Programs | None, device: str, tool: str
) -> Program:
    """The program of ``image``, by the option among ``modes`` that spills least; ToolchainError when the driver refuses it."""
    if programs is None:
        raise InternalError(f"{tool} builds no programs")
    try:
        return programs.build(image.data, image.metadata.entry, modes)
    except NativeRefused as error:
        raise refused(image.metadata.entry, device, tool, error) from error
