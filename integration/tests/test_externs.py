"""Functions of a program's own libraries: linked on every target, or refused by name; their meanings in simulators."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.compat.triton import core
from tri_core import api
from tri_core.extern_libraries import register_meaning

_FLOATS = tl.dtype("fp32")
_IR = """
define float @triple_plus(float %x, float %y) {
  %t = call float @helper(float %x)
  %r = fadd float %t, %y
  ret float %r
}
define internal float @helper(float %x) {
  %t = fmul float %x, 3.0
  ret float %t
}
define i64 @unused(i64 %x) {
  ret i64 %x
}
"""
_PTX = """.version 7.0
.target sm_70
.address_size 64
.visible .func (.param .b32 result) triple_plus(.param .b32 a, .param .b32 b)
{
    .reg .f32 %f<5>;
    ld.param.f32 %f1, [a];
    ld.param.f32 %f2, [b];
    fma.rn.f32 %f3, %f1, 0f40400000, %f2;
    st.param.f32 [result], %f3;
    ret;
}
"""


@core.extern
def triple_plus(x: Any, y: Any, _semantic: Any = None) -> Any:
    symbols = {(_FLOATS, _FLOATS): ("triple_plus", _FLOATS)}
    return core.extern_elementwise("mine", "", [x, y], symbols, is_pure=True, _semantic=_semantic)


@core.extern
def nameless(x: Any, y: Any, _semantic: Any = None) -> Any:
    symbols = {(_FLOATS, _FLOATS): ("triple_plus", _FLOATS)}
    return core.extern_elementwise("", "", [x, y], symbols, is_pure=False, _semantic=_semantic)


@core.extern
def elsewhere(x: Any, y: Any, _semantic: Any = None) -> Any:
    symbols = {(_FLOATS, _FLOATS): ("triple_plus", _FLOATS)}
    return core.extern_elementwise(
        "mine", "/somewhere.bc", [x, y], symbols, is_pure=True, _semantic=_semantic
    )


def _kernel(function: Any) -> Any:
    @tri.jit
    def apply(x_ptr: Any, y_ptr: Any, out_ptr: Any, n: Any, BLOCK: tl.constexpr) -> None:
        places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = places < n
        x = tl.load(x_ptr + places, inside)
        y = tl.load(y_ptr)  # a scalar: it broadcasts
        tl.store(out_ptr + places, function(x, y), inside)

    return apply


def _bitcode(folder: Path, text: str = _IR, name: str = "mine.bc") -> Path:
    import llvmlite.binding as llvm

    with llvm.create_context() as context, llvm.parse_assembly(text, context=context) as module:
        path = folder / name
        path.write_bytes(module.as_bitcode())
        return path


def _shared_object(folder: Path) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    command = [compiler] if compiler else [sys.executable, "-m", "ziglang", "cc"]
    source = folder / "mine.c"
    source.write_text("float triple_plus(float x, float y) { return x * 3 + y; }\n")
    path = folder / "mine.so"
    subprocess.run([*command, "-shared", "-fPIC", "-o", str(path), str(source)], check=True)
    return path


def _run(function: Any, **options: Any) -> None:
    x, y, out = np.arange(100, dtype=np.float32), np.full(1, 0.5, np.float32), np.zeros(100, np.float32)
    _kernel(function)[(2,)](x, y, out, 100, BLOCK=64, **options)
    np.testing.assert_array_equal(out, x * 3 + 0.5)


@pytest.mark.parametrize("function", [triple_plus, nameless])
@pytest.mark.parametrize("make", [_bitcode, _shared_object])
def test_bitcode_and_shared_objects_on_the_cpu(tmp_path: Path, function: Any, make: Any) -> None:
    with tri.target("cpu"):
        _run(function, extern_libs={"mine": str(make(tmp_path))})


def test_other_content_is_another_kernel(tmp_path: Path) -> None:
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    with tri.target("cpu"):
        for factor in ("3.0", "5.0"):
            path = _bitcode(tmp_path, _IR.replace("3.0", factor), f"{factor}.bc")
            path.replace(tmp_path / "mine.bc")
            kernel = _kernel(triple_plus)
            kernel[(1,)](
                x, np.zeros(1, np.float32), out, 64, BLOCK=64, extern_libs={"mine": tmp_path / "mine.bc"}
            )
            assert out[0] == float(factor)


def test_options_that_are_of_another_file_are_refused(tmp_path: Path) -> None:
    path = _bitcode(tmp_path)
    made = api.CommonOptions(extern_libs={"mine": str(path)})  # type: ignore[arg-type]
    assert api.CommonOptions.parse(made.to_json()) == made
    _bitcode(tmp_path, _IR.replace("3.0", "7.125"))
    with pytest.raises(api.OptionError, match="is not the file that the options are of"):
        api.CommonOptions.parse(made.to_json())
    with pytest.raises(api.OptionError, match="cannot be read"):
        api.CommonOptions.parse({"extern_libs": {"mine": str(tmp_path / "none.bc")}})
    assert api.CommonOptions.parse({"extern_libs": None}) == api.CommonOptions()
    with pytest.raises(api.OptionError, match="a name and a path are expected"):
        api.CommonOptions.parse({"extern_libs": [3]})


def test_what_a_library_lacks_is_named(tmp_path: Path) -> None:
    path = _bitcode(tmp_path, "define float @other(float %x) {\n  ret float %x\n}\n")
    with tri.target("cpu"):
        with pytest.raises(api.TriError, match="triple_plus"):
            _run(triple_plus, extern_libs={"mine": str(path)})
        with pytest.raises(api.TriError, match="triple_plus"):
            _run(triple_plus)
        with pytest.raises(api.CompilationError, match="is not among the kernel's libraries"):
            _run(elsewhere)
        text = tmp_path / "text.bc"
        text.write_text("nothing")
        with pytest.raises(
            api.Unsupported, match=r"is not what cpu.* links: LLVM bitcode or a shared object"
        ):
            _run(triple_plus, extern_libs={"mine": str(text)})


def _compiled(target: str, function: Any = triple_plus, **options: Any) -> Any:
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}
    source = tri.ASTSource(fn=_kernel(function), signature=signature, constexprs={"BLOCK": 128})
    return tri.compile(source, target=target, options=options)


@pytest.mark.parametrize(
    "target", ["nvidia:sm_80", "nvidia:sm_90a", "amd:gfx942", "amd:gfx1100", "intel:pvc"]
)
@pytest.mark.parametrize("function", [triple_plus, nameless])
def test_bitcode_is_linked(tmp_path: Path, target: str, function: Any) -> None:
    compiled = _compiled(target, function, extern_libs={"mine": str(_bitcode(tmp_path))})
    for name in ("ptx", "amdgcn", "spvasm"):
        if name in compiled.asm:
            assert "unused" not in str(compiled.asm[name])


def test_ptx_is_linked_and_assembled(tmp_path: Path) -> None:
    path = tmp_path / "mine.ptx"
    path.write_text(_PTX)
    compiled = _compiled("nvidia:sm_80", extern_libs={"mine": str(path)})
    assert compiled.asm["ptx"].count("triple_plus(") == 1
    assert ".visible .func" in compiled.asm["ptx"]


@pytest.mark.parametrize("target", ["nvidia:sm_80", "amd:gfx942"])
def test_a_function_of_no_library_is_named(target: str) -> None:
    with pytest.raises(api.TriError, match="triple_plus"):
        _compiled(target)


@pytest.mark.parametrize("target", ["amd:gfx942", "intel:pvc"])
def test_other_kinds_of_libraries_are_refused_by_name(tmp_path: Path, target: str) -> None:
    path = tmp_path / "mine.ptx"
    path.write_text(_PTX)
    with pytest.raises(api.Unsupported, match=r"is not what .* links: LLVM bitcode"):
        _compiled(target, extern_libs={"mine": str(path)})


@pytest.mark.parametrize("target", ["sim:nvidia:sm_80", "sim:amd:gfx942", "sim:intel:pvc"])
def test_simulators_call_the_registered_meaning(
    tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tri_core import extern_libraries

    monkeypatch.setattr(extern_libraries, "_meanings", {})
    path = str(_bitcode(tmp_path))
    with tri.target(target):
        with pytest.raises(api.Unsupported, match="does not know the function triple_plus"):
            _run(triple_plus, extern_libs={"mine": path})
        register_meaning("triple_plus", lambda x, y: x * np.float32(3) + y)
        _run(triple_plus, extern_libs={"mine": path})
