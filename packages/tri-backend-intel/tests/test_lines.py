"""Source lines in SPIR-V: markers in LLVM IR, ``OpLine`` in the binary, places in its text."""

from __future__ import annotations

import re

import numpy as np
import pytest

from intel_support import random, runtime
from tri_backend_intel.spirv.disassembly import disassemble, find_disassembler, read_disassembly
from tri_backend_intel.spirv.lines import with_lines, with_markers
from tri_backend_intel.spirv.reader import instructions_of, string_of
from tri_core import knobs
from tri_core.api import Place
from tri_core.compiler import CompiledKernel, IRSource
from tri_core.compiler import compile as compile_kernel

LLVM = """\
define spir_kernel void @k(ptr addrspace(1) %0, i1 %1) !dbg !3 {
  %3 = add i32 1, 2, !dbg !6
  %4 = add i32 %3, 2, !dbg !6
  br i1 %1, label %5, label %6, !dbg !7

5:
  %x = phi i32 [ 1, %2 ], !dbg !6
  store i32 %x, ptr addrspace(1) %0, align 4, !dbg !7
  %y = add i32 1, 2
  br label %6, !dbg !7

6:
  ret void, !dbg !7
}

!llvm.dbg.cu = !{!0}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1)
!1 = !DIFile(filename: "k.py", directory: "")
!3 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 1, unit: !0)
!6 = !DILocation(line: 7, column: 2, scope: !3)
!7 = !DILocation(line: 8, column: 3, scope: !3)
"""

DOUBLE = """
module {
  tt.func public @double(%x: !tt.ptr<f32>) {
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32> loc("k.py":3:5)
    %s = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>> loc("k.py":4:5)
    %p = tt.addptr %s, %r : tensor<64x!tt.ptr<f32>>, tensor<64xi32> loc("k.py":4:5)
    %v = tt.load %p : tensor<64x!tt.ptr<f32>> loc("k.py":5:5)
    %w = arith.addf %v, %v : tensor<64xf32> loc("k.py":6:5)
    tt.store %p, %w : tensor<64x!tt.ptr<f32>> loc("k.py":7:5)
    tt.return loc("k.py":8:5)
  } loc("k.py":2:1)
} loc("k.py":1:1)
"""
_LOAD, _STORE, _LINE, _STRING, _NAME, _FUNCTION = 61, 62, 8, 7, 5, 54


def compiled(lines: bool, target: str = "intel:opencl-cpu") -> CompiledKernel:
    with knobs.scope(LINE_INFO=lines):
        return compile_kernel(IRSource("ttir", DOUBLE), target)


def test_a_marker_stands_before_each_change_of_line() -> None:
    text, places = with_markers(LLVM)
    assert places == (Place("", 0), Place("k.py", 7, 2), Place("k.py", 8, 3))
    body = [line.strip() for line in text.split("\n") if line.startswith(("  ", "5", "6"))]
    assert [re.sub(r"call spir_func void @tri_line_(\d)\(\)", r"-> \1", line)[:12] for line in body] == [
        "-> 1",
        "%3 = add i32",
        "%4 = add i32",
        "br i1 %1, la",
        "5:",
        "%x = phi i32",
        "-> 2",
        "store i32 %x",
        "-> 0",
        "%y = add i32",
        "br label %6",
        "6:",
        "ret void",
    ]
    assert text.count("declare spir_func void @tri_line_") == 3
    assert "!dbg" not in text


def test_the_binary_has_lines_and_the_same_code() -> None:
    data, plain = compiled(True).image.data, compiled(False).image.data
    with_, without = list(instructions_of(data)), list(instructions_of(plain))
    files = {operands[0]: string_of(operands[1:]) for opcode, operands in with_ if opcode == _STRING}
    assert set(files.values()) == {"k.py"}
    line = 0
    lines: dict[int, set[int]] = {_LOAD: set(), _STORE: set()}
    for opcode, operands in with_:
        if opcode == _LINE:
            line = operands[1]
        elif opcode in lines and line:
            lines[opcode].add(line)
    assert 5 in lines[_LOAD]
    assert lines[_STORE] == {7}
    marks = (_LINE, _STRING, 317)
    assert [o for o, _ in with_ if o not in marks] == [o for o, _ in without]
    assert not any(string_of(operands[1:]).startswith("tri_line") for o, operands in with_ if o == _NAME)
    assert sum(o == _FUNCTION for o, _ in with_) == sum(o == _FUNCTION for o, _ in without)


def test_a_module_without_markers_stays_as_it_is() -> None:
    plain = compiled(False).image.data
    assert with_lines(plain, (Place("", 0),)) == plain


def test_a_kernel_with_lines_runs() -> None:
    device = runtime()
    image = compiled(True).image
    x = random(64, "f4")
    expected = x + x
    device.launcher(device.load(image, device.current_device()), image)((1, 1, 1), None, [x.ctypes.data])
    np.testing.assert_array_equal(x, expected)


def test_the_text_knows_its_lines() -> None:
    text = """\
         %1 = OpString "/k.py"
         %2 = OpLabel
              OpLine %1 12 3
         %3 = OpIAdd %uint %4 %5
         %6 = OpIMul %uint %4 %5
              OpNoLine
         %7 = OpIAdd %uint %4 %5
              OpLine %1 13 3
              OpBranch %8
         %8 = OpLabel
"""
    found = read_disassembly(text)
    assert [line.split()[-4:] for line in found.lines if "OpLine" in line or "OpNoLine" in line] == []
    assert [[p.line for p in places] for places in found.places] == [[], [], [12], [12], [], [13], []]


@pytest.mark.skipif(find_disassembler() is None, reason="spirv-dis is not installed")
def test_spirv_dis_reads_what_is_made() -> None:
    found = read_disassembly(disassemble(compiled(True, "intel:pvc").image.data))
    stores = {
        p.line
        for text, places in zip(found.lines, found.places, strict=True)
        for p in places
        if "OpStore" in text
    }
    assert stores == {7}
