"""``split-loops`` on random comparisons: the same iterations in the same order, no mask where it always holds, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import tri_gpu_dialect.text  # noqa: F401  registers the text of ttg
from tri_core import mlir
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.passes import SplitLoops, VerifyLayouts
from tri_gpu_dialect.policies.gpu import (
    DEFAULT_POLICY,
    AsyncPolicy,
    DefaultPolicy,
    PipelinePolicy,
    Specialization,
)

POLICY = DefaultPolicy(async_units=AsyncPolicy(producer=Specialization(), specialize=True))
KINDS = {"slt": np.less, "sle": np.less_equal, "sgt": np.greater, "sge": np.greater_equal}
SIZE = 32
#: the arguments behind the accumulator, by number
TOP, LOW, HIGH = 1, 2, 3


@dataclass(frozen=True)
class Comparison:
    """``top + a * range_0 ? i * b + c * range_1 + d``, ``i`` from low to high by ``step``."""

    kind: str
    a: int
    b: int
    c: int
    d: int
    step: int

    def holds(self, top: int, i: int) -> np.ndarray:
        """Each element."""
        down, along = np.arange(SIZE)[:, None], np.arange(SIZE)[None, :]
        made: np.ndarray = KINDS[self.kind](top + self.a * down, i * self.b + self.c * along + self.d)
        return made

    @property
    def text(self) -> str:
        """A function with the loop."""
        return f"""
#acc = #ttg.blocked<{{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}}>
#plain = #ttg.swizzled_shared<{{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}}>
!sum = tensor<32x32xf32, #acc>
!places = tensor<32x32xi32, #acc>
!down = tensor<32xi32, #ttg.slice<{{dim = 1 : i64, parent = #acc}}>>
!along = tensor<32xi32, #ttg.slice<{{dim = 0 : i64, parent = #acc}}>>
!slot = !ttg.memdesc<array<i64: 32, 32>, f16, #plain, #ttg.shared_memory, true, array<i64: 32, 32>>
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
  "tt.func"() ({{
  ^bb0(%sum: !sum, %top: i32, %low: i32, %high: i32):
    %step = arith.constant {self.step} : i32
    %zeros = arith.constant dense<0.0> : !sum
    %a = arith.constant dense<{self.a}> : !down
    %b = arith.constant {self.b} : i32
    %c = arith.constant dense<{self.c}> : !along
    %d = arith.constant dense<{self.d}> : !places
    %x = "ttg.local_alloc"() : () -> !slot
    %down = "tt.make_range"() {{start = 0 : i32, end = 32 : i32}} : () -> !down
    %along = "tt.make_range"() {{start = 0 : i32, end = 32 : i32}} : () -> !along
    %ad = arith.muli %a, %down : !down
    %ca = arith.muli %along, %c : !along
    %r1 = "tt.expand_dims"(%ad) {{axis = 1 : i32}} : (!down) -> tensor<32x1xi32, #acc>
    %r = "tt.broadcast"(%r1) : (tensor<32x1xi32, #acc>) -> !places
    %k1 = "tt.expand_dims"(%ca) {{axis = 0 : i32}} : (!along) -> tensor<1x32xi32, #acc>
    %k = "tt.broadcast"(%k1) : (tensor<1x32xi32, #acc>) -> !places
    %t = "tt.splat"(%top) : (i32) -> !places
    %left = arith.addi %t, %r : !places
    %out = "scf.for"(%low, %high, %step, %sum) ({{
    ^bb0(%i: i32, %acc: !sum):
      %ib = arith.muli %i, %b : i32
      %at = "tt.splat"(%ib) : (i32) -> !places
      %ik = arith.addi %at, %k : !places
      %right = arith.addi %ik, %d : !places
      %mask = arith.cmpi {self.kind}, %left, %right : !places
      %s = "ttg.warp_group_dot"(%x, %x, %acc) {{inputPrecision = 0 : i32}} : (!slot, !slot, !sum) -> !sum
      %w = "ttg.warp_group_dot_wait"(%s) {{pendings = 0 : i32}} : (!sum) -> !sum
      %y = arith.select %mask, %w, %zeros : tensor<32x32xi1, #acc>, !sum
      "scf.yield"(%y) : (!sum) -> ()
    }}) : (i32, i32, i32, !sum) -> !sum
    "tt.return"(%out) : (!sum) -> ()
  }}) {{sym_name = "f", function_type = (!sum, i32, i32, i32) -> !sum}} : () -> ()
}}
"""


def split(source: str) -> ir.Module:
    module = ir.Module.parse(source)
    for each in (SplitLoops(policy=POLICY), VerifyLayouts()):
        each.apply(module, None)  # type: ignore[arg-type]
    mlir.verify(module)
    return module


def loops(module: ir.Module) -> list[ir.Operation]:
    return [op for op in all_ops(module.operation) if op.name == "scf.for"]


def is_masked(loop: ir.Operation) -> bool:
    return any(op.name == "arith.cmpi" for op in all_ops(loop))


def number(value: ir.Value, given: Mapping[int, int]) -> int:
    """A scalar, from the function's arguments by number."""
    if isinstance(value.owner, ir.Block):
        return given[ir.BlockArgument(value).arg_number]
    op = value.owner.operation
    if op.name == "arith.constant":
        return int(ir.IntegerAttr(op.attributes["value"]).value)
    left, right = (number(v, given) for v in op.operands)
    found: Mapping[str, int] = {
        "arith.addi": left + right,
        "arith.muli": left * right,
        "arith.maxsi": max(left, right),
        "arith.minsi": min(left, right),
        "arith.divsi": int(left / right) if right else 0,
    }
    assert abs(found[op.name]) < 1 << 31
    return found[op.name]


