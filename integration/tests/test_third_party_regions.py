"""Loops and branches that nothing in tri knows of, each described here alone: every analysis and pass follows them.

They stay through the whole of ``ttgir`` and become ``scf`` behind its last pass.  One that doesn't say how control goes through
its regions is refused, since whoever goes by it as by other ops would see nothing of what is inside.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from integration.tests.third_party_ops import FLOW, ChooseOp, RepeatOp
from tri_core import mlir
from tri_core.api import CommonOptions, Pass, StageContext
from tri_core.codegen import service
from tri_core.errors import VerificationError
from tri_core.ir.views import isa
from tri_core.mlir import ir, registry, scf
from tri_core.passes import ttir_stage
from tri_core.text import parse_module
from tri_gpu_dialect import ttgir_stage
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.lowering import generic_table, lower
from tri_gpu_dialect.policies import DefaultPolicy, PipelinePolicy
from tri_gpu_dialect.policies.loads import LoadStrategy
from tri_gpu_dialect.testing import ReferencePrimitives, make_target
from tri_gpu_dialect.transforms.pipeline.strategies import AsyncCopy, ThroughRegisters
from tri_runtime.simulator import simulate

registry.add_dialect(FLOW)


@dataclass(frozen=True)
class ToScf(Pass):
    """The ops above become those of ``scf``."""

    name: ClassVar[str] = "their-flow-to-scf"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Inner ones first."""
        for op in list(all_ops(module.operation)):
            if isa(op, RepeatOp):
                _to_loop(op)
            elif isa(op, ChooseOp):
                _to_branch(op)


def _to_loop(op: ir.Operation) -> None:
    with ir.InsertionPoint(op), op.location:
        i32 = ir.IntegerType.get_signless(32)
        zero, one = (
            ir.Operation.create("arith.constant", [i32], attributes={"value": ir.IntegerAttr.get(i32, n)})
            for n in (0, 1)
        )
        times, *inits = op.operands
        loop = scf.ForOp(zero.result, times, one.result, inits)
        _move(op.regions[0].blocks[0], loop.body, list(loop.inner_iter_args))
    _replace(op, loop.operation)


def _to_branch(op: ir.Operation) -> None:
    with ir.InsertionPoint(op), op.location:
        branch = scf.IfOp(op.operands[0], [r.type for r in op.results], has_else=True)
        for region, block in zip(op.regions, (branch.then_block, branch.else_block), strict=True):
            _move(region.blocks[0], block, [])
    _replace(op, branch.operation)


def _move(source: ir.Block, target: ir.Block, arguments: Sequence[ir.Value]) -> None:
    for old, new in zip(source.arguments, arguments, strict=True):
        old.replace_all_uses_with(new)
    *ops, end = list(source)
    for each in ops:
        target.append(each)
    with ir.InsertionPoint(target), end.operation.location:
        scf.YieldOp(list(end.operands))


def _replace(op: ir.Operation, made: ir.Operation) -> None:
    for old, new in zip(op.results, made.results, strict=True):
        old.replace_all_uses_with(new)
    op.erase()


