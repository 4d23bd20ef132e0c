from __future__ import annotations

import pytest

from tri_core.testing import FileCheckError, check_passes

TEXT = """\
// RUN: cse,symbol-dce
module {
  // CHECK: tt.func public @k(%x: i32)
  tt.func public @k(%x: i32) {
    // CHECK-NEXT: %[[A:.*]] = tt.splat %x : i32 -> tensor<8xi32>
    %a = tt.splat %x : i32 -> tensor<8xi32>
    %b = tt.splat %x : i32 -> tensor<8xi32>
    // CHECK-NOT: tt.splat
    // CHECK: tt.print "x" {hex = false, isSigned = array<i32: 1, 1>} : %[[A]], %[[A]] :
    tt.print "x" {hex = false, isSigned = array<i32: 1, 1>} : %a, %b : tensor<8xi32>, tensor<8xi32>
    tt.return
  }
  // CHECK-NOT: @unused
  tt.func private @unused() {
    tt.return
  }
}
"""


def test_what_comes_out_is_checked() -> None:
    check_passes(TEXT)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace("cse,", ""), "tt.splat"),
        (TEXT.replace("// RUN: ", "// "), "has 0 lines"),
        (TEXT + TEXT, "has 2 lines"),
    ],
)
def test_failures(text: str, message: str) -> None:
    with pytest.raises(FileCheckError, match=message):
        check_passes(text)
