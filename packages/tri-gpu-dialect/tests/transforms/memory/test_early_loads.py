"""Loads of a few registers go before conversions through shared memory, with what their addresses are computed with."""

from __future__ import annotations

from tri_core.api import CommonOptions, StageContext, Target, TargetKey, TargetSpec
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops, block_ops
from tri_gpu_dialect.passes import ReorderInstructions

TARGET = Target(key=TargetKey("made-up", "m1"), spec=TargetSpec(threads_per_warp=(32,)))
CONTEXT = StageContext(target=TARGET, options=CommonOptions(), kernel_name="f", codegen=None)  # type: ignore[arg-type]
STEP = """
#b = #ttg.blocked<{order = [0], sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1]}>
#t = #ttg.blocked<{order = [1, 0], sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [1, 1]}>
#s = #ttg.slice<{dim = 1, parent = #t}>
!p = tensor<32x!tt.ptr<f32, "global">, #b>
!x = tensor<32xf32, #b>
!y = tensor<32xf32, #s>
!q = tensor<512x!tt.ptr<f32, "global">, #b>
!z = tensor<512xf32, #b>
module attributes {"ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32} {
  "tt.func"() ({
  ^bb0(%p: !p, %o: !p, %q: !q, %v: !x, %step: tensor<32xi32, #b>, %i: i32):
    "scf.for"(%i, %i, %i) ({
    ^bb0(%j: i32):
      %a = "tt.load"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!p) -> !x
      %a1 = "ttg.convert_layout"(%a) : (!x) -> !y
      %next = "tt.addptr"(%p, %step) : (!p, tensor<32xi32, #b>) -> !p
      %b = "tt.load"(%next) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!p) -> !x
      %b1 = "ttg.convert_layout"(%b) : (!x) -> !y
      %large = "tt.load"(%q) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!q) -> !z
      "tt.store"(%o, %v) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (!p, !x) -> ()
      %d = "tt.load"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!p) -> !x
      %d1 = "ttg.convert_layout"(%d) : (!x) -> !y
      %e = "tt.load"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>, isVolatile = true} : (!p) -> !x
      scf.yield
    }) : (i32, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {sym_name = "step", function_type = (!p, !p, !q, !x, tensor<32xi32, #b>, i32) -> ()} : () -> ()
}
"""


def _moved(text: str, around: str) -> list[str]:
    """The names of the ops of the block in the first op named ``around``."""
    module = ir.Module.parse(text)
    ReorderInstructions().apply(module, CONTEXT)
    module.operation.verify()
    op = next(op for op in all_ops(module.operation) if op.name == around)
    return [one.name.partition(".")[2] for one in block_ops(op.regions[0].blocks[0])]


def test_loads_of_a_step_are_issued_together() -> None:
    # the address goes with the second; the large one stays; no load passes the store, nor moves what is loaded again each time
    assert _moved(STEP, "scf.for") == [
        *("load", "addptr", "load", "convert_layout", "convert_layout", "load", "store"),
        *("load", "convert_layout", "load", "yield"),
    ]


def test_loads_outside_of_loops_stay() -> None:
    text = STEP.replace('"scf.for"(%i, %i, %i)', '"scf.if"(%c)').replace(
        "(i32, i32, i32) -> ()", "(i1) -> ()"
    )
    text = text.replace("    ^bb0(%j: i32):\n", "").replace("    }) : (i1)", "    }, {\n    }) : (i1)")
    text = text.replace("%i: i32)", "%c: i1)").replace("#b>, i32) -> ()", "#b>, i1) -> ()")
    assert _moved(text, "scf.if")[:5] == ["load", "convert_layout", "addptr", "load", "convert_layout"]


def test_an_address_that_is_loaded_stays_behind_its_load() -> None:
    text = STEP.replace('"tt.addptr"(%p, %step)', '"tt.addptr"(%p, %steps)').replace(
        "      %next", '      %steps = "tt.fp_to_fp"(%a) : (!x) -> tensor<32xi32, #b>\n      %next'
    )
    text = text.replace('"tt.fp_to_fp"', '"arith.fptosi"')
    # it needs what was loaded, but not what was converted
    assert _moved(text, "scf.for")[:5] == ["load", "fptosi", "addptr", "load", "convert_layout"]
    waits = text.replace('"arith.fptosi"(%a)', '"arith.fptosi"(%a2)').replace(
        "      %steps", '      %a2 = "ttg.convert_layout"(%a1) : (!y) -> !x\n      %steps'
    )
    assert _moved(waits, "scf.for")[:6] == [
        "load",
        "convert_layout",
        "convert_layout",
        "fptosi",
        "addptr",
        "load",
    ]
