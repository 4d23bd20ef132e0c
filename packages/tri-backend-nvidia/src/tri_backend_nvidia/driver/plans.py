"""Launch plans, by which compiled code launches a kernel itself.  CUDA Driver API, ``cuLaunchKernelEx``,
``cuStreamGetId``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from tri_backend_nvidia.driver import counters, devices, faults, launches
from tri_backend_nvidia.driver.driver import address_of, call, driver
from tri_backend_nvidia.driver.kernels import CudaKernel, encoder
from tri_core.api import DeviceInfo, HiddenNumbers, HiddenParameters, KernelImage, LaunchPlan, Probe

__all__ = ["launch_plan"]

_InContext = Callable[[DeviceInfo, Callable[[], int]], int]


def launch_plan(
    kernel: CudaKernel, image: KernelImage, *, in_context: _InContext, many_devices: bool
) -> LaunchPlan | None:
    """Launch plan of ``kernel``; None for one with memory allocated at launch, which takes two more calls.

    With ``many_devices`` the thread's context is looked at before a launch, as it may be another device's; else a wrong one is found
    out from the driver's status.
    """
    metadata = image.metadata
    hidden = HiddenParameters.from_attrs(metadata.attrs)
    if hidden.scratch:
        return None
    records = launches.attribute_records(launches.attributes_of(metadata.options))
    ctas = 0 if kernel.residency is None else max(kernel.residency.ctas, 1)
    current = (address_of("cuCtxGetCurrent"), int(devices.context(kernel.device.index)))
    return LaunchPlan(
        name=metadata.name,
        start=address_of("cuLaunchKernelEx"),
        function=kernel.function,
        threads=metadata.threads,
        shared=metadata.shared,
        parameters=(*metadata.signature.parameters, *hidden.parameters),
        numbers=_numbers(kernel, in_context) if hidden.counter else lambda stream: HiddenNumbers(),
        attributes=ctypes.addressof(records),
        attribute_count=len(records),
        descriptors=len(hidden.descriptors),
        encode=encoder(kernel, hidden),
        resident=ctas if hidden.grid else 0,
        most_ctas=0 if hidden.grid else ctas,
        cluster=1 if hidden.grid else hidden.cluster,
        context=current if many_devices else None,
        note=faults.note,
        keep=(kernel, records),
    )


def _numbers(kernel: CudaKernel, in_context: _InContext) -> Callable[[int], HiddenNumbers | None]:
    """The counter of launches on a stream: as long as that is the same stream and not being captured."""
    device = kernel.device
    own = counters.of_device(device.index)

    def numbers(stream: int) -> HiddenNumbers | None:
        handle = driver().CUstream(stream)
        if int(in_context(device, lambda: int(call("cuStreamIsCapturing", handle)))):
            return None
        identity = int(in_context(device, lambda: int(call("cuStreamGetId", handle))))
        probes = Probe(address_of("cuStreamIsCapturing"), 0), Probe(address_of("cuStreamGetId"), identity)
        return HiddenNumbers((in_context(device, lambda: own.of(stream)),), probes)

    return numbers
