"""The versions of a kernel that a process holds, as Triton shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tri.kernel import KernelLauncher
    from tri_core.compiler import CompiledKernel

__all__ = ["DeviceCaches"]


class DeviceCaches(Mapping[int, tuple[dict[Any, "CompiledKernel"]]]):
    """Device index to a tuple whose first item maps specializations to kernels; a picture of now.

    A device without versions has an empty dictionary.  The host's only one is ``"cpu"``, too, as PyTorch calls it.  :meth:`clear` makes the next launches look for their
    kernels again (in the process's memory and in the store, before they compile).
    """

    def __init__(self, dispatcher: KernelLauncher) -> None:
        self._dispatcher = dispatcher
        self._found = dispatcher.versions()

    def __getitem__(self, device: int | str) -> tuple[dict[Any, CompiledKernel]]:
        index = 0 if device == "cpu" else device
        return (self._found.get(index, {}) if isinstance(index, int) else {},)

    def __iter__(self) -> Iterator[int]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def clear(self) -> None:
        """Drop all versions."""
        self._found.clear()
        self._dispatcher.forget()
