"""What a module needs and a device lacks is refused by name, with a remedy that works, before a driver sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from intel_support import image_of, llvm_of, random, runtime, to_spirv
from tri_backend_intel.architectures import ARCHITECTURES, target
from tri_backend_intel.lowering import IntelPrimitives
from tri_backend_intel.options import IntelOptions
from tri_backend_intel.runtime.abilities import check_device, check_extensions, with_clock
from tri_backend_intel.runtime.found import DeviceFacts, FoundDevice
from tri_backend_intel.spirv import read_module
from tri_backend_intel.spirv.reader import instructions_of
from tri_backend_intel.spirv.specialization import CLOCK_FACTOR, specialization_ids, specialized
from tri_core import knobs
from tri_core.api import DeviceInfo, KernelImage, OptionError, OutOfResources, TargetKey, Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Access, Builder

DOUBLE = """
define spir_kernel void @double(ptr addrspace(1) %out) !reqd_work_group_size !0 !intel_reqd_sub_group_size !1 {
  store double 1.0, ptr addrspace(1) %out
  ret void
}
!0 = !{i32 16, i32 1, i32 1}
!1 = !{i32 16}
"""


@tri.jit
def halved(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, (tl.load(x + i) * 0.5).to(tl.bfloat16))


@tri.jit
def add_one(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at) + 1)


@pytest.fixture(scope="module")
def image() -> KernelImage:
    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        hw.store_global(b, b.gep(args[0], hw.thread_id(b), b.i32), b.int_(1), None, Access(4))

    return image_of(to_spirv(llvm_of(body, 1, IntelOptions())), 1, IntelOptions())


def test_a_device_without_f64_refuses_it() -> None:
    module = read_module(to_spirv(DOUBLE).artifact)
    lacking: Any = SimpleNamespace(
        info=SimpleNamespace(name="small"),
        facts=DeviceFacts(features=frozenset({"fp16"}), sub_group_sizes=(8, 16)),
    )
    with pytest.raises(Unsupported, match="64-bit floats, which small lacks"):
        check_device(module, lacking)
    lacking.facts = DeviceFacts(features=frozenset({"fp16", "fp64"}), sub_group_sizes=(32,))
    with pytest.raises(Unsupported, match="sub-groups of 16"):
        check_device(module, lacking)


class Api:
    """What a driver says of itself, made up."""

    def __init__(self, extensions: frozenset[str] | None, megahertz: int | None = None) -> None:
        self.extensions = lambda: extensions
        self.megahertz = lambda: megahertz


def made_up(arch: str) -> Any:
    return FoundDevice(DeviceInfo("sycl", 0, arch, "made up"), None, DeviceFacts(driver_version="1.0"))


def test_a_driver_without_an_extension_is_named_with_a_remedy_that_works() -> None:
    source = tri.ASTSource(halved, {"x": "*fp32", "out": "*bf16", "B": "constexpr"}, {"B": 64}, {})
    module = read_module(tri.compile(source, target="intel:pvc").asm["spv"])
    old: Any = Api(frozenset({"SPV_KHR_shader_clock"}))
    with pytest.raises(Unsupported, match="kernel halved needs SPV_INTEL_bfloat16_conversion") as caught:
        check_extensions(module, made_up("pvc"), old)
    assert "made up (1.0)" in str(caught.value)
    assert "TRI_INTEL_WITHOUT=SPV_INTEL_bfloat16_conversion" in str(caught.value.remedy)
    new: Any = Api(frozenset({"SPV_INTEL_bfloat16_conversion"}))
    silent: Any = Api(None)
    for api in (new, silent, None):
        check_extensions(module, made_up("pvc"), api)
    with knobs.scope(INTEL_WITHOUT=("SPV_INTEL_bfloat16_conversion",)):
        without = target(TargetKey("intel", "pvc"), None)
        module = read_module(tri.compile(source, target=without).asm["spv"])
    assert not module.extensions
    check_extensions(module, made_up("pvc"), old)


def test_an_image_with_an_extension_that_this_driver_lacks_does_not_reach_it() -> None:
    """Really asked of the device: its driver has a list of its own."""
    own = runtime()
    device = own.device_for("opencl-cpu")
    programs = own.programs(device)
    if programs is None or programs.interop.api.extensions() is None:
        pytest.skip("the driver does not say what it has")
    source = tri.ASTSource(halved, {"x": "*fp32", "out": "*bf16", "B": "constexpr"}, {"B": 64}, {})
    kernel = tri.compile(source, target="intel:pvc")
    metadata = replace(kernel.metadata, target=TargetKey("intel", "opencl-cpu"))
    image = KernelImage(kind="spv", data=kernel.asm["spv"], metadata=metadata)
    with pytest.raises(Unsupported, match="SPV_INTEL_bfloat16_conversion"):
        own.load(image, device)


def test_the_row_of_this_device_is_what_its_driver_lists() -> None:
    own = runtime()
    device = own.device_for("opencl-cpu")
    programs = own.programs(device)
    has = programs.interop.api.extensions() if programs is not None else None
    if has is None:
        pytest.skip("the driver does not say what it has")
    assert set(ARCHITECTURES["opencl-cpu"].spirv_extensions) <= has


def default_values(module: bytes) -> dict[int, int]:
    """SpecId -> default value of specialization constants of 64 bits."""
    numbers = {made: number for number, made in specialization_ids(module).items()}
    return {
        numbers[operands[1]]: operands[2] | operands[3] << 32
        for opcode, operands in instructions_of(module)
        if opcode == 50 and operands[1] in numbers
    }


def test_a_clock_counts_as_its_device_says() -> None:
    """Where the driver says nothing, or is that of a CPU, as the row says."""

    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        hw.store_global(b, args[0], hw.nanoseconds(b), None, Access(8))

    made = to_spirv(llvm_of(body, 1, IntelOptions(), arch="bmg"), "bmg").artifact
    image, api = (
        image_of(to_spirv(llvm_of(body, 1, IntelOptions(), arch="bmg"), "bmg"), 1, IntelOptions()),
        Api,
    )
    assert default_values(made) == {CLOCK_FACTOR: 341}  # 3 GHz
    silent: Any = api(None, None)
    assert with_clock(image, made_up("bmg"), silent) is image
    assert with_clock(image, made_up("bmg"), None) is image
    for megahertz, factor in ((2670, 383), (2850, 359), (3200, 320)):
        says: Any = api(None, megahertz)
        found = with_clock(image, made_up("bmg"), says)
        assert default_values(found.data) == {CLOCK_FACTOR: factor}
        assert len(found.data) == len(made)
        assert sum(a != b for a, b in zip(found.data, made, strict=True)) <= 2
        assert 1.0 - megahertz * factor / 1024_000 < 0.005
        assert megahertz * factor <= 1024_000


def test_a_module_without_a_clock_stays_as_it_is() -> None:
    source = tri.ASTSource(halved, {"x": "*fp32", "out": "*bf16", "B": "constexpr"}, {"B": 64}, {})
    kernel = tri.compile(source, target="intel:bmg")
    assert specialized(kernel.asm["spv"], {CLOCK_FACTOR: 7}) is kernel.asm["spv"]


def test_the_driver_says_a_frequency_or_nothing() -> None:
    programs = runtime().programs(runtime().current_device())
    if programs is None:
        pytest.skip("the driver cannot be reached below SYCL")
    found = programs.interop.api.megahertz()
    assert found is None or 100 < found < 10_000  # drivers of virtual machines know none


def test_a_work_group_that_the_target_has_not_is_refused_when_compiled() -> None:
    x, out = random(64, "float32"), np.zeros(64, np.float32)
    with tri.target("intel:opencl-cpu"), pytest.raises(OutOfResources, match="runs 8192 per block") as caught:
        add_one[(1,)](x, out, BLOCK=64, num_warps=1024)
    assert caught.value.location is not None
    assert "num_warps=512" in str(caught.value.remedy)
    with tri.target("intel:opencl-cpu"):
        add_one[(1,)](x, out, BLOCK=64, num_warps=512)
    np.testing.assert_array_equal(out, x + np.float32(1))


def test_a_kernel_that_runs_in_smaller_groups_only_is_refused(
    image: KernelImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As drivers make them of kernels with many registers."""
    own = runtime()
    built = own._built
    small = SimpleNamespace(work_group_size=32)
    monkeypatch.setattr(own, "_built", lambda *given: replace(built(*given), kernel=small))
    with pytest.raises(OutOfResources, match="needs 64 of 'threads', intel:opencl-cpu has 32") as caught:
        own.load(image, own.current_device())
    assert caught.value.nearest == {"num_warps": 2}


def test_a_sub_group_size_that_the_device_lacks_is_refused_when_compiled() -> None:
    x, out = random(64, "float32"), np.zeros(64, np.float32)
    with tri.target("intel:opencl-cpu"):
        with pytest.raises(OptionError, match="warp_size is 2") as caught:
            add_one[(1,)](x, out, BLOCK=64, warp_size=2)
        assert "16" in str(caught.value.remedy)
        add_one[(1,)](x, out, BLOCK=64, warp_size=4)
    np.testing.assert_array_equal(out, x + np.float32(1))
