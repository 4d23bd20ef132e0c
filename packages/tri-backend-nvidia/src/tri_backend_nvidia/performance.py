"""Peak rates of a GPU: clocks and widths from the driver, operations per clock from the data sheets."""

from __future__ import annotations

from tri_backend_nvidia.architectures import ARCHITECTURES, Architecture
from tri_backend_nvidia.driver.devices import attribute
from tri_core.api import DeviceInfo, DevicePerformance, TargetError

__all__ = ["operations_per_clock", "performance"]

#: operations on fp16 without matrix instructions, relative to fp32, by compute capability (the rest: 1);
#: source: the throughput table of the CUDA programming guide
_HALVES = {75: 2.0, 80: 4.0, 87: 2.0, 90: 2.0, 100: 2.0, 103: 2.0}
#: matrix operations relative to those on fp16 (fp32 is computed as tf32)
_MATRIX = {"fp32": 0.5, "tf32": 0.5, "fp16": 1.0, "bf16": 1.0}
_MATRIX_FP8 = {"fp8e4nv": 2.0, "fp8e5": 2.0}


def performance(device: DeviceInfo) -> DevicePerformance:
    """The rates of a present ``device``."""
    row = ARCHITECTURES.get(device.arch)
    if row is None:
        raise TargetError(f"the rates of {device.name} ({device.arch}) are not known")
    kilohertz = attribute(device.index, "MEMORY_CLOCK_RATE")
    bits = attribute(device.index, "GLOBAL_MEMORY_BUS_WIDTH")
    simd, matrix = operations_per_clock(row, attribute(device.index, "MULTIPROCESSOR_COUNT"))
    return DevicePerformance(
        memory_gbps=2 * kilohertz * 1e3 * bits / 8 / 1e9,  # two transfers per clock
        clock_mhz=attribute(device.index, "CLOCK_RATE") / 1e3,
        simd_flops=simd,
        matrix_flops=matrix,
    )


def operations_per_clock(
    row: Architecture, multiprocessors: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Operations per clock of ``multiprocessors``, without and with matrix instructions, by element type."""
    simd = {"fp32": row.f32_flops, "fp16": _HALVES.get(row.capability, 1.0) * row.f32_flops}
    kinds = _MATRIX | (_MATRIX_FP8 if row.capability >= 89 else {})
    if row.capability < 80:
        kinds = {"fp16": 1.0}
    matrix = {name: share * row.tensor_flops for name, share in kinds.items()}
    return (
        {name: float(value * multiprocessors) for name, value in simd.items()},
        {name: float(value * multiprocessors) for name, value in matrix.items() if value},
    )
