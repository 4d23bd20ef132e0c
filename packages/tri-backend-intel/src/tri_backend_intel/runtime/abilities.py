"""Required and available features of a module and a device, compared before a driver sees the module."""

from __future__ import annotations

from dataclasses import replace

from tri_backend_intel.runtime.found import FoundDevice
from tri_backend_intel.runtime.native import NativeApi
from tri_backend_intel.spirv import SpirvModule
from tri_backend_intel.spirv.specialization import CLOCK_FACTOR, clock_factor, specialized
from tri_core.api import DeviceError, KernelImage, Unsupported

__all__ = ["check_architecture", "check_device", "check_extensions", "with_clock"]

#: SPIR-V capability -> (the device's feature, what to tell the user)
_FEATURES = {
    "Float64": ("fp64", "64-bit floats"),
    "Float16": ("fp16", "16-bit floats"),
    "Int64Atomics": ("atomic64", "64-bit atomics"),
}


def check_architecture(image: KernelImage, device: FoundDevice) -> None:
    """DeviceError when ``image`` was compiled for another architecture: code works around what its own device does wrong."""
    made_for, here = image.metadata.target, device.info
    if made_for.arch != here.arch:
        raise DeviceError(
            f"kernel {image.metadata.name} was compiled for {made_for}, and {here.name} is intel:{here.arch}",
            remedy=f'compile for it, with tri.target("intel:{here.arch}"), or simulate: tri.target("sim:{made_for}")',
        )


def check_device(module: SpirvModule, device: FoundDevice) -> None:
    """Unsupported when ``module`` needs an ability that ``device`` lacks."""
    for capability, (feature, words) in _FEATURES.items():
        if capability in module.capabilities and feature not in device.facts.features:
            raise Unsupported(
                f"the kernel uses {words}, which {device.info.name} lacks",
                remedy="use a narrower type in the kernel",
            )
    for name, size in module.sub_group_size.items():
        if size not in device.facts.sub_group_sizes:
            raise Unsupported(
                f"kernel {name} was compiled for sub-groups of {size}, which {device.info.name} cannot run",
                remedy=f"compile with warp_size={device.facts.sub_group_sizes[-1]}",
            )


def check_extensions(module: SpirvModule, device: FoundDevice, api: NativeApi | None) -> None:
    """Unsupported when ``module`` declares a SPIR-V extension that the driver of ``device``, asked through ``api``, does not list."""
    has = api.extensions() if api is not None and module.extensions else None
    missing = sorted(module.extensions - has) if has is not None else []
    if missing:
        names = ",".join(missing)
        raise Unsupported(
            f"kernel {', '.join(module.kernels)} needs {names}, which the driver of {device.info.name} "
            f"({device.facts.driver_version}) does not have",
            remedy=f"install a newer driver, or set TRI_INTEL_WITHOUT={names} to compile without",
        )


def with_clock(image: KernelImage, device: FoundDevice, api: NativeApi | None) -> KernelImage:
    """``image`` whose clock counts as at the highest frequency that the driver of ``device`` says, where it says one."""
    found = api.megahertz() if api is not None and not device.is_cpu else None
    if found is None:
        return image
    return replace(image, data=specialized(image.data, {CLOCK_FACTOR: clock_factor(found / 1000)}))
