"""Code is compared with stored code: names do not count, instructions do."""

from __future__ import annotations

import pytest

from integration.programs.code import code, compared, normal
from integration.programs.digests import cases

PTX = """
.visible .entry matmul(
\t.file 1 "/a/kernels.py"
$L__BB0_1:
\tadd.s32 %r1, %r2, %r3;
\tbra $L__BB0_1;
"""


def test_names_and_places_of_sources_do_not_count() -> None:
    other = PTX.replace("BB0_1", "BB0_7").replace("/a/kernels.py", "/b/all.py")
    assert compared([normal(PTX)], [normal(other)]) == ""


@pytest.mark.parametrize(("old", "new"), [("add", "sub"), ("%r3", "%r4"), ("s32", "s64")])
def test_instructions_count(old: str, new: str) -> None:
    shown = compared([normal(PTX)], [normal(PTX.replace(old, new))])
    assert "-\tadd.s32 %r1, %r2, %r3;" in shown
    assert new in shown


@pytest.mark.parametrize(
    ("target", "word"), [("nvidia:sm_80", "mma.sync"), ("amd:gfx942", "s_endpgm"), ("intel:pvc", "define")]
)
def test_the_text_nearest_to_the_machine(target: str, word: str) -> None:
    made = code(target, next(cases(target)))
    assert made
    assert all(word in text for text in made)
