"""What comes out of LLVM and the linker, read back: header, descriptor, metadata, code."""

from __future__ import annotations

import functools
import re
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from amd_support import TARGETS, Made, compile_body, compile_text, context_of
from tri_backend_amd import tools
from tri_backend_amd.architectures import ARCHITECTURES, target
from tri_backend_amd.dialect import BufferLoadOp, BufferStoreOp, MakeBufferOp
from tri_backend_amd.dialect.buffers import FORWARD, address_bits, descriptor_flags
from tri_backend_amd.hsaco import KernelDescriptor, read_code_object
from tri_backend_amd.hsaco.disassembly import disassemble
from tri_backend_amd.hsaco.stages import assembly_and_object_stages
from tri_backend_amd.knobs import KNOBS
from tri_backend_amd.lowering import AmdPrimitives
from tri_backend_amd.options import AmdOptions
from tri_core import knobs
from tri_core.api import TargetKey, ToolchainError
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Access, Builder

SHARED = 1024
knobs.register(KNOBS)


def body(b: Builder, hw: AmdPrimitives, args: Sequence[ir.Value]) -> None:
    """Every word of the primitives that needs an instruction of its own."""
    thread = hw.thread_id(b)
    value = b.add(b.mul(thread, b.int_(7)), hw.program_id(b, 1))
    for mask in (1, 2, 4, 8, 16, 32):
        if mask < hw.threads_per_warp:
            value = b.add(value, hw.shuffle_xor(b, value, mask))
    value = b.add(hw.shuffle_idx(b, value, b.xor(hw.lane_id(b, thread), b.int_(2))), hw.warp_id(b, thread))
    base = hw.shared_base(b, SHARED)
    hw.store_shared(b, b.gep(base, b.and_(thread, b.int_(127)), b.i32), value, None, 4)
    hw.barrier(b)
    value = hw.load_shared(
        b, b.gep(base, b.xor(b.and_(thread, b.int_(127)), b.int_(127)), b.i32), b.i32, None, 4
    )
    place = b.gep(args[0], thread, b.i32)
    hw.store_global(b, place, value, b.cmp("slt", thread, args[2]), Access(4))
    buffers(b, hw, args, thread)


def buffers(b: Builder, hw: AmdPrimitives, args: Sequence[ir.Value], thread: ir.Value) -> None:
    def number(value: int) -> ir.Attribute:
        return ir.IntegerAttr.get(b.i32, value)

    family = ARCHITECTURES[hw.target.key.arch].family
    facts = {
        "flags": number(descriptor_flags(family)),
        "address_bits": number(address_bits(family)),
        "records": ir.IntegerAttr.get(b.i64, FORWARD.size),
    }
    buffer = MakeBufferOp.build([args[1]], [b.ptr(8)], facts)[0]
    inside = b.cmp("slt", thread, hw.num_programs(b, 0))
    offset = b.select(inside, b.mul(thread, b.int_(16)), b.int_(FORWARD.masked - (1 << 32)))
    same = b.int_(0)
    loaded = BufferLoadOp.build([buffer, offset, same], [b.vector_type(b.f32, 4)], {"cache": number(0)})[0]
    BufferStoreOp.build([loaded, buffer, offset, same], [], {"cache": number(0)})


@functools.cache
def made(arch: str) -> Made:
    return compile_body(arch, body)


@pytest.mark.parametrize("arch", TARGETS)
def test_the_header_names_the_processor(arch: str) -> None:
    code = made(arch).code
    assert code.processor == arch
    assert code.target_id == f"amdgcn-amd-amdhsa--{arch}"
    assert code.abi_version == 3  # code object version 5


@pytest.mark.parametrize("arch", TARGETS)
def test_the_descriptor_says_what_the_kernel_needs(arch: str) -> None:
    descriptor = made(arch).code.kernels["k"].descriptor
    wave = target(TargetKey("amd", arch), None).spec.threads_per_warp[0]
    assert descriptor.group_segment == SHARED
    assert descriptor.private_segment == 0
    assert descriptor.wavefront == wave
    # two pointers, an i32, then the implicit arguments, of which the first holds the number of work groups
    assert descriptor.kernarg >= 24 + 4
    assert descriptor.entry > 0


