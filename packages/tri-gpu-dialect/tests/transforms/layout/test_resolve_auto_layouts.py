"""``resolve-auto-layouts``: what it refuses; what it does is in ``filecheck/resolve_auto_layouts.mlir``."""

from __future__ import annotations

import pytest

from tri_core.api import CommonOptions, CompilationError, StageContext, Target, TargetKey, TargetSpec
from tri_core.mlir import ir
from tri_gpu_dialect.passes import ResolveAutoLayouts

CONTEXT = StageContext(
    target=Target(key=TargetKey("made-up", "m1"), spec=TargetSpec(threads_per_warp=(32,))),
    options=CommonOptions(),
    kernel_name="f",
    codegen=None,  # type: ignore[arg-type]
)
ONE = "#ttg.blocked<{order = [0], sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4]}>"
TWO = "#ttg.blocked<{order = [0], sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4]}>"
MODULE = """
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, tt.explicit} {
  "tt.func"() ({
    %r = "tt.make_range"() {start = 0 : i32, end = 256 : i32} : () -> tensor<256xi32> loc("kernel.py":3:9)
BODY
    "tt.return"() : () -> ()
  }) {function_type = () -> (), sym_name = "f", sym_visibility = "public"} : () -> ()
}
"""


def resolved(*lines: str) -> str:
    module = ir.Module.parse(MODULE.replace("BODY", "\n".join(lines)))
    ResolveAutoLayouts().apply(module, CONTEXT)
    return str(module)


def placed(name: str, layout: str) -> str:
    return f'%{name} = "gluon.set_auto_layout"(%r) : (tensor<256xi32>) -> tensor<256xi32, {layout}> loc("kernel.py":5:1)'


def used(name: str, layout: str = "") -> str:
    type_ = f"tensor<256xi32{layout and ', '}{layout}>"
    return f'"tt.print"(%{name}) {{prefix = "x", hex = false, isSigned = array<i32: 1>}} : ({type_}) -> ()'


def test_a_layout_goes_to_the_source() -> None:
    text = resolved(placed("a", ONE), used("a", ONE))
    assert "gluon." not in text
    assert f"() -> tensor<256xi32, {ONE}>" in text


def test_two_layouts_of_one_value_are_both_named() -> None:
    with pytest.raises(CompilationError, match="has two") as caught:
        resolved(placed("a", ONE), placed("b", TWO), used("a", ONE), used("b", TWO))
    assert ONE in str(caught.value)
    assert TWO in str(caught.value)
    assert "convert_layout" in str(caught.value.remedy)


def test_a_layout_that_nothing_determines_is_located() -> None:
    with pytest.raises(CompilationError, match=r"nothing determines .*\[256\]") as caught:
        resolved(used("r"))
    assert caught.value.location is not None
    assert caught.value.location.line == 3


def test_what_nothing_uses_goes_away() -> None:
    assert "make_range" not in resolved()
