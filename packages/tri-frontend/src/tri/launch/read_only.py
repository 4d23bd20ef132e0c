"""Arrays that are only read: a kernel that may write to one is not launched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tri_core.errors import LaunchError

if TYPE_CHECKING:
    from tri_core.compiler import CompiledKernel

__all__ = ["check_read_only"]


def check_read_only(kernel: CompiledKernel, read_only: Iterable[int]) -> None:
    """LaunchError when ``kernel`` may write to one of its parameters in the positions ``read_only``."""
    written = kernel.written_parameters
    for position in read_only:
        name = kernel.metadata.signature.parameters[position].name
        if name in written:
            raise LaunchError(
                f"argument {name!r} of {kernel.name} is a read-only array, and the kernel writes to it",
                remedy="pass a writable array: a copy, or one made without a read-only flag",
            )
