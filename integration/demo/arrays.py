"""Memory of the demo's arrays: NumPy on the host, or PyTorch on a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["ArrayLibrary", "NumPyArrays", "TorchArrays"]


class ArrayLibrary(Protocol):
    """Moves arrays to where kernels use them and back."""

    def to_device(self, array: npt.NDArray[Any]) -> Any:
        """``array`` as the library's own."""
        ...

    def to_host(self, array: Any) -> npt.NDArray[Any]:
        """The values, after all pending work."""
        ...

    def synchronize(self) -> None:
        """Wait for pending work."""
        ...


@dataclass(frozen=True)
class NumPyArrays:
    """Host arrays."""

    def to_device(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A copy."""
        return array.copy()

    def to_host(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The array itself."""
        return array

    def synchronize(self) -> None:
        """Nothing is pending: host targets finish before the launch returns."""


@dataclass(frozen=True)
class TorchArrays:
    """PyTorch tensors on ``device``."""

    device: str

    def to_device(self, array: npt.NDArray[Any]) -> Any:
        """A tensor on the device."""
        import torch

        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def to_host(self, array: Any) -> npt.NDArray[Any]:
        """The values as NumPy's."""
        return np.asarray(array.cpu().numpy())

    def synchronize(self) -> None:
        """Wait for the device."""
        import torch

        if self.device != "cpu":
            torch.accelerator.synchronize()
