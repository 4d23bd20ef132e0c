"""Texts of stages and the source lines that their lines came from."""

from __future__ import annotations

import pytest

from tri_core.listings import Inlining, Listing, Place, read_listing

MODULE = """\
#blocked = #ttg.blocked<{order = [0]}>
#loc1 = loc("/k.py":12:1)
#loc3 = loc("top"(#loc9))
module attributes {ttg.shared = 32 : i32} {
  tt.func public @k(%x: !tt.ptr<f32> loc("x"(#loc1)), %n: i32 loc("n)"(#loc1))) {
    %top = "tt.reduce"(%x) ({
    ^bb0(%a: f32 loc(callsite(#loc4 at #loc3))):
      %b = arith.maxnumf %a, %a : f32 loc(#loc5)
    }) : (tensor<8xf32>) -> f32 loc(callsite(#loc6 at #loc3))
    %both = arith.addi %n, %n : i32 loc(fused<"cse">["/k.py":20:3, #loc1])
    tt.return loc(#loc)
  } loc(#loc1)
} loc(#loc)
#loc = loc(unknown)
#loc4 = loc("/lib.py":7:2)
#loc5 = loc(callsite(#loc4 at #loc3))
#loc6 = loc("/lib.py":9:2)
#loc9 = loc("/k.py":17:11)
"""

LLVM = """\
define void @k(ptr %0) !dbg !3 {
  %2 = add i32 1, 2, !dbg !6, !range !9
  %3 = add i32 1, 2
  ret void, !dbg !7
}

!llvm.dbg.cu = !{!0}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "a, line: 5")
!1 = !DIFile(filename: "k.py", directory: "/a\\\\20b")
!2 = !DIFile(filename: "/lib.py", directory: "")
!3 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 12, unit: !0)
!4 = distinct !DILexicalBlockFile(scope: !3, file: !2, discriminator: 0)
!5 = distinct !DILexicalBlock(scope: !4, line: 3)
!6 = !DILocation(line: 7, column: 2, scope: !5, inlinedAt: !8)
!7 = !DILocation(line: 0, scope: !3)
!8 = !DILocation(line: 17, column: 11, scope: !3)
""".replace("\\\\", "\\")

PTX = """\
.visible .entry k(
)
{
	.loc	1 12 0
$L__func_begin0:
	mov.u32 	%r1, %tid.x;
	// a comment
	.loc	2 7 2, function_name $L__info_string0, inlined_at 1 17 11
	@%p1 bra 	$L__BB0_2;
	.loc	2 0 2
	add.s32 	%r2, %r1, 1;
}
	add.s32 	%r2, %r1, 1;
	.file	1 "/k.py"
	.file	2 "/lib.py"
"""

GNU = """\
	.file	1 "/dir" "k.py" md5 0x00
k:
	.loc	1 12 1 prologue_end             ; k.py:12:1
	v_mov_b32 v0, 0
.Ltmp0:
	s_endpgm
.Lfunc_end0:
	s_nop 0
"""


def _at(listing: Listing, part: str) -> list[tuple[str, int, int]]:
    """The places of the line that contains ``part``, which is one."""
    (found,) = [p for line, p in zip(listing.lines, listing.places, strict=True) if part in line]
    return [(p.file, p.line, p.column) for p in found]


def test_an_mlir_module() -> None:
    found = read_listing(MODULE)
    assert "loc(" not in found.text
    assert found.lines[0] == "#blocked = #ttg.blocked<{order = [0]}>"
    assert "  tt.func public @k(%x: !tt.ptr<f32>, %n: i32) {" in found.lines
    assert _at(found, "arith.maxnumf") == [("/lib.py", 7, 2), ("/k.py", 17, 11)]
    assert _at(found, "arith.addi") == [("/k.py", 20, 3), ("/k.py", 12, 1)]
    assert _at(found, "tt.return") == []


def test_a_line_that_opens_a_region_has_the_place_of_its_op() -> None:
    found = read_listing(MODULE)
    assert _at(found, '"tt.reduce"') == [("/lib.py", 9, 2), ("/k.py", 17, 11)]
    assert _at(found, "tt.func") == [("/k.py", 12, 1)]
    assert _at(found, "module attributes") == []


def test_regions_one_after_the_other() -> None:
    text = 'module {\n  %0 = scf.if %c {\n  } else {\n  } loc("a.py":3:1)\n} loc(unknown)'
    assert [len(p) for p in read_listing(text).places] == [0, 1, 1, 1, 0]


def test_llvm_ir() -> None:
    found = read_listing(LLVM)
    assert _at(found, "%2 = add") == [("/lib.py", 7, 2), ("/a b/k.py", 17, 11)]
    assert _at(found, "define") == [("/a b/k.py", 12, 0)]
    assert _at(found, "%3 = add") == []
    assert _at(found, "ret void") == []
    assert "!dbg" not in found.text
    assert "!DI" not in found.text
    assert "!llvm.dbg.cu" not in found.text
    assert "  %2 = add i32 1, 2, !range !9" in found.lines


def test_ptx() -> None:
    found = read_listing(PTX)
    assert found.text == PTX.rstrip("\n")
    assert _at(found, "mov.u32") == [("/k.py", 12, 0)]
    assert _at(found, "bra") == [("/lib.py", 7, 2), ("/k.py", 17, 11)]
    assert _at(found, "// a comment") == []
    assert _at(found, "$L__func_begin0:") == []
    assert [len(p) for p in found.places[-5:]] == [0, 0, 0, 0, 0]


def test_gnu_assembly() -> None:
    found = read_listing(GNU)
    assert _at(found, "v_mov_b32") == [("/dir/k.py", 12, 1)]
    assert _at(found, "s_endpgm") == [("/dir/k.py", 12, 1)]
    assert _at(found, ".Ltmp0") == []
    assert _at(found, "s_nop") == []


def test_a_text_of_another_kind_came_from_nowhere() -> None:
    found = read_listing("%1 = OpTypeVoid\n%2 = OpTypeInt 32 0\n")
    assert found.places == ((), ())


def test_call_sites_are_known_from_another_text() -> None:
    inlining = Inlining.of([read_listing(MODULE)])
    assembly = read_listing('.file 1 "/lib.py"\n.loc 1 7 2\nadd\n.loc 1 7\nadd\n.loc 1 8 1\nadd')
    completed = inlining.complete(assembly)
    caller = Place("/k.py", 17, 11)
    assert [p[1:] for p in completed.places] == [(), (caller,), (caller,), (caller,), (caller,), (), ()]


def test_a_place_inlined_twice_stays_as_it_is() -> None:
    inner, first, second = Place("l.py", 1, 1), Place("k.py", 2, 1), Place("k.py", 3, 1)
    inlining = Inlining.of([Listing(("a", "b"), ((inner, first), (inner, second)))])
    alone = Listing(("c",), ((inner,),))
    assert inlining.complete(alone) == alone


def test_every_line_has_places() -> None:
    with pytest.raises(ValueError, match="2 lines with the places of 1"):
        Listing(("a", "b"), ((),))
