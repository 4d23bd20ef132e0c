"""Arrays of SYCL libraries: everything that shows a ``__sycl_usm_array_interface__``, and PyTorch's."""

from __future__ import annotations

import sys
from typing import Any

from tri_backend_intel.runtime.devices import device_of, stream_of, sycl_devices
from tri_backend_intel.runtime.sycl import check_one_runtime
from tri_core.api import ArrayArgument, DeviceError, FrameworkAdapter
from tri_runtime.array_interface import read_interface, torch_argument

__all__ = ["ADAPTERS", "describe", "describe_torch"]


def describe(array: Any) -> ArrayArgument:
    """``array`` as a kernel argument; LaunchError for an element type that kernels do not have."""
    interface = array.__sycl_usm_array_interface__
    found = read_interface(interface, strides_in_bytes=False)
    # the protocol's text calls the flag read-only; dpctl sets it on what may be written
    where = interface["syclobj"]
    return ArrayArgument(
        found.pointer,
        found.dtype,
        found.nbytes,
        device_of(where),
        writable=found.flag,
        owner=array,
        stream=stream_of(where),
    )


def describe_torch(tensor: Any) -> ArrayArgument | None:
    """A PyTorch tensor on an ``xpu`` device, which are the GPUs in their order; None for one elsewhere.

    DeviceError when PyTorch has another SYCL runtime than dpctl, or a device that dpctl does not see.
    """
    if tensor.device.type != "xpu":
        return None
    index = tensor.device.index or 0
    found_devices = sycl_devices()
    check_one_runtime()  # both are loaded now, PyTorch's and dpctl's
    gpus = [found.info for found in found_devices if not found.is_cpu]
    if index >= len(gpus):
        raise DeviceError(
            f"a PyTorch tensor lies on {tensor.device}; {len(gpus)} Intel GPUs are found here",
            remedy="install the driver that PyTorch uses (Level Zero)",
        )
    return torch_argument(tensor, gpus[index])


def _torch_stream(index: int) -> int:
    """The address of PyTorch's current ``sycl::queue`` on device ``index``."""
    torch: Any = sys.modules["torch"]  # only called for PyTorch's own tensors
    return int(torch.xpu.current_stream(index).sycl_queue)


ADAPTERS = (
    *(
        FrameworkAdapter(name=name, module=name, describe=describe)
        for name in ("dpctl", "dpnp", "numba_dpex")
    ),
    FrameworkAdapter(name="torch-xpu", module="torch", describe=describe_torch, current_stream=_torch_stream),
)
