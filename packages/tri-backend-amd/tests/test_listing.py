"""The text of an object, from the notes that LLVM leaves in it: what it says, and what has none."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import pytest

from tri_backend_amd.hsaco import listing
from tri_backend_amd.hsaco.emission import OneRun
from tri_backend_amd.hsaco.listing import FEATURE, SECTION, Unlisted, list_object, lists, without_notes
from tri_core.api import CodegenReply, CodegenRequest
from tri_core.codegen import service

KERNEL = """
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %n) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  br label %loop
loop:
  %k = phi i32 [ 0, %0 ], [ %next, %loop ]
  %q = getelementptr i32, ptr addrspace(1) %p, i32 %k
  store volatile i32 %i, ptr addrspace(1) %q
  %next = add i32 %k, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""
CALL = """
define internal void @g(ptr addrspace(1) %p) noinline {
  store volatile i32 1, ptr addrspace(1) %p
  ret void
}
define amdgpu_kernel void @f(ptr addrspace(1) %p) {
  call void @g(ptr addrspace(1) %p)
  ret void
}
"""
TABLE = """
@table = internal addrspace(4) constant [4 x i32] [i32 3, i32 1, i32 4, i32 1]
define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %n) {
  %q = getelementptr i32, ptr addrspace(4) @table, i32 %n
  %v = load i32, ptr addrspace(4) %q
  store i32 %v, ptr addrspace(1) %p
  ret void
}
"""


def request(text: str, features: str = "") -> CodegenRequest:
    return CodegenRequest(
        llvm_ir=text,
        triple="amdgcn-amd-amdhsa",
        cpu="gfx942",
        features=features,
        emit=("object",),
        llvm_options=("--amdhsa-code-object-version=5",),
    )


def noted(text: str) -> bytes:
    return service().compile(request(text, FEATURE)).objects["object"]


def test_a_branch_leads_to_the_label_of_its_loop() -> None:
    lines = list_object(noted(KERNEL), 5).splitlines()
    (label,) = [line[:-1] for line in lines if line.startswith(".LBB")]
    branch = next(n for n, line in enumerate(lines) if "s_cbranch" in line)
    assert lines[branch].endswith(f" {label}")
    assert lines.index(f"{label}:") < branch
    assert "\t.amdhsa_code_object_version 5" in lines


def test_the_notes_change_no_code_and_are_not_linked() -> None:
    plain, data = service().compile(request(KERNEL)).objects["object"], noted(KERNEL)
    assert lists(list_object(data, 5), data)
    made = OneRun(service()).compile(request(KERNEL))
    assert made.texts["asm"] == list_object(data, 5)
    assert len(made.objects["object"]) == len(data) > len(plain)
    assert without_notes(plain) == plain
    assert SECTION.encode() not in plain


@pytest.mark.parametrize(
    ("text", "why"), [(CALL, "relocations|symbols"), (TABLE, r"section \.rodata\.cst16")]
)
def test_what_has_no_text_is_compiled_again(text: str, why: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Unlisted, match=why):
        list_object(noted(text), 5)
    with caplog.at_level(logging.DEBUG, "tri_backend_amd"):
        made = OneRun(service()).compile(request(text))
    assert "s_endpgm" in made.texts["asm"]
    assert [record.levelname for record in caplog.records] == ["DEBUG"]


@dataclass(frozen=True)
class Other:
    """A service whose assembly is of other code."""

    def compile(self, job: CodegenRequest) -> CodegenReply:
        reply = service().compile(job)
        return CodegenReply(
            objects=reply.objects,
            texts={
                kind: text.replace("s_endpgm", "s_nop 3\n\ts_endpgm") for kind, text in reply.texts.items()
            },
        )


def test_a_second_run_that_differs_is_told(caplog: pytest.LogCaptureFixture) -> None:
    OneRun(Other()).compile(request(TABLE))
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_code_other_than_what_was_noted_is_not_listed() -> None:
    data = bytearray(noted(KERNEL))
    end = bytes.fromhex("000081bf")  # s_endpgm
    data[data.index(end)] ^= 1
    with pytest.raises(Unlisted, match="s_endpgm is not what stands at"):
        list_object(bytes(data), 5)


@pytest.mark.parametrize(
    ("value", "text"),
    [("k", "k"), ("n", "'n'"), ("12", "'12'"), ("it's", "'it''s'"), (True, "true"), (7, "7"), ([], "[]")],
)
def test_what_looks_like_something_else_is_quoted(value: object, text: str) -> None:
    assert list(listing._yaml({".name": value}, "")) == [f".name:           {text}"]