@pytest.mark.parametrize("arch", TARGETS)
def test_the_metadata_agrees(arch: str) -> None:
    kernel = made(arch).code.kernels["k"]
    wave = target(TargetKey("amd", arch), None).spec.threads_per_warp[0]
    facts = kernel.metadata
    assert facts[".symbol"] == "k.kd"
    assert facts[".max_flat_workgroup_size"] == 4 * wave
    assert facts[".wavefront_size"] == wave
    assert facts[".group_segment_fixed_size"] == SHARED
    explicit = [a for a in facts[".args"] if not a[".value_kind"].startswith("hidden")]
    assert [(a[".offset"], a[".size"], a[".value_kind"]) for a in explicit] == [
        (0, 8, "global_buffer"),
        (8, 8, "global_buffer"),
        (16, 4, "by_value"),
    ]
    hidden = {a[".value_kind"]: a[".offset"] for a in facts[".args"] if a[".value_kind"].startswith("hidden")}
    assert hidden["hidden_block_count_x"] == 24
    assert made(arch).resources["registers"] == facts[".vgpr_count"]
    assert made(arch).resources["spills"] == 0


@pytest.mark.parametrize("arch", TARGETS)
def test_the_linked_code_is_the_assembly(arch: str) -> None:
    """Another LLVM assembles the text; its code must be the bytes that lie in the linked object."""
    amdgcn, hsaco = assembly_and_object_stages()
    del amdgcn  # so that no object is waiting for this text
    again = read_code_object(hsaco.run(made(arch).assembly, context_of(arch)).artifact).kernels["k"]
    first = made(arch).code.kernels["k"]
    assert len(first.code) > 200
    assert again.code == first.code
    assert again.descriptor == first.descriptor
    assert again.metadata == first.metadata


RDNA = ("row_xmask", "v_permlanex16_b32")
CDNA = ("ds_swizzle_b32", "row_ror")
SWAPS = ("v_permlane16_swap_b32", "row_ror")


@pytest.mark.parametrize("arch", TARGETS)
def test_the_instructions_are_those_of_the_processor(arch: str) -> None:
    text = made(arch).assembly
    gfx12, rdna = arch.startswith("gfx12"), arch.startswith("gfx1")
    for word in RDNA if rdna else SWAPS if arch == "gfx950" else CDNA:
        assert word in text
    for word in CDNA[:1] if rdna else RDNA:
        assert word not in text
    assert ("s_barrier_signal" if gfx12 else "s_barrier") in text
    for word in ("ds_bpermute_b32", "v_readfirstlane_b32", "quad_perm"):
        assert word in text
    assert ("buffer_load_b128" if rdna else "buffer_load_dwordx4") in text
    assert ("buffer_store_b128" if rdna else "buffer_store_dwordx4") in text
    assert ("global_store_b32" if rdna else "global_store_dword") in text
    # a masked buffer access has no branch around it
    load = text.index("buffer_load_")
    assert "s_cbranch" not in text[text.rindex("v_cndmask", 0, load) : load]


#: processors whose code an older disassembler reads as another's, of which theirs is an extension
READ_AS = {"gfx950": "gfx942"}


def _disassembled(data: bytes, arch: str) -> str | None:
    """The code by the disassembler found here; None when there is none, or one that does not know it all."""
    try:
        with knobs.scope(AMD_OBJDUMP=""):
            text = disassemble(data)
    except ToolchainError:
        if arch not in READ_AS:
            return None
        text = _disassembled_as(READ_AS[arch], data)
    return text if "s_endpgm" in text and "unknown" not in text else None


def _disassembled_as(arch: str, data: bytes) -> str:
    with tempfile.NamedTemporaryFile(suffix=".hsaco") as file:
        file.write(data)
        file.flush()
        try:
            command = tools.find(tools.DISASSEMBLER)
            return tools.run(tools.DISASSEMBLER, command, ("-d", f"--mcpu={arch}", file.name))
        except ToolchainError:
            return ""


@pytest.mark.parametrize("arch", TARGETS)
def test_the_disassembly_holds_the_instructions(arch: str) -> None:
    text = _disassembled(made(arch).data, arch)
    if text is None:
        pytest.skip(f"no llvm-objdump here knows {arch}; the assembled text is compared instead")
    for word in ("ds_bpermute_b32", "v_readfirstlane_b32", "s_barrier", "buffer_load", "buffer_store"):
        assert word in text


