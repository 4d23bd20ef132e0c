"""The first stage as a whole."""

from __future__ import annotations

import pytest

from tri_core import mlir
from tri_core.mlir import registry
from tri_core.passes import CSE, LICM, Canonicalize, Inline, SymbolDCE, ttir_stage
from tri_core.pipeline import Anchor, Pass, StageContext
from tri_core.testing import filecheck

KERNEL = """
"tt.func"() ({
^bb0(%p: !tt.ptr<f32, "global">, %n: i32):
  %c16 = arith.constant 16 : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %pid = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
  %start = "tt.call"(%pid, %c16) {callee = @times} : (i32, i32) -> i32
  %pp = "tt.splat"(%p) : (!tt.ptr<f32, "global">) -> tensor<16x!tt.ptr<f32, "global">>
  %s = "tt.splat"(%start) : (i32) -> tensor<16xi32>
  %q = "tt.addptr"(%pp, %s) : (tensor<16x!tt.ptr<f32, "global">>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32, "global">>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %r = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %at = "tt.addptr"(%q, %r) : (tensor<16x!tt.ptr<f32, "global">>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32, "global">>
    %x = "tt.load"(%at) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x!tt.ptr<f32, "global">>) -> tensor<16xf32>
    "tt.store"(%at, %x) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32, "global">>, tensor<16xf32>) -> ()
  }
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32, "global">, i32) -> (), sym_name = "k", sym_visibility = "public"} : () -> ()
"tt.func"() ({
^bb0(%a: i32, %b: i32):
  %c = arith.muli %a, %b : i32
  "tt.return"(%c) : (i32) -> ()
}) {function_type = (i32, i32) -> i32, sym_name = "times", sym_visibility = "private"} : () -> ()
"""


def test_it_makes_one_simple_function(context: StageContext) -> None:
    stage = ttir_stage()
    with mlir.session():
        module = stage.run(mlir.parse(KERNEL), context).artifact
        mlir.verify(module)
        text = str(module.operation.get_asm(print_generic_op_form=True, assume_verified=True))
    filecheck(
        text,
        """CHECK: %[[O:.*]] = "arith.muli"
           CHECK: %[[P:.*]] = "tt.addptr"(%arg0, %[[O]]) : (!tt.ptr<f32, "global">, i32)
           CHECK: %[[Q:.*]] = "tt.splat"(%[[P]])
           CHECK: %[[R:.*]] = "tt.make_range"
           CHECK: %[[A:.*]] = "tt.addptr"(%[[Q]], %[[R]])
           CHECK: "scf.for"
           CHECK: "tt.load"(%[[A]])
           CHECK-NEXT: "tt.store"
           CHECK-NOT: "times\"""",
    )


def test_its_anchors_and_its_text() -> None:
    stage = ttir_stage()
    assert stage.passes is not None
    assert (stage.name, stage.kind) == ("ttir", "module")
    anchors = [s.name for s in stage.passes.steps if isinstance(s, Anchor)]
    assert anchors == ["ttir.begin", "ttir.end"]
    assert "Inline()" in stage.passes.text()


def test_stages_are_not_shared() -> None:
    """A plugin that inserts a pass into one pipeline does not change another."""
    first, second = ttir_stage(), ttir_stage()
    assert first.passes is not None
    assert second.passes is not None
    first.passes.insert("ttir.end", CSE())
    assert len(first.passes.steps) == len(second.passes.steps) + 1


@pytest.mark.parametrize("step", [Inline, Canonicalize, CSE, LICM, SymbolDCE])
def test_passes_are_registered_by_name(step: type[Pass]) -> None:
    assert registry.passes[step.name] is step