def iterations(loop: ir.Operation, given: Mapping[int, int]) -> Sequence[int]:
    low, high, step = (number(v, given) for v in list(loop.operands)[:3])
    return range(low, high, step)


small = st.integers(-300, 300)
comparisons = st.builds(
    Comparison, st.sampled_from(sorted(KINDS)), st.integers(-2, 2), st.integers(-3, 3), st.integers(-2, 2), small,
    st.sampled_from([1, 16, 32, 64]),
)  # fmt: skip


@settings(max_examples=120)
@given(comparisons, small, small, st.integers(0, 700))
def test_turns_are_the_same_and_masks_are_where_they_matter(
    c: Comparison, top: int, low: int, length: int
) -> None:
    given = {TOP: top, LOW: low, HIGH: low + length - 60}
    before, after = ir.Module.parse(c.text), split(c.text)
    (whole,), made = loops(before), loops(after)
    assert [i for loop in made for i in iterations(loop, given)] == list(iterations(whole, given))
    event(f"{len(made)} loops")
    assert (len(made) == 2) == (c.b != 0)
    for loop in made if c.b else ():
        always = {bool(c.holds(top, i).all()) for i in iterations(loop, given)}
        assert always <= {not is_masked(loop)}


def test_a_loop_on_the_diagonal_stays() -> None:
    """From ``top`` on no iteration is without a mask: rows of a tile against columns from the same number on."""
    source = Comparison("sge", 1, 1, 1, 0, 32).text.replace('"scf.for"(%low,', '"scf.for"(%top,')
    assert len(loops(split(source))) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("arith.cmpi sge", "arith.cmpi uge"),
        ('%s = "ttg.warp_group_dot"(%x, %x, %acc) {inputPrecision = 0 : i32} : (!slot, !slot, !sum) -> !sum', "%s = arith.addf %acc, %acc : !sum"),
        ('%w = "ttg.warp_group_dot_wait"(%s) {pendings = 0 : i32} : (!sum) -> !sum', "%m = arith.uitofp %mask : tensor<32x32xi1, #acc> to !sum\n      %w = arith.addf %s, %m : !sum"),
        ("%d = arith.constant dense<5>", "%d = arith.constant dense<2000000000>"),
    ],
    ids=["unsigned", "no dots", "the comparison is used", "large numbers"],
)  # fmt: skip
def test_what_is_not_split(old: str, new: str) -> None:
    source = Comparison("sge", 1, 1, 1, 5, 32).text
    assert len(loops(split(source))) == 2
    assert old in source
    assert len(loops(split(source.replace(old, new)))) == 1


def test_nothing_is_split_without_a_producer() -> None:
    source = Comparison("sge", 1, 1, 1, 5, 32).text
    for policy in (DEFAULT_POLICY, replace(POLICY, pipeline=PipelinePolicy(split_loops=False))):
        module = ir.Module.parse(source)
        SplitLoops(policy=policy).apply(module, None)  # type: ignore[arg-type]
        assert len(loops(module)) == 1


# --- masks of loads ---------------------------------------------------------------------------------------

EVERYWHERE = DefaultPolicy(pipeline=PipelinePolicy(split_loops=True))
_TYPES = "tensor<1x32xi1, #acc>", "tensor<32x32xi1, #acc>", 'tensor<32x32x!tt.ptr<f32, "global">, #acc>'