def test_waves_per_eu_reaches_llvm() -> None:
    made = compile_body("gfx942", body, AmdOptions(waves_per_eu=2))
    assert '"amdgpu-waves-per-eu"="2,2"' in made.llvm_ir


# --- refusals -------------------------------------------------------------------------------------------


def test_assembly_of_another_processor_is_refused() -> None:
    _, hsaco = assembly_and_object_stages()
    with pytest.raises(ToolchainError, match="gfx942"):
        hsaco.run(made("gfx942").assembly, context_of("gfx90a"))


def test_an_object_of_another_processor_is_refused() -> None:
    amdgcn, hsaco = assembly_and_object_stages()
    text = amdgcn.run(made("gfx942").llvm_ir, context_of("gfx942")).artifact
    with pytest.raises(ToolchainError, match="is for gfx942, the target is amd:gfx950"):
        hsaco.run(text, context_of("gfx950"))


def test_edited_assembly_is_assembled() -> None:
    _, hsaco = assembly_and_object_stages()
    edited = made("gfx942").assembly.replace("\ts_endpgm", "\ts_nop 5\n\ts_endpgm", 1)
    code = read_code_object(hsaco.run(edited, context_of("gfx942")).artifact).kernels["k"].code
    assert struct.pack("<I", 0xBF800005) in code
    assert struct.pack("<I", 0xBF800005) not in made("gfx942").code.kernels["k"].code


def test_wrong_assembly_is_reported() -> None:
    _, hsaco = assembly_and_object_stages()
    with pytest.raises(ToolchainError, match="nosuchinstruction") as caught:
        hsaco.run(made("gfx942").assembly + "\n\tnosuchinstruction\n", context_of("gfx942"))
    assert caught.value.tool == "clang"


@pytest.mark.parametrize("cut", [0, 10, 64, 1000, -1])
def test_a_truncated_object_is_refused(cut: int) -> None:
    with pytest.raises(ToolchainError, match="not a whole AMD code object"):
        read_code_object(made("gfx942").data[:cut])


def test_an_elf_of_the_host_is_refused() -> None:
    with pytest.raises(ToolchainError, match=r"EM_X86_64|not a whole"):
        read_code_object(Path("/proc/self/exe").read_bytes()[: 1 << 20])


def test_an_unlinked_object_is_refused() -> None:
    from tri_core.api import CodegenRequest
    from tri_core.codegen import service

    request = CodegenRequest(
        llvm_ir=made("gfx942").llvm_ir, triple="amdgcn-amd-amdhsa", cpu="gfx942", emit=("object",)
    )
    with pytest.raises(ToolchainError, match="ET_REL"):
        read_code_object(service().compile(request).objects["object"])


def test_the_descriptor_reader_knows_every_field() -> None:
    raw = struct.pack("<III4xq20xIIIHH4x", 1, 2, 3, -256, 30, 10, 20, 1 << 10, 7)
    assert len(raw) == 64
    assert KernelDescriptor.unpack(raw) == KernelDescriptor(1, 2, 3, -256, (10, 20, 30), 32)


def test_a_call_of_a_device_library_is_refused() -> None:
    from tri_core.api import Unsupported

    def calls(b: Builder, hw: AmdPrimitives, args: Sequence[ir.Value]) -> None:
        hw.extern(b, "ocml", "__ocml_exp_f32", [b.float_(1.0)], b.f32)

    with pytest.raises(Unsupported, match="__ocml_exp_f32"):
        compile_body("gfx942", calls)


def test_an_undefined_symbol_does_not_link() -> None:
    text = made("gfx942").llvm_ir.replace("ret void", "call void @nowhere()\n  ret void", 1)
    with pytest.raises(ToolchainError, match="nowhere"):
        compile_text("gfx942", text + "\ndeclare void @nowhere()\n")


@pytest.mark.parametrize("arch", ["gfx1201", "gfx1250"])
def test_a_base_is_cut_where_a_size_begins_right_above_it(arch: str) -> None:
    """Else what lies before an address near zero would make an empty buffer a large one."""
    assert ("llvm.ptrmask" in made(arch).llvm_ir) == (arch == "gfx1250")
    if arch == "gfx1250":
        assert re.search(rf"ptrmask[^\n]*i64 {(1 << 57) - 1}\)", made(arch).llvm_ir)
