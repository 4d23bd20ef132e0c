"""Peak rates of devices, as their backends know them."""

from __future__ import annotations

from typing import Any

from tri_core.errors import Unsupported
from tri_core.target import DeviceInfo

__all__ = ["get_dram_gbps", "get_max_simd_tflops", "get_max_tensorcore_tflops"]


def get_dram_gbps(device: DeviceInfo | int | None = None) -> float:
    """The peak rate of the device's memory in GB/s; Unsupported where its backend does not know it."""
    from tri_core.plugins import manager

    found = _device(device)
    return _known(manager().performance(found).memory_gbps, "the memory rate", found)


def get_max_simd_tflops(dtype: Any, clock_rate: float, device: DeviceInfo | int | None = None) -> float:
    """Peak TFLOP/s on ``dtype`` without matrix instructions at ``clock_rate`` kHz; Unsupported if not known."""
    return _tflops("simd_flops", dtype, clock_rate, device)


def get_max_tensorcore_tflops(dtype: Any, clock_rate: float, device: DeviceInfo | int | None = None) -> float:
    """Peak TFLOP/s of matrix instructions on ``dtype`` at ``clock_rate`` kHz; Unsupported if not known."""
    return _tflops("matrix_flops", dtype, clock_rate, device)


def _tflops(kind: str, dtype: Any, clock_rate: float, device: DeviceInfo | int | None) -> float:
    from tri_core.plugins import manager

    found = _device(device)
    name = _name_of(dtype)
    per_clock = getattr(manager().performance(found), kind).get(name, 0.0)
    return _known(per_clock, f"{kind} of {name}", found) * clock_rate * 1e-9


def _known(value: float, what: str, device: DeviceInfo) -> float:
    if not value:
        raise Unsupported(
            f"{what} of {device.name or device.arch} is not known", remedy="take it from the data sheet"
        )
    return value


def _name_of(dtype: Any) -> str:
    """Triton's name of a dtype of the language, of PyTorch or of NumPy."""
    from tri.launch.mocks import DtypeArray

    array = DtypeArray.of(dtype)
    return array.dtype if array is not None else str(dtype)


def _device(device: DeviceInfo | int | None) -> DeviceInfo:
    """A device by index (of the kind of the default target), the current one for None."""
    from tri.context import chosen
    from tri_core.target_selection import default
    from tri_runtime import runtime

    if isinstance(device, DeviceInfo):
        return device
    choice = chosen()
    owner = runtime((choice.target if choice is not None else default()).device_kind)
    return owner.current_device() if device is None else owner.devices()[device]