#: rows of 32 x 32 matrices: their product with a fixed one is added up, every second time negated, with each row's sum beside it
KERNEL = """
module {
  tt.func public @walk(%a: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %b: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %sums: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %times: i32 {tt.divisibility = 16 : i32}) {
    %range = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %column = tt.expand_dims %range {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
    %row = tt.expand_dims %range {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %width = arith.constant dense<32> : tensor<32x1xi32>
    %begins = arith.muli %column, %width : tensor<32x1xi32>
    %begins_2d = tt.broadcast %begins : tensor<32x1xi32> -> tensor<32x32xi32>
    %row_2d = tt.broadcast %row : tensor<1x32xi32> -> tensor<32x32xi32>
    %offsets = arith.addi %begins_2d, %row_2d : tensor<32x32xi32>
    %a_base = tt.splat %a : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>>
    %a_first = tt.addptr %a_base, %offsets : tensor<32x32x!tt.ptr<f16>>, tensor<32x32xi32>
    %b_base = tt.splat %b : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>>
    %b_ptrs = tt.addptr %b_base, %offsets : tensor<32x32x!tt.ptr<f16>>, tensor<32x32xi32>
    %right = tt.load %b_ptrs : tensor<32x32x!tt.ptr<f16>>
    %step = arith.constant dense<1024> : tensor<32x32xi32>
    %none = arith.constant dense<0.0> : tensor<32x32xf32>
    %no_sums = arith.constant dense<0.0> : tensor<32xf32>
    %yes = arith.constant true
    %done:4 = "their_flow.repeat"(%times, %none, %no_sums, %a_first, %yes) ({
    ^bb0(%total: tensor<32x32xf32>, %row_sums: tensor<32xf32>, %a_ptrs: tensor<32x32x!tt.ptr<f16>>, %positive: i1):
      %left = tt.load %a_ptrs : tensor<32x32x!tt.ptr<f16>>
      %signed = "their_flow.choose"(%positive) ({
        %product = tt.dot %left, %right, %total : tensor<32x32xf16> * tensor<32x32xf16> -> tensor<32x32xf32>
        "their_flow.next"(%product) : (tensor<32x32xf32>) -> ()
      }, {
        %zero = arith.constant dense<0.0> : tensor<32x32xf16>
        %negative = arith.subf %zero, %left : tensor<32x32xf16>
        %product_2 = tt.dot %negative, %right, %total : tensor<32x32xf16> * tensor<32x32xf16> -> tensor<32x32xf32>
        "their_flow.next"(%product_2) : (tensor<32x32xf32>) -> ()
      }) : (i1) -> tensor<32x32xf32>
      %wide = arith.extf %left : tensor<32x32xf16> to tensor<32x32xf32>
      %sum = "tt.reduce"(%wide) ({
      ^bb0(%x: f32, %y: f32):
        %added = arith.addf %x, %y : f32
        tt.reduce.return %added : f32
      }) {axis = 1 : i32} : (tensor<32x32xf32>) -> tensor<32xf32>
      %next_sums = arith.addf %row_sums, %sum : tensor<32xf32>
      %a_next = tt.addptr %a_ptrs, %step : tensor<32x32x!tt.ptr<f16>>, tensor<32x32xi32>
      %true = arith.constant true
      %other = arith.xori %positive, %true : i1
      "their_flow.next"(%signed, %next_sums, %a_next, %other) : (tensor<32x32xf32>, tensor<32xf32>, tensor<32x32x!tt.ptr<f16>>, i1) -> ()
    }) : (i32, tensor<32x32xf32>, tensor<32xf32>, tensor<32x32x!tt.ptr<f16>>, i1) -> (tensor<32x32xf32>, tensor<32xf32>, tensor<32x32x!tt.ptr<f16>>, i1)
    %out_base = tt.splat %out : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>>
    %out_ptrs = tt.addptr %out_base, %offsets : tensor<32x32x!tt.ptr<f32>>, tensor<32x32xi32>
    tt.store %out_ptrs, %done#0 : tensor<32x32x!tt.ptr<f32>>
    %sums_base = tt.splat %sums : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
    %sums_ptrs = tt.addptr %sums_base, %range : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
    tt.store %sums_ptrs, %done#1 : tensor<32x!tt.ptr<f32>>
    tt.return
  }
}
"""
SILENT = """
module {
  tt.func public @walk(%out: !tt.ptr<i32>, %x: i32) {
    %made = "their_flow.silent"() ({
      "their_flow.next"(%x) : (i32) -> ()
    }) : () -> i32
    tt.store %out, %made : !tt.ptr<i32>
    tt.return
  }
}
"""
OPTIONS = CommonOptions(num_warps=4, num_stages=3)
PASSES: Mapping[str, Sequence[Pass]] = {"ttgir.barriers": [ToScf()]}


def compiled(text: str, loads: LoadStrategy | None, lanes: int = 32) -> ir.Module:
    """``text`` behind the stage ``ttgir``, within a session."""
    target = make_target(lanes)
    known = DefaultPolicy(pipeline=PipelinePolicy(loads=loads))
    context = StageContext(target=target, options=OPTIONS, kernel_name="walk", codegen=service())
    module = ttir_stage().run(parse_module(text), context).artifact
    stage = ttgir_stage(target, OPTIONS, known, PASSES)
    made: ir.Module = stage.run(module, context).artifact
    return made


@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("times", [1, 6])
@pytest.mark.parametrize(
    "loads", [None, AsyncCopy(bits=(32, 64, 128)), ThroughRegisters()], ids=["none", "copies", "registers"]
)
def test_every_analysis_follows_them(lanes: int, times: int, loads: LoadStrategy | None) -> None:
    """Layouts, alignment, aliases, liveness, scratch memory and barriers, in the simulator, which sees races."""
    random = np.random.default_rng(times)
    a, b = (random.integers(-4, 5, (n, 32, 32)).astype(np.float16) for n in (times, 1))
    out, sums = np.full((32, 32), np.nan, np.float32), np.full(32, np.nan, np.float32)
    with mlir.session():
        module = compiled(KERNEL, loads, lanes)
        target = make_target(lanes)
        words = ReferencePrimitives(target, OPTIONS, threads_per_warp=lanes, num_warps=4)
        lowered = lower(module, target, OPTIONS, words, generic_table())
        simulate(
            lowered.module,
            lowered.name,
            (1, 1, 1),
            [a, b, out, sums, times],
            num_threads=4 * lanes,
            threads_per_warp=lanes,
            shared_bytes=lowered.shared_bytes,
        )
    signs = np.where(np.arange(times) % 2, -1, 1)
    exact = np.einsum("t,tij,jk->ik", signs.astype(np.float64), a.astype(np.float64), b[0].astype(np.float64))
    np.testing.assert_array_equal(out, exact)
    np.testing.assert_array_equal(sums, a.astype(np.float64).sum(axis=(0, 2)))


def test_one_that_declares_nothing_is_refused() -> None:
    with mlir.session(), pytest.raises(VerificationError, match=r"their_flow\.silent has regions") as caught:
        compiled(SILENT, None)
    assert "RegionBranch" in (caught.value.remedy or "")
    assert caught.value.location is not None
