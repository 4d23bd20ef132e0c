"""A kernel's program from the driver's own interface, or the error that says why there is none."""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_intel.runtime.native import NativeRefused, Program, Programs
from tri_core.api import InternalError, KernelImage, ToolchainError

__all__ = ["build_kernel", "refused"]


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
