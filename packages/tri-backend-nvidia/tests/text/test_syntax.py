"""PTX text as instructions and blocks; what is not known is refused."""

from __future__ import annotations

import numpy as np
import pytest

from ptx_text import kernel, run
from tri_backend_nvidia.text import TextProgram, read_kernel
from tri_backend_nvidia.text.flow import blocks_of, loops_of
from tri_core.errors import Unsupported


def test_instructions_have_guards_lines_and_source_lines() -> None:
    body = ".loc 1 7 3\n@!%p1 add.s32 %r1, %r2, -1; // why\n{ .reg .b32 %r1; mov.b32 %r1, {%h1, %h2}; }"
    text = kernel(body, 0) + '\n.file 1 "folder" "kernel.py"\n'
    first, second, last = read_kernel(text, "k").code
    assert str(first) == "@!%p1 add.s32 %r1, %r2, -1"
    assert text.splitlines()[first.line - 1].startswith("@!%p1")
    assert first.location is not None
    assert (
        first.location.file,
        first.location.line,
        first.location.column,
    ) == ("folder/kernel.py", 7, 2)
    assert second.operands == ("%r1@1", "{%h1, %h2}")
    assert last.name == "ret"


def test_what_a_loop_repeats_comes_before_what_follows_it() -> None:
    body = """
        bra $TEST;
$AFTER: st.global.b32 [%at0], %r1;
        bra $END;
$BODY:  add.s32 %r1, %r1, 1;
$TEST:  setp.lt.s32 %p1, %r1, 9;
        @!%p1 bra $AFTER;
        bra $BODY;
$END:
    """
    blocks = blocks_of(read_kernel(kernel("mov.b32 %r1, 0;" + body, 1), "k"))
    names = [[code.name for code in block.code] for block in blocks]
    assert names.index(["add.s32"]) < names.index(["st.global.b32"])
    (loop,) = loops_of(blocks)
    assert ["add.s32"] in [names[i] for i in loop]
    assert ["st.global.b32"] not in [names[i] for i in loop]


@pytest.mark.parametrize(
    "code",
    ["frobnicate.b32 %r1, %r2;", "add.loud.s32 %r1, %r2, %r3;", "cvt.sideways.f32.f64 %r1, %q1;", "ld.elsewhere.b32 %r1, [%at0];",
     "mov.b32 %r1, %nowhere;", "bra $NOWHERE;", "add.s32 %r1, %r2;", "shfl.bfly.b32 %r1, %r2, 1, 31;"],
)  # fmt: skip
def test_what_is_not_known_is_refused_with_its_line(code: str) -> None:
    with pytest.raises(Unsupported, match=r"PTX line \d+|operand|label"):
        TextProgram(kernel(f"mov.b32 %r2, 1; mov.b32 %r3, 1; mov.b64 %q1, 1;\n{code}", 1), "k")


def test_a_kernel_that_is_not_there_is_named() -> None:
    with pytest.raises(Unsupported, match="'other'"):
        read_kernel(kernel("", 0), "other")


def test_a_function_is_read_in_place_of_its_call() -> None:
    function = """
.func (.param .b32 result) twice(.param .b32 twice_0) {
.reg .pred %p<2>; .reg .b32 %r<9>;
ld.param.b32 %r1, [twice_0]; setp.eq.s32 %p1, %r1, 0; @%p1 bra $L; add.s32 %r1, %r1, %r1;
$L: st.param.b32 [result], %r1; ret;
}
"""
    call = "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), twice, (a); ld.param.b32 %r1, [b]; }\n"
    made = np.zeros(32, np.uint32)
    body = f"mov.u32 %r1, %tid.x;\n{call}{call}mov.u32 %r2, %tid.x; mad.wide.u32 %at5, %r2, 4, %at0; st.global.b32 [%at5], %r1;"
    run(body, [made], functions=function)
    assert made.tolist() == [4 * i for i in range(32)]
