"""Arrays of the host and tensors of a device, for programs that run on targets of both kinds."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy.typing as npt

__all__ = ["device_of", "to_device", "to_host"]

Array = npt.NDArray[Any]

#: PyTorch's names of the devices of backends that are not simulated
_DEVICES = {"nvidia": "cuda", "amd": "cuda", "intel": "xpu"}
#: targets of these that read the host's memory
_OF_THE_HOST = ("intel:opencl-cpu",)
_BITS = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}


def device_of(target: str) -> str | None:
    """The PyTorch device whose tensors a launch on ``target`` takes; None: arrays of the host."""
    device = None if target in _OF_THE_HOST else _DEVICES.get(target.partition(":")[0])
    # where PyTorch has no such device, what launches is a processor behind OpenCL
    return None if device == "xpu" and not _has_xpu() else device


def _has_xpu() -> bool:
    try:
        return bool(import_module("torch").xpu.is_available())
    except ImportError:
        return False


def to_device(array: Array, device: str) -> Any:
    """A tensor on ``device`` of the same shape, type, order and bits."""
    torch = import_module("torch")
    bits = torch.from_numpy(array.view(_BITS[array.itemsize]))
    return bits.to(device).view(getattr(torch, array.dtype.name))


def to_host(tensor: Any, like: Array) -> Array:
    """An array of the bits of ``tensor``, of the type of ``like``."""
    torch = import_module("torch")
    made: Array = tensor.view(getattr(torch, _BITS[like.itemsize])).cpu().numpy().view(like.dtype)
    return made
