"""PyTorch's tensors: its builds for ROCm call AMD's GPUs ``cuda``."""

from __future__ import annotations

import sys
from typing import Any

from tri_backend_amd.runtime.devices import probe
from tri_backend_amd.runtime.streams import framework_stream
from tri_core.api import ArrayArgument, DeviceError, FrameworkAdapter
from tri_runtime.array_interface import torch_argument

__all__ = ["ADAPTERS", "describe_torch"]


def describe_torch(tensor: Any) -> ArrayArgument | None:
    """A tensor on a ``cuda`` device of a ROCm build; None for any other."""
    torch: Any = sys.modules["torch"]  # it made the tensor
    if tensor.device.type != "cuda" or not torch.version.hip:
        return None
    index = tensor.device.index or 0
    present = probe()
    if index >= len(present):
        raise DeviceError(
            f"a PyTorch tensor lies on {tensor.device}; HIP shows {len(present)} devices",
            remedy="pip install hip-python of the ROCm release that PyTorch was built for",
        )
    return torch_argument(tensor, present[index])


ADAPTERS = (
    FrameworkAdapter(
        name="torch-rocm", module="torch", describe=describe_torch, current_stream=framework_stream
    ),
)
