"""Kernels written with primitives and machine ops, compiled and run on the OpenCL CPU device."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tri_backend_intel.architectures import target
from tri_backend_intel.dialect import TTIG
from tri_backend_intel.lowering import IntelPrimitives, make_primitives
from tri_backend_intel.options import IntelOptions
from tri_backend_intel.runtime import IntelRuntime
from tri_backend_intel.spirv.stage import spirv_stage
from tri_core.api import (
    DeviceError,
    KernelImage,
    KernelMetadata,
    KernelSignature,
    Parameter,
    StageContext,
    StageResult,
    Target,
    TargetKey,
)
from tri_core.codegen import service
from tri_core.llvm_text import to_llvm_text
from tri_core.mlir import ir, registry, run_passes, session
from tri_gpu_dialect.lowering import Builder, EmitMachineOps

Body = Callable[[Builder, IntelPrimitives, Sequence[ir.Value]], None]
Array = npt.NDArray[Any]

#: what the stage `llir` runs between the lowering and the machine ops
FLATTEN = importlib.import_module("tri_gpu_dialect.lowering.convert").FLATTEN

if "ttig" not in registry.dialects:  # a plugin manager may have been here first
    registry.add_dialect(TTIG)


def target_of(arch: str = "opencl-cpu") -> Target:
    return target(TargetKey("intel", arch), None)


def llvm_of(
    body: Body, pointers: int, options: IntelOptions, size: int = 16, arch: str = "opencl-cpu"
) -> str:
    """LLVM text of a kernel ``k`` of ``pointers`` global pointers."""
    with session():
        module = ir.Module.create()
        words = make_primitives(target_of(arch), options, size, options.num_warps)
        function = ir.Operation.create(
            "llvm.func", regions=1, attributes={}, ip=ir.InsertionPoint(module.body)
        )
        entry = function.regions[0].blocks.append()
        with ir.InsertionPoint(entry):
            b = Builder(module, entry)
            types = [b.ptr(1)] * pointers
            body(b, words, [entry.add_argument(t, ir.Location.unknown()) for t in types])
            ir.Operation.create("llvm.return")
        signature = ir.Type.parse(f"!llvm.func<void ({', '.join(map(str, types))})>")
        function.attributes["sym_name"] = ir.StringAttr.get("k")
        function.attributes["function_type"] = ir.TypeAttr.get(signature)
        for name, value in words.kernel_attributes("k").items():
            function.attributes[name] = value
        run_passes(module, FLATTEN)
        EmitMachineOps().apply(module)
        return to_llvm_text(module)


def to_spirv(text: str, arch: str = "opencl-cpu", options: IntelOptions | None = None) -> StageResult:
    context = StageContext(
        target=target_of(arch), options=options or IntelOptions(), kernel_name="k", codegen=service()
    )
    return spirv_stage().run(text, context)


def image_of(
    made: StageResult, pointers: int, options: IntelOptions, size: int = 16, name: str = "k"
) -> KernelImage:
    parameters = tuple(Parameter(f"p{i}", "*i8") for i in range(pointers))
    metadata = KernelMetadata(
        name=name,
        target=TargetKey("intel", "opencl-cpu"),
        signature=KernelSignature(name=name, parameters=parameters),
        options={},
        num_warps=options.num_warps,
        threads_per_warp=size,
        attrs=dict(made.attrs),
    )
    return KernelImage(kind="spv", data=made.artifact, metadata=metadata)


@functools.cache
def runtime() -> IntelRuntime:
    try:
        made = IntelRuntime()
        made.current_device()
    except DeviceError as error:
        pytest.skip(f"no device: {error.message}")
    return made


def run_body(
    body: Body, arrays: Sequence[Array], *, grid: int = 1, size: int = 16, options: IntelOptions | None = None
) -> None:
    """Compile ``body`` with sub-groups of ``size`` and run it on ``arrays``, in place."""
    options = options or IntelOptions()
    made = to_spirv(llvm_of(body, len(arrays), options, size), options=options)
    image = image_of(made, len(arrays), options, size)
    launch = runtime().launcher(runtime().load(image, runtime().current_device()), image)
    launch((grid, 1, 1), None, [a.ctypes.data for a in arrays])


def random(
    shape: tuple[int, ...] | int, dtype: str, low: float = -4.0, high: float = 4.0, seed: int = 0
) -> Array:
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return generator.uniform(low, high, shape).astype(dtype)
    return generator.integers(int(low), int(high), shape).astype(dtype)
