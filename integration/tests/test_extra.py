"""``tl.extra`` of the vendors and ``tl.target_info``: compiled, and read in the assembly."""

from __future__ import annotations

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.language.extra import libdevice
from tri_core.errors import CompilationError, Unsupported


def assembly(kernel, target: str, stage: str) -> str:
    source = tri.ASTSource(fn=kernel, signature={"x": "*fp32", "o": "*i64"}, constexprs={})
    return str(tri.compile(source, target=target).asm[stage])


@tri.jit
def on_cuda(x, o):
    tl.extra.cuda.gdc_wait()
    i = tl.arange(0, 128)
    tl.store(x + i, libdevice.erfinv(tl.load(x + i)))
    tl.store(o, tl.extra.cuda.globaltimer())
    tl.store(o + 1, tl.extra.cuda.smid())
    tl.store(o + 2, tl.extra.cuda.num_threads() + tl.extra.cuda.num_warps())
    tl.extra.cuda.gdc_launch_dependents()


def test_cuda():
    text = assembly(on_cuda, "nvidia:sm_90a", "ptx")
    for word in ("%globaltimer", "%smid", "griddepcontrol.wait", "griddepcontrol.launch_dependents"):
        assert word in text, word
    assert "132" in text


def test_libdevice_is_the_vendors_own():
    text = assembly(on_cuda, "nvidia:sm_90a", "ttir")
    assert "__nv_erfinvf" in text


def test_old_chips_refuse_grid_dependencies():
    with pytest.raises(Unsupported, match="does not order grids"):
        assembly(on_cuda, "nvidia:sm_80", "ptx")


@tri.jit
def on_hip(x, o):
    tl.store(o, tl.extra.hip.memrealtime())
    tl.store(o + 1, tl.extra.hip.smid())
    tl.store(o + 2, tl.extra.hip.num_threads() + tl.extra.hip.num_warps())


@pytest.mark.parametrize(
    ("arch", "words"),
    [("gfx942", ("s_memrealtime", "s_getreg_b32")), ("gfx1201", ("s_sendmsg_rtn_b64", "s_getreg_b32"))],
)
def test_hip(arch, words):
    text = assembly(on_hip, f"amd:{arch}", "amdgcn")
    assert all(word in text for word in words)


@tri.jit
def assembles(x, o):
    tl.store(o, tl.inline_asm_elementwise("nop", "=r", [], tl.int32, False, 1))


@pytest.mark.parametrize("target", ["amd:gfx942", "intel:opencl-cpu"])
def test_targets_without_assembly(target):
    with pytest.raises(Unsupported, match="inline assembly on") as caught:
        assembly(assembles, target, "llir")
    assert "test_extra.py" in str(caught.value)


def test_vendors_functions_elsewhere():
    with pytest.raises(Unsupported, match=r"tl\.extra\.cuda\.gdc_wait on cpu") as caught, tri.target("cpu"):
        on_cuda[(1,)](np.ones(128, np.float32), np.ones(8, np.int64))
    assert "test_extra.py" in str(caught.value)


@tri.jit
def unknown(o):
    tl.store(o, tl.extra.nobody.f())


def test_unknown_vendor():
    with pytest.raises(CompilationError, match="nobody"), tri.target("cpu"):
        unknown[(1,)](np.ones(1, np.int64))


@tri.jit
def asks(x, o):
    if tl.target_info.is_cuda():
        tl.store(o, 1 + tl.target_info.cuda_capability_geq(9) + tl.target_info.cuda_capability_geq(9, 1))
    elif tl.target_info.is_hip():
        tl.store(o, 10 + tl.target_info.is_hip_cdna3() + tl.target_info.is_hip_gfx1250())
    else:
        tl.store(o, 20)
    tl.static_assert(tl.target_info.current_target().backend != "")


@pytest.mark.parametrize(
    ("target", "constant"), [("nvidia:sm_90a", 2), ("nvidia:sm_80", 1), ("amd:gfx942", 11), ("cpu", 20)]
)
def test_target_info(target, constant):
    assert f"arith.constant {constant} : i64" in assembly(asks, target, "ttir").replace("dense<", "")


@tri.jit
def asks_wrongly(x, o):
    if tl.target_info.is_hip_cdna33():
        tl.store(o, 1)


def test_a_misspelt_question_is_an_error():
    with pytest.raises(CompilationError, match=r"no attribute 'is_hip_cdna33'") as caught:
        assembly(asks_wrongly, "cpu", "ttir")
    assert "did you mean is_hip_cdna3" in str(caught.value.remedy)
    assert caught.value.location is not None
    with pytest.raises(AttributeError, match="did you mean is_cuda"):
        _ = tl.target_info.is_cudaa


@tri.jit
def special(x, o):
    tl.store(x, libdevice.erfinv(tl.load(x)))


@pytest.mark.parametrize("target", ["intel:dg2", "intel:xe-lp"])
def test_a_function_computed_in_fp64_is_refused_where_there_is_none(target):
    with pytest.raises(Unsupported, match=r"erfinv.*fp64") as caught:
        assembly(special, target, "spirv")
    assert caught.value.location is not None
    assert caught.value.remedy


@tri.jit
def rounds(x, o):
    y = tl.load(x)
    tl.store(x, libdevice.fma_ru(y, y, y))


@tri.jit
def goes_through_fp64(x, o):
    i = tl.arange(0, 128)
    tl.store(x + i, libdevice.sinpi(tl.load(x + i)))


def test_fp64_is_refused_where_there_is_none():
    with pytest.raises(Unsupported, match="computed in fp64, which intel:dg2 lacks") as caught:
        assembly(goes_through_fp64, "intel:dg2", "spirv")
    assert caught.value.location is not None
    assert caught.value.remedy


@tri.jit
def assembles_for_amd(x, o):
    i = tl.arange(0, 128)
    y = tl.inline_asm_elementwise("v_mov_b32 $0, $1", "=v,v", [tl.load(x + i)], tl.float32, True, 1)
    tl.store(x + i, y)


def test_inline_assembly_on_amd_is_refused():
    with pytest.raises(Unsupported, match="inline assembly on amd:gfx942") as caught:
        assembly(assembles_for_amd, "amd:gfx942", "llir")
    assert caught.value.location is not None
    assert caught.value.location.line == assembles_for_amd.fn.__code__.co_firstlineno + 3
    assert caught.value.remedy
