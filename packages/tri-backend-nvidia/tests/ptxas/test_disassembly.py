"""SASS with the source lines that it came from."""

from __future__ import annotations

import pytest

from tri_backend_nvidia.architectures import target
from tri_backend_nvidia.disassembly import NVDISASM, read_sass
from tri_backend_nvidia.tools import find
from tri_core import knobs
from tri_core.api import TargetKey
from tri_core.compiler import IRSource
from tri_core.compiler import compile as compile_kernel
from tri_core.listings import Place
from tri_core.occupancy import occupancy

TEXT = """\
\t.section\t.text.k,"ax",@progbits
k:
\t//## File "/k.py", line 12
        /*0000*/                   LDC R1, c[0x0][0x28] ;
\t//## File "/lib.py", line 7 inlined at "/k.py", line 17
\t//## File "/k.py", line 17
        /*0010*/              @!P1 BRA `(.L_x_1) ;
.L_x_1:
        /*0020*/                   EXIT ;
\t.section\t.nv.info
        /*0030*/                   NOP ;
"""

ADD = """
module {
  tt.func public @add(%x: !tt.ptr<f32>) {
    %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32> loc("k.py":3:5)
    %s = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>> loc("k.py":4:5)
    %p = tt.addptr %s, %r : tensor<128x!tt.ptr<f32>>, tensor<128xi32> loc("k.py":4:5)
    %v = tt.load %p : tensor<128x!tt.ptr<f32>> loc("k.py":5:5)
    %w = arith.addf %v, %v : tensor<128xf32> loc("k.py":6:5)
    tt.store %p, %w : tensor<128x!tt.ptr<f32>> loc("k.py":7:5)
    tt.return loc("k.py":8:5)
  } loc("k.py":2:1)
} loc("k.py":1:1)
"""


def test_instructions_have_places_and_comments_are_gone() -> None:
    found = read_sass(TEXT)
    assert found.lines == (
        '\t.section\t.text.k,"ax",@progbits',
        "k:",
        "  /*0000*/  LDC R1, c[0x0][0x28] ;",
        "  /*0010*/  @!P1 BRA `(.L_x_1) ;",
        ".L_x_1:",
        "  /*0020*/  EXIT ;",
        "\t.section\t.nv.info",
        "  /*0030*/  NOP ;",
    )
    inlined = (Place("/lib.py", 7), Place("/k.py", 17))
    assert found.places == ((), (), (Place("/k.py", 12),), inlined, (), inlined, (), ())


@pytest.fixture
def with_lines():
    with knobs.scope(LINE_INFO=True):
        return compile_kernel(IRSource("ttir", ADD), "nvidia:sm_90a")


def test_ptx_has_lines_only_when_they_are_asked_for(with_lines) -> None:
    ptx = with_lines.asm["ptx"]
    without = compile_kernel(IRSource("ttir", ADD), "nvidia:sm_90a")
    assert ".loc\t1 5 5" in ptx
    assert ".file\t1" in ptx
    assert ".loc" not in without.asm["ptx"]
    assert "!dbg" not in without.asm["llir"]
    # ptxas would serialise matrix instructions
    assert ".target sm_90a\n" in ptx
    assert ".debug_info" not in ptx


def test_a_line_table_is_in_the_cubin_and_the_code_is_the_same(with_lines) -> None:
    without = compile_kernel(IRSource("ttir", ADD), "nvidia:sm_90a")
    assert b".debug_line" in with_lines.asm["cubin"]
    assert b".debug_line" not in without.asm["cubin"]
    assert with_lines.metadata.resources == without.metadata.resources


@pytest.mark.skipif(find(NVDISASM, knobs.get("NVIDIA_NVDISASM")) is None, reason="nvdisasm is not installed")
def test_nvdisasm_tells_the_lines(with_lines) -> None:
    found = read_sass(with_lines.asm["sass"])
    lines = {
        place.line
        for text, places in zip(found.lines, found.places, strict=True)
        for place in places
        if "LDG" in text or "STG" in text
    }
    assert lines == {5, 7}
    assert "//##" not in found.text


@pytest.mark.parametrize(
    ("arch", "warps", "registers", "shared", "blocks"),
    [
        # by the rules of the occupancy chapter of the CUDA best practices guide
        ("sm_80", 8, 32, 0, 8),
        ("sm_80", 8, 64, 48 * 1024, 3),
        ("sm_90a", 4, 128, 0, 4),
        ("sm_90a", 12, 168, 200 * 1024, 1),
        ("sm_86", 4, 40, 0, 12),
        ("sm_75", 4, 64, 32 * 1024, 2),
    ],
)
def test_occupancy(arch: str, warps: int, registers: int, shared: int, blocks: int) -> None:
    unit = target(TargetKey("nvidia", arch), None).spec.unit
    assert unit is not None
    assert occupancy(unit, warps=warps, registers=registers, shared=shared).blocks == blocks
