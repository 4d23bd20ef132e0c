"""One kernel on every machine: the three vendors' targets simulated, and devices that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

import tri
from integration.tests.simulated import lowered, run
from tri_backend_amd.lowering import make_primitives as amd
from tri_backend_intel.lowering import make_primitives as intel
from tri_backend_nvidia.pipeline import make_primitives as nvidia
from tri_gpu_dialect.lowering import LoweredModule, PrimitivesFactory

__all__ = ["SIMULATED", "TYPES", "execute", "low_level", "source"]

Array = npt.NDArray[Any]
Argument = Array | int | float

#: machines by name: target, words, address spaces of global and shared memory
SIMULATED: dict[str, tuple[str, PrimitivesFactory, tuple[int, int]]] = {
    "sm_80": ("nvidia:sm_80", nvidia, (1, 3)),
    "sm_90a": ("nvidia:sm_90a", nvidia, (1, 3)),
    "gfx942": ("amd:gfx942", amd, (1, 3)),
    "gfx1100": ("amd:gfx1100", amd, (1, 3)),
    "opencl-cpu": ("intel:opencl-cpu", intel, (1, 3)),
    "pvc": ("intel:pvc", intel, (1, 3)),
}

#: functions that OpenCL's drivers bring, by mangled name
_OPENCL: dict[str, Any] = {
    f"_Z{len(name)}{name}{code}": lambda _, xs, f=function: [f(*xs)]
    for name, function in (("fmax", np.fmax), ("fmin", np.fmin))
    for code in ("ff", "dd")
}

#: names of element types in signatures
TYPES: dict[Any, str] = {
    np.dtype(np.bool_): "i1", np.dtype(np.int8): "i8", np.dtype(np.int16): "i16", np.dtype(np.int32): "i32",
    np.dtype(np.int64): "i64", np.dtype(np.uint8): "u8", np.dtype(np.uint16): "u16",
    np.dtype(np.uint32): "u32", np.dtype(np.uint64): "u64", np.dtype(np.float16): "fp16",
    np.dtype(np.float32): "fp32", np.dtype(np.float64): "fp64", np.dtype(ml_dtypes.bfloat16): "bf16",
    np.dtype(ml_dtypes.float8_e4m3fn): "fp8e4nv", np.dtype(ml_dtypes.float8_e5m2): "fp8e5",
}  # fmt: skip


def source(kernel: Any, arguments: Sequence[Argument], constants: Mapping[str, Any]) -> tri.ASTSource:
    """``kernel`` specialized to ``arguments``, arrays being aligned to 16 bytes."""
    names = [n for n in kernel.arg_names if n not in constants]
    signature: dict[str, str] = {}
    hints: dict[tuple[int, ...], Any] = {}
    for name, value in zip(names, arguments, strict=True):
        if isinstance(value, np.ndarray):
            signature[name] = f"*{TYPES[value.dtype]}"
            hints[kernel.arg_names.index(name),] = [["tt.divisibility", 16]]
        else:
            signature[name] = "fp32" if isinstance(value, float) else "i32"
    whole = {n: signature.get(n, "constexpr") for n in kernel.arg_names}
    return tri.ASTSource(kernel, whole, dict(constants), hints)


def low_level(
    machine: str, kernel: Any, arguments: Sequence[Argument], constants: Mapping[str, Any], **options: object
) -> LoweredModule:
    """What the simulator runs for ``kernel`` on ``machine``."""
    target, primitives, _ = SIMULATED[machine]
    return lowered(source(kernel, arguments, constants), target, primitives, **options)


def execute(
    machine: str,
    kernel: Any,
    grid: tuple[int, int, int],
    arguments: Sequence[Argument],
    constants: Mapping[str, Any],
    **options: Any,
) -> None:
    """Run ``kernel`` on ``machine`` (``intel`` and ``cpu``: on the device itself), writing arrays in place."""
    if machine not in SIMULATED:
        with tri.target(machine):
            kernel[grid](*arguments, **constants, **options)
        return
    made = low_level(machine, kernel, arguments, constants, **options)
    run(made, grid, arguments, spaces=SIMULATED[machine][2], externals=_OPENCL)