def loading(c: Comparison, *, both: bool) -> str:
    """The loop of ``c``, whose row of comparisons masks a load, with another mask or alone, and where ``both`` a choice too."""
    row, mask, pointers = _TYPES
    start = c.text.index("      %mask =")
    end = c.text.index('      %s = "ttg')
    made = f"""      %ra = "tt.splat"(%ib) : (i32) -> !along
      %rb = arith.addi %ra, %ca : !along
      %rt = "tt.splat"(%top) : (i32) -> !along
      %row = arith.cmpi {c.kind}, %rt, %rb : !along
      %row1 = "tt.expand_dims"(%row) {{axis = 0 : i32}} : (tensor<32xi1, #ttg.slice<{{dim = 0 : i64, parent = #acc}}>>) -> {row}
      %mask = "tt.broadcast"(%row1) : ({row}) -> {mask}
      %and = arith.andi %mask, %keep : {mask}
      %l0 = "tt.load"(%p, %mask, %zeros) {{cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 1, 1>}} : ({pointers}, {mask}, !sum) -> !sum
      %l1 = "tt.load"(%p, %and) {{cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 1, 0>}} : ({pointers}, {mask}) -> !sum
      %l = arith.addf %l0, %l1 : !sum
"""
    text = c.text[:start] + made + c.text[end:]
    text = text.replace('"ttg.warp_group_dot"(%x, %x, %acc)', '"ttg.warp_group_dot"(%x, %x, %l)')
    if not both:
        text = text.replace(
            "%y = arith.select %mask, %w, %zeros : tensor<32x32xi1, #acc>, !sum",
            "%y = arith.addf %w, %acc : !sum",
        )
    text = text.replace("%high: i32):", f"%high: i32, %p: {pointers}, %keep: {mask}):")
    return text.replace(
        "(!sum, i32, i32, i32) -> !sum}", f"(!sum, i32, i32, i32, {pointers}, {mask}) -> !sum}}"
    )


def masks(loop: ir.Operation) -> list[int]:
    """The operands of each load: pointers, mask, what else."""
    return [len(op.operands) for op in all_ops(loop) if op.name == "tt.load"]


@settings(max_examples=60)
@given(comparisons.filter(lambda c: c.b), st.booleans(), small, small, st.integers(0, 700))
def test_masks_of_loads_split_loops_where_that_is_asked_for(
    c: Comparison, both: bool, top: int, low: int, length: int
) -> None:
    c = replace(c, a=0, d=0)
    given = {TOP: top, LOW: low, HIGH: low + length - 60}
    source = loading(c, both=both)
    before, after = ir.Module.parse(source), ir.Module.parse(source)
    for each in (SplitLoops(policy=EVERYWHERE), VerifyLayouts()):
        each.apply(after, None)  # type: ignore[arg-type]
    mlir.verify(after)
    (whole,), made = loops(before), loops(after)
    assert [i for loop in made for i in iterations(loop, given)] == list(iterations(whole, given))
    assert len(made) == 2
    for loop in made:
        assert masks(loop) == ([3, 2] if is_masked(loop) else [1, 2])
        always = {bool(c.holds(top, i).all()) for i in iterations(loop, given)}
        assert always <= {not is_masked(loop)}
        # what is chosen by may matter in many iterations, a mask of loads in the last one
        assert ("tt.num_stages" in loop.attributes) == (is_masked(loop) and not both)


def test_masks_of_loads_are_nothing_to_others() -> None:
    module = ir.Module.parse(loading(Comparison("sge", 0, 1, 1, 0, 32), both=True))
    SplitLoops(policy=POLICY).apply(module, None)  # type: ignore[arg-type]
    assert len(loops(module)) == 1


# --- rests that are known to be short ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "short", "known"),
    [
        # the diagonal goes over as many rows as a tile has, and what a step is off
        ("%top", 4, True),
        ("%high", 4, False),
        ("%top", 1, False),
    ],
)
def test_a_short_rest_is_not_pipelined(end: str, short: int, known: bool) -> None:
    source = Comparison("sge", 1, 1, 1, 0, 32).text
    source = source.replace('"scf.for"(%low, %high,', '"scf.for"(%low, %end,')
    source = source.replace(
        "    %out =",
        f"    %rows = arith.constant 32 : i32\n    %top32 = arith.addi {end}, %rows : i32\n"
        "    %end = arith.minsi %top32, %high : i32\n    %out =",
    )
    policy = DefaultPolicy(pipeline=PipelinePolicy(split_loops=True, short_rest=short))
    module = ir.Module.parse(source)
    SplitLoops(policy=policy).apply(module, None)  # type: ignore[arg-type]
    mlir.verify(module)
    first, second = loops(module)
    assert (is_masked(first), is_masked(second)) == (False, True)
    assert ("tt.num_stages" in second.attributes) == known
    assert ("ttg.held_before" in str(second)) == known
