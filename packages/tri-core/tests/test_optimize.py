"""Named passes on text."""

from __future__ import annotations

import pytest

from tri_core.compiler.optimize import known_passes, optimize
from tri_core.errors import OptionError, VerificationError

TEXT = """\
module {
  tt.func public @k(%p: !tt.ptr<f32>, %n: i32) {
    %a = tt.splat %n : i32 -> tensor<8xi32>
    %b = tt.splat %n : i32 -> tensor<8xi32>
    %c = arith.addi %a, %b : tensor<8xi32>
    %d = arith.addi %b, %a : tensor<8xi32>
    %q = tt.splat %p : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %r = tt.addptr %q, %c : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %v = tt.load %r : tensor<8x!tt.ptr<f32>>
    tt.store %r, %v : tensor<8x!tt.ptr<f32>>
    tt.return
  }
}
"""


@pytest.mark.parametrize(
    "passes", ["cse", "cse,canonicalize,licm", "mlir:cse", "mlir:canonicalize{max-iterations=3},cse"]
)
def test_passes_run_in_order(passes: str) -> None:
    reported: list[str] = []
    made = optimize(TEXT, passes, path="k.ttir", after=lambda name, text: reported.append(name))
    assert made.count("tt.splat %n") <= 1
    assert "%p: !tt.ptr<f32>, %n: i32" in made
    assert reported == [p.removeprefix("mlir:") for p in passes.split(",")]


def test_a_former_name_is_accepted_and_reported() -> None:
    former = "dead-carried"
    with pytest.warns(DeprecationWarning, match=f"pass '{former}' is called 'remove-dead-iter-args'"):
        assert "tt.store" in optimize(TEXT, f"{former},cse")


def test_former_classes_are_reported() -> None:
    from tri_core import passes

    with pytest.warns(DeprecationWarning, match="called ScalarizePackedOps"):
        former = passes.Unpack
    assert former is passes.ScalarizePackedOps


def test_no_pass_prints_what_was_read() -> None:
    assert optimize(TEXT, "").count("tt.splat") == 3


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        ("cs", "there is no pass 'cs'"),
        ("cse{deep=1}", "pass 'cse' has no option 'deep'"),
        ("cse{deep=1", "`}` is missing"),
        ("cse{deep}", "'deep' is not an option of a pass"),
        ("mlir:fold-everything", "fold-everything"),
    ],
)
def test_wrong_lists(passes: str, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        optimize(TEXT, passes)
    assert message in caught.value.message


def test_errors_are_located_in_the_text() -> None:
    with pytest.raises(VerificationError, match=r"no op tt\.sore") as caught:
        optimize(TEXT.replace("tt.store", "tt.sore"), "cse", path="k.ttir")
    assert str(caught.value.location).startswith("k.ttir:10:5\n")
    with pytest.raises(VerificationError) as caught:
        optimize(TEXT.replace("addi %a, %b", "addi %a, %n"), "cse", path="k.ttir")
    assert str(caught.value.location).startswith("k.ttir:5:25\n")


def test_passes_are_listed() -> None:
    assert {"cse", "canonicalize", "licm", "inline", "symbol-dce"} <= set(known_passes())
