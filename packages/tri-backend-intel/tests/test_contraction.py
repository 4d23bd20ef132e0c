"""Whether the driver may fuse products and sums."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from intel_support import image_of, llvm_of, random, runtime, to_spirv
from tri_backend_intel.architectures import ARCHITECTURES
from tri_backend_intel.lowering import IntelPrimitives
from tri_backend_intel.options import IntelOptions
from tri_backend_intel.spirv import read_module
from tri_backend_intel.spirv.contraction import may_contract
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Access, Builder


def body(product: str, total: str) -> object:
    """``out[thread] = x[thread] * x[thread] + out[thread]``, with fast-math flags on either."""

    def flags(text: str) -> dict[str, ir.Attribute]:
        return {"fastmathFlags": ir.Attribute.parse(f"#llvm.fastmath<{text}>")}

    def made(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        x, out = (b.gep(a, hw.thread_id(b), b.f32) for a in args)
        value = b.load(x, b.f32)
        squared = b.op("llvm.fmul", (value, value), b.f32, flags(product))
        result = b.op("llvm.fadd", (squared, b.load(out, b.f32)), b.f32, flags(total))
        hw.store_global(b, out, result, None, Access(4))

    return made


def contracted(options: IntelOptions, arch: str, product: str = "contract", total: str = "contract") -> bool:
    text = llvm_of(body(product, total), 2, options, arch=arch)  # type: ignore[arg-type]
    return bool(read_module(to_spirv(text, arch, options).artifact).contracted)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_drivers_may_contract_unless_the_option_forbids_it(arch: str) -> None:
    assert contracted(IntelOptions(), arch)
    assert not contracted(IntelOptions(enable_fp_fusion=False), arch)


@pytest.mark.parametrize(("product", "total"), [("none", "contract"), ("contract", "none"), ("none", "none")])
def test_an_operation_that_must_stay_alone_forbids_it(product: str, total: str) -> None:
    assert not contracted(IntelOptions(), "pvc", product, total)


def test_what_stands_between_them() -> None:
    lines = ("%a = fmul float %x, %y", "%b = fneg float %a", "%c = fadd contract float %z, %b")
    assert not may_contract("\n".join(f"  {line}" for line in lines))
    lines = ("%a = fmul contract float %x, %y", "%b = fneg float %a", "%c = fsub fast float %z, %b, !dbg !3")
    assert may_contract("\n".join(f"  {line}" for line in lines))
    # a sum without a product in it is nothing to fuse
    lines = ("%a = fmul contract <2 x float> %x, %y", "%c = fadd <2 x float> %z, %w")
    assert may_contract("\n".join(f"  {line}" for line in lines))


def test_without_it_results_are_rounded_twice() -> None:
    options = IntelOptions(enable_fp_fusion=False)
    image = image_of(to_spirv(llvm_of(body("contract", "contract"), 2, options), options=options), 2, options)  # type: ignore[arg-type]
    launch = runtime().launcher(runtime().load(image, runtime().current_device()), image)
    x, out = random(64, "float32"), random(64, "float32", seed=1)
    expected = x * x + out
    launch((1, 1, 1), None, [x.ctypes.data, out.ctypes.data])
    np.testing.assert_array_equal(out, expected)
