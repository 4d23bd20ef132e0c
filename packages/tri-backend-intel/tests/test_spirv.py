"""The stage ``spv`` and the reader of its result."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pytest

import tri
import tri.language as tl
from intel_support import image_of, llvm_of, random, runtime, target_of, to_spirv
from tri_backend_intel.architectures import ARCHITECTURES
from tri_backend_intel.lowering import IntelPrimitives
from tri_backend_intel.options import IntelOptions
from tri_backend_intel.spirv import read_module
from tri_core.api import CodegenCrash, ToolchainError, Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Access, Builder


def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
    thread = hw.thread_id(b)
    value = hw.shuffle_xor(b, b.add(thread, hw.program_id(b, 0)), 1)
    hw.store_global(b, b.gep(args[0], thread, b.i32), value, None, Access(4))


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_architecture_compiles(arch: str) -> None:
    module = read_module(to_spirv(llvm_of(body, 1, IntelOptions(), arch=arch), arch).artifact)
    assert module.version == (1, 4)
    assert module.kernels == ("k",)
    assert module.local_size == {"k": (64, 1, 1)}
    assert module.sub_group_size == {"k": 16}
    assert "GroupNonUniformShuffle" in module.capabilities
    assert module.extensions == frozenset()


def test_the_facts_reach_the_metadata() -> None:
    made = to_spirv(llvm_of(body, 1, IntelOptions()))
    assert made.attrs["spirv_version"] == "1.4"
    assert made.attrs["spirv_extensions"] == []
    assert made.attrs["build_options"] == ""


def atomic(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
    from tri_core.dialects.tt.enums import AtomicOp
    from tri_gpu_dialect.lowering import AtomicAccess

    hw.atomic_rmw(b, AtomicOp.FADD, args[0], b.float_(1.0), None, AtomicAccess())


def test_an_extension_is_declared_when_it_is_used() -> None:
    module = read_module(to_spirv(llvm_of(atomic, 1, IntelOptions())).artifact)
    assert module.extensions == {"SPV_EXT_shader_atomic_float_add"}
    assert "AtomicFloat32AddEXT" in module.capabilities


@tri.jit
def count(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_add(out + i % 2, tl.load(x + i))


@pytest.mark.parametrize("arch", ["pvc", "bmg", "dg2"])
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_sums_of_16_bits_swap_words(dtype: str, arch: str) -> None:
    """No driver takes an extension for them."""
    types = {"out": f"*{dtype}", "x": f"*{dtype}", "N": "constexpr"}
    kernel = tri.compile(tri.ASTSource(count, types, {"N": 64}), target=f"intel:{arch}")
    assert not [name for name in read_module(kernel.asm["spv"]).extensions if "atomic" in name]


def divide(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
    x = b.load(args[0], b.f32, 4)
    made = hw.math(b, "precise_div", [x, b.float_(3.0)])
    assert made is not None
    hw.store_global(b, args[0], made, None, Access(4))


def test_precise_division_is_asked_of_the_driver() -> None:
    text = llvm_of(divide, 1, IntelOptions())
    assert to_spirv(text).attrs["build_options"] == "-cl-fp32-correctly-rounded-divide-sqrt"


@pytest.mark.parametrize(("arch", "words"), [("pvc", "-cl-intel-256-GRF-per-thread"), ("opencl-cpu", "")])
def test_large_registers_are_asked_of_gpu_drivers(arch: str, words: str) -> None:
    options = IntelOptions(grf_mode="large")
    assert to_spirv(llvm_of(body, 1, options, arch=arch), arch, options).attrs["build_options"] == words


def doubles(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
    x = b.load(args[0], b.f64, 8)
    hw.store_global(b, args[0], b.fadd(x, x), None, Access(8))


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_doubles_are_refused_where_there_are_none(arch: str) -> None:
    text = llvm_of(doubles, 1, IntelOptions(), arch=arch)
    if target_of(arch).has("fp64"):
        assert "Float64" in read_module(to_spirv(text, arch).artifact).capabilities
    else:
        with pytest.raises(Unsupported, match=f"64-bit floats, which intel:{arch} lacks"):
            to_spirv(text, arch)


# --- damage ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole() -> bytes:
    return to_spirv(llvm_of(body, 1, IntelOptions())).artifact


@pytest.mark.parametrize("cut", [0, 7, 16, 20, 400, -4])
def test_a_truncated_module_is_refused(whole: bytes, cut: int) -> None:
    with pytest.raises(ToolchainError, match="not a whole SPIR-V module"):
        read_module(whole[:cut])


def test_something_else_is_refused(whole: bytes) -> None:
    with pytest.raises(ToolchainError, match="it begins with"):
        read_module(b"\x7fELF" + whole[4:])


def test_a_module_without_a_kernel_is_refused(whole: bytes) -> None:
    function_end = struct.pack("<HH", 56, 1)
    with pytest.raises(ToolchainError, match="no kernel"):
        read_module(whole[:20] + function_end)


def test_every_cut_is_seen(whole: bytes) -> None:
    for length in range(0, len(whole), 4):
        with pytest.raises(ToolchainError, match="not a whole SPIR-V module"):
            read_module(whole[:length])


def test_what_llvm_cannot_select_is_an_exception() -> None:
    text = llvm_of(body, 1, IntelOptions()).replace(
        "ret void",
        "%r = call i32 @llvm.aarch64.crc32b(i32 %2, i32 5)\n  store i32 %r, ptr addrspace(1) %0\n  ret void",
    )
    with pytest.raises(CodegenCrash):
        to_spirv(text + "\ndeclare i32 @llvm.aarch64.crc32b(i32, i32)\n")


# --- bit reversals --------------------------------------------------------------------------------------

REVERSES = """
define spir_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %y) !reqd_work_group_size !0 !intel_reqd_sub_group_size !1 {
  %i = call spir_func i64 @_Z12get_local_idj(i32 0)
  %p = getelementptr i64, ptr addrspace(1) %x, i64 %i
  %q = getelementptr i64, ptr addrspace(1) %y, i64 %i
  %v = load i64, ptr addrspace(1) %p
  %n = NARROW
  %r = call iWIDTH @llvm.bitreverse.iWIDTH(iWIDTH %n)
  %w = WIDE
  store i64 %w, ptr addrspace(1) %q
  ret void
}
declare iWIDTH @llvm.bitreverse.iWIDTH(iWIDTH)
declare spir_func i64 @_Z12get_local_idj(i32)
!0 = !{i32 64, i32 1, i32 1}
!1 = !{i32 16}
"""


@pytest.mark.parametrize("width", [2, 3, 8, 13, 32, 33, 64])
def test_bit_reversals_are_spelled_out(width: int) -> None:
    narrow = "or i64 %v, 0" if width == 64 else f"trunc i64 %v to i{width}"
    wide = "or i64 %r, 0" if width == 64 else f"zext i{width} %r to i64"
    text = REVERSES.replace("NARROW", narrow).replace("= WIDE", f"= {wide}").replace("WIDTH", str(width))
    options = IntelOptions()
    image = image_of(to_spirv(text), 2, options)
    launch = runtime().launcher(runtime().load(image, runtime().current_device()), image)
    x, out = random((64,), "int64", -(1 << 62), 1 << 62), np.zeros(64, np.int64)
    launch((1, 1, 1), None, [x.ctypes.data, out.ctypes.data])
    expected = [int(f"{int(v) & ((1 << width) - 1):0{width}b}"[::-1], 2) for v in x]
    assert [int(v) & ((1 << 64) - 1) for v in out] == expected


NEGATES = """
@s = internal addrspace(3) global i32 poison
define spir_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %y) !reqd_work_group_size !0 !intel_reqd_sub_group_size !1 {
  %i = call spir_func i64 @_Z12get_local_idj(i32 0)
  %p = getelementptr TYPE, ptr addrspace(1) %x, i64 %i
  %q = getelementptr TYPE, ptr addrspace(1) %y, i64 %i
  %v = load TYPE, ptr addrspace(1) %p
  %n = fneg TYPE %v
  store i32 1, ptr addrspace(3) @s
  call spir_func void @_Z22__spirv_ControlBarrierjjj(i32 2, i32 2, i32 272)
  %t = load i32, ptr addrspace(3) @s
  store TYPE %n, ptr addrspace(1) %q
  ret void
}
declare spir_func void @_Z22__spirv_ControlBarrierjjj(i32, i32, i32)
declare spir_func i64 @_Z12get_local_idj(i32)
!0 = !{i32 64, i32 1, i32 1}
!1 = !{i32 16}
"""


@pytest.mark.parametrize(
    ("type_", "dtype"),
    [("half", "float16"), ("float", "float32"), ("double", "float64"), ("<2 x float>", "c8")],
)
def test_negations_live_across_a_barrier(type_: str, dtype: str) -> None:
    """The CPU device's compiler would give every sub-group the values of the last."""
    text = NEGATES.replace("TYPE", type_)
    options = IntelOptions()
    image = image_of(to_spirv(text), 2, options)
    launch = runtime().launcher(runtime().load(image, runtime().current_device()), image)
    x = np.random.default_rng(3).standard_normal(128).astype(np.float32).view("c8")
    x = x if dtype == "c8" else x.real.astype(dtype)
    x[5] = 0.0
    out = np.full_like(x, np.nan)
    launch((1, 1, 1), None, [x.ctypes.data, out.ctypes.data])
    assert out.tobytes() == (-x).tobytes()


def test_gpus_negate() -> None:
    """Only the CPU device needs it spelled out."""
    text = NEGATES.replace("TYPE", "float")
    sizes = [len(bytes(to_spirv(text, arch).artifact)) for arch in ("opencl-cpu", "pvc")]
    assert sizes[0] > sizes[1]
