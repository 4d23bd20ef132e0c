"""The program that runs, for whoever reports an error of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from tri.interpreter.errors import KernelError

__all__ = ["E", "RunningProgram"]

#: a kind of error of kernels
E = TypeVar("E", bound=KernelError)


class RunningProgram(Protocol):
    """``program`` of a launch (x, y, z) runs."""

    program: tuple[int, int, int]

    def kernel_error(
        self,
        message: str,
        kind: Callable[..., E] = KernelError,  # type: ignore[assignment]  # E is that class then
        *,
        remedy: str | None = None,
        **fields: Any,
    ) -> E:
        """An error of the running program, with its place."""
        ...
