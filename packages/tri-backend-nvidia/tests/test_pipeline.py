"""Kernels from source to machine code, for every architecture, without a GPU."""

from __future__ import annotations

import pytest
from integration.kernels.matmul import matmul
from integration.kernels.softmax import softmax
from integration.kernels.vector_add import vector_add

import tri
import tri.language as tl
from nvidia_support import known_to_ptxas
from tri_backend_nvidia.architectures import ARCHITECTURES
from tri_backend_nvidia.disassembly import NVDISASM
from tri_backend_nvidia.tools import find
from tri_core import knobs
from tri_core.api import OptionError

ALIGNED = [["tt.divisibility", 16]]
ADD = tri.ASTSource(
    vector_add,
    {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"},
    {"BLOCK": 1024},
    {(i,): ALIGNED for i in range(4)},
)
SOFTMAX = tri.ASTSource(
    softmax,
    {
        "out_ptr": "*fp32", "x_ptr": "*fp32", "x_stride": "i32", "out_stride": "i32", "n_cols": "i32",
        "BLOCK": "constexpr",
    },
    {"BLOCK": 4096},
    {(i,): ALIGNED for i in range(5)},
)  # fmt: skip


@pytest.mark.parametrize("arch", [a for a in ARCHITECTURES if not a.endswith("f")])
def test_vector_add_for_every_architecture(arch):
    if not known_to_ptxas(arch):
        pytest.skip("this ptxas is of CUDA 12")  # its refusal is tested with ptxas
    kernel = tri.compile(ADD, target=f"nvidia:{arch}")
    assert [s for s in kernel.asm if s != "sass"] == ["ttir", "ttgir", "llir", "ptx", "cubin"]
    ptx = kernel.asm["ptx"]
    assert (ptx.count("ld.global.v4.b32"), ptx.count("st.global.v4.b32")) == (4, 2)
    assert f".target {arch}" in ptx
    assert "debug" not in ptx
    assert kernel.asm["cubin"].startswith(b"\x7fELF")


def test_the_record_of_a_kernel():
    metadata = tri.compile(SOFTMAX, target="nvidia:sm_90a", options={"num_warps": 8}).metadata
    assert metadata.name == "softmax"
    assert metadata.entry_points == ("softmax",)
    assert (metadata.num_warps, metadata.threads_per_warp) == (8, 32)
    assert 0 < metadata.shared <= 1024
    assert metadata.resources["spills"] == metadata.resources["stack"] == 0
    assert 16 <= metadata.resources["registers"] <= 64
    assert "tri-backend-nvidia" in metadata.plugins


def test_machine_code_moves_16_bytes_and_touches_no_local_memory():
    if find(NVDISASM, knobs.get("NVIDIA_NVDISASM")) is None:
        pytest.skip("nvdisasm is not installed (extra sass)")
    text = tri.compile(ADD, target="nvidia:sm_90a").asm["sass"]
    assert (text.count("LDG.E.128"), text.count("STG.E.128")) == (4, 2)
    assert "LDL" not in text
    assert "STL" not in text


def test_options_reach_the_code():
    def compiled(**options):
        return tri.compile(ADD, target="nvidia:sm_90a", options=options)

    assert ".reqntid 256" in compiled(num_warps=8).asm["ptx"]
    assert ".maxnreg 32" in compiled(maxnreg=32).asm["ptx"]
    assert ".version 8.6" in compiled(ptx_version=86).asm["ptx"]
    fast, slow = compiled(), compiled(ptx_options="-O0")
    assert slow.metadata.hash != fast.metadata.hash
    assert len(slow.asm["cubin"]) != len(fast.asm["cubin"])
    with pytest.raises(OptionError, match="maxnregs"):
        compiled(maxnregs=32)


@tri.jit
def _fused(x_ptr, y_ptr):
    x = tl.load(x_ptr)
    tl.store(y_ptr, x * tl.load(y_ptr) + x)


@pytest.mark.parametrize("fused", [True, False])
def test_fusion_is_an_option(fused):
    source = tri.ASTSource(_fused, {"x_ptr": "*fp32", "y_ptr": "*fp32"}, {}, {})
    ptx = tri.compile(source, target="nvidia:sm_90a", options={"enable_fp_fusion": fused}).asm["ptx"]
    assert ("fma.rn.f32" in ptx) is fused
    assert ("mul.rn.f32" in ptx) is not fused


@tri.jit
def _library(x_ptr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, tl.sin(x) + tl.erf(x) + tl.log(x))


def test_library_functions_are_linked():
    ptx = tri.compile(tri.ASTSource(_library, {"x_ptr": "*fp32"}, {}, {}), target="nvidia:sm_90a").asm["ptx"]
    assert "__nv_" not in ptx.replace("__nv_reflect", "")
    assert ".extern" not in ptx


def test_matmul_of_every_float_type():
    names = [p for p in matmul.arg_names if not p.startswith("BLOCK") and p != "GROUP_M"]
    for dtype in ("fp32", "fp16", "bf16"):
        signature = {n: f"*{dtype}" if n.endswith("_ptr") else "i32" for n in names}
        blocks = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 16, "GROUP_M": 8}
        source = tri.ASTSource(matmul, signature | dict.fromkeys(blocks, "constexpr"), blocks, {})
        kernel = tri.compile(source, target="nvidia:sm_90a")
        assert kernel.metadata.shared > 0
        assert kernel.metadata.resources["spills"] == 0
