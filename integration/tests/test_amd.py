"""The example kernels as linked code objects for every AMD target: header, descriptor, metadata, code."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tri
from integration.kernels.layernorm import layernorm
from integration.kernels.matmul import matmul
from integration.kernels.softmax import softmax
from integration.kernels.suite import shifted
from integration.kernels.vector_add import vector_add
from tri_backend_amd import tools
from tri_backend_amd.hsaco import KernelRecord, read_code_object
from tri_core.compiler import CompiledKernel

TARGETS = ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250")
DIVISIBLE = [["tt.divisibility", 16]]


def source(kernel: Any, signature: dict[str, str], constants: dict[str, int]) -> tri.ASTSource:
    """Pointers and sizes divisible by 16, as they usually are."""
    hinted = [i for i, t in enumerate(signature.values()) if t.startswith("*") or t == "i32"]
    types = {**signature, **dict.fromkeys(constants, "constexpr")}
    return tri.ASTSource(kernel, types, constants, {(i,): DIVISIBLE for i in hinted})


def pointers(*names: str, of: str = "fp32") -> dict[str, str]:
    return dict.fromkeys(names, f"*{of}")


def integers(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, "i32")


STRIDES = integers(
    "M", "N", "K", "stride_am", "stride_ak", "stride_bk", "stride_bn", "stride_cm", "stride_cn"
)
BLOCKS = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "GROUP_M": 8}
KERNELS: dict[str, tuple[Any, dict[str, str], dict[str, int]]] = {
    "vector_add": (vector_add, {**pointers("x_ptr", "y_ptr", "out_ptr"), **integers("n")}, {"BLOCK": 1024}),
    "softmax": (
        softmax,
        {**pointers("out_ptr", "x_ptr"), **integers("x_stride", "out_stride", "n_cols")},
        {"BLOCK": 1024},
    ),
    "layernorm": (
        layernorm,
        {**pointers("out_ptr", "x_ptr", "w_ptr", "b_ptr"), **integers("stride", "n_cols"), "eps": "fp32"},
        {"BLOCK": 1024},
    ),
    "matmul": (matmul, {**pointers("a_ptr", "b_ptr", "c_ptr", of="fp16"), **STRIDES}, BLOCKS),
}


@functools.cache
def compiled(name: str, arch: str) -> Any:
    kernel, signature, constants = KERNELS[name]
    return tri.compile(source(kernel, signature, constants), target=f"amd:{arch}", options={"num_warps": 4})


def record(name: str, arch: str) -> KernelRecord:
    return read_code_object(compiled(name, arch).asm["hsaco"]).kernels[name]


EVERY = pytest.mark.parametrize(("name", "arch"), [(n, a) for n in KERNELS for a in TARGETS])


@EVERY
def test_the_object_is_for_the_target(name: str, arch: str) -> None:
    code = read_code_object(compiled(name, arch).asm["hsaco"])
    assert code.processor == arch
    assert code.target_id == f"amdgcn-amd-amdhsa--{arch}"
    assert list(code.kernels) == [name]


@EVERY
def test_the_descriptor(name: str, arch: str) -> None:
    descriptor, facts = record(name, arch).descriptor, compiled(name, arch).metadata
    assert descriptor.wavefront == facts.threads_per_warp == (32 if arch.startswith("gfx1") else 64)
    assert descriptor.group_segment == facts.shared
    assert descriptor.private_segment == 0  # nothing spills
    assert (facts.shared > 0) == (name != "vector_add")


#: bytes of a parameter in the argument segment
SIZES = {"i32": 4, "fp32": 4}


@EVERY
def test_the_metadata(name: str, arch: str) -> None:
    facts, metadata = record(name, arch).metadata, compiled(name, arch).metadata
    sizes = [SIZES.get(p.type, 8) for p in metadata.signature.parameters]
    arguments = [a for a in facts[".args"] if not a[".value_kind"].startswith("hidden")]
    assert [a[".size"] for a in arguments] == sizes
    assert [a[".value_kind"] == "global_buffer" for a in arguments] == [s == 8 for s in sizes]
    assert all(a[".offset"] % a[".size"] == 0 for a in arguments)
    assert facts[".max_flat_workgroup_size"] == 4 * metadata.threads_per_warp
    assert facts[".vgpr_spill_count"] == facts[".sgpr_spill_count"] == 0
    assert metadata.resources["registers"] == facts[".vgpr_count"]


@EVERY
def test_the_linked_code_is_the_assembly(name: str, arch: str, tmp_path: Path) -> None:
    """The text, assembled by another LLVM and linked, is the same code: so the text is its disassembly."""
    text, linked = tmp_path / "k.s", tmp_path / "k.hsaco"
    text.write_text(compiled(name, arch).asm["amdgcn"])
    assembler, linker = tools.find(tools.ASSEMBLER), tools.find(tools.LINKER)
    options = ("-x", "assembler", "-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}", "-c")
    tools.run(tools.ASSEMBLER, assembler, (*options, str(text), "-o", str(tmp_path / "k.o")))
    tools.run(tools.LINKER, linker, ("-shared", str(tmp_path / "k.o"), "-o", str(linked)))
    again, first = read_code_object(linked.read_bytes()).kernels[name], record(name, arch)
    assert again.code == first.code
    assert again.descriptor == first.descriptor


#: what must be in the code of each kernel
WORDS = {
    "vector_add": ("global_load", "global_store", "_add_f32"),
    "softmax": ("v_exp_f32", "v_max_f32", "_dpp", "ds_", "barrier"),
    "layernorm": ("v_fma", "_dpp", "ds_", "barrier"),
    "matmul": ("ds_", "barrier", "global_load"),
}


@EVERY
def test_the_instructions(name: str, arch: str) -> None:
    text = compiled(name, arch).asm["amdgcn"]
    for word in WORDS[name]:
        assert word in text or word.replace("max_f32", "max_num_f32") in text, word
    if name == "matmul":
        assert ("v_wmma" if arch.startswith("gfx1") else "v_mfma") in text
    assert "scratch_" not in text.split(".section")[0]
    wide = "_b128" if arch.startswith("gfx1") else "_dwordx4"
    if name != "matmul":
        assert f"{'buffer' if name == 'softmax' else 'global'}_load{wide}" in text


# --- executed, in the simulator ---------------------------------------------------------------------------


def simulated(name: str, arch: str, constants: dict[str, int], **options: object) -> CompiledKernel:
    kernel, signature, _ = KERNELS[name]
    types = {k: v.replace("fp16", "fp32") for k, v in signature.items()}
    return tri.compile(source(kernel, types, constants), target=f"sim:amd:{arch}", options=options)


def random(*shape: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32)


@pytest.mark.parametrize("arch", TARGETS)
def test_vector_add_adds(arch: str) -> None:
    x, y, out = random(1008), -random(1008), np.zeros(1008, np.float32)
    made = simulated("vector_add", arch, {"BLOCK": 256}, num_warps=2)
    made[(4, 1, 1)](x, y, out, 1008)
    np.testing.assert_array_equal(out, x + y)


@pytest.mark.parametrize("arch", TARGETS)
def test_softmax_normalises(arch: str) -> None:
    x, out = random(3, 208), np.zeros((3, 208), np.float32)
    simulated("softmax", arch, {"BLOCK": 256})[(3, 1, 1)](out, x, 208, 208, 208)
    exact = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(out, exact / exact.sum(axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("arch", TARGETS)
def test_layernorm_normalises(arch: str) -> None:
    x, w, b, out = random(3, 208), random(208), -random(208), np.zeros((3, 208), np.float32)
    simulated("layernorm", arch, {"BLOCK": 128})[(3, 1, 1)](out, x, w, b, 208, 208, 1e-5)
    wide = x.astype(np.float64)
    exact = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * w + b
    np.testing.assert_allclose(out, exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("arch", TARGETS)
def test_matmul_multiplies(arch: str) -> None:
    m, n, k = 32, 48, 64
    a, b, c = random(m, k), random(k, n), np.zeros((m, n), np.float32)
    blocks = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16, "GROUP_M": 8}
    simulated("matmul", arch, blocks)[(6, 1, 1)](a, b, c, m, n, k, k, 1, n, 1, n, 1)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-4, atol=1e-5)


# --- buffer access ----------------------------------------------------------------------------------------


def shifted_source(up: bool, limited: bool, of: str = "fp32") -> tri.ASTSource:
    hints = [*DIVISIBLE, ["tt.pointer_range", 32]] if limited else DIVISIBLE
    signature = {
        **pointers("out", "x", of=of),
        **integers("first", "n"),
        "BLOCK": "constexpr",
        "UP": "constexpr",
    }
    return tri.ASTSource(shifted, signature, {"BLOCK": 256, "UP": up}, {(0,): hints, (1,): hints})


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize(("up", "limited"), [(True, True), (True, False), (False, True), (False, False)])
def test_buffers_serve_what_is_known_to_lie_within_them(arch: str, up: bool, limited: bool) -> None:
    text = tri.compile(shifted_source(up, limited), target=f"amd:{arch}").asm["amdgcn"]
    code = str(text).split(".section")[0]
    # arrays of any size need whole addresses; in a small one offsets may have any sign
    assert ("buffer_load" in code) == ("buffer_store" in code) == limited
    assert ("s_cbranch" not in code) == limited


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64])
def test_buffers_mask(arch: str, dtype: Any) -> None:
    n, names = 1000, {np.int8: "i8", np.float16: "fp16", np.float32: "fp32", np.float64: "fp64"}
    x, out = (random(n) * 20).astype(dtype), np.zeros(n, dtype)
    made = tri.compile(
        shifted_source(True, True, names[dtype]), target=f"sim:amd:{arch}", options={"num_warps": 1}
    )
    assert "amdg.raw_buffer_load" in str(made.asm["llir"])
    made[(4, 1, 1)](out, x, 0, n)
    np.testing.assert_array_equal(out, np.where(np.arange(n) % 3 != 1, x, np.array(7, dtype)))


def test_a_dump_can_be_compiled_on() -> None:
    from tri_core.compiler import IRSource

    first = compiled("vector_add", "gfx942")
    with tempfile.NamedTemporaryFile("w", suffix=".amdgcn") as file:
        file.write(first.asm["amdgcn"])
        file.flush()
        source = IRSource.from_file(file.name, first.metadata.signature)
        again = tri.compile(source, target="amd:gfx942")
    linked = again.asm["hsaco"]
    assert isinstance(linked, bytes)
    assert read_code_object(linked).kernels["vector_add"].code == record("vector_add", "gfx942").code
