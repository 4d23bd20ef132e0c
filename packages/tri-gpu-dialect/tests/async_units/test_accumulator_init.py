"""What becomes of accumulators that are zeros at times, and what is left alone."""

from __future__ import annotations

import pytest

import tri_gpu_dialect.text  # noqa: F401  registers the text of ttg
from tri_core.api import CommonOptions, StageContext, Target, TargetKey, TargetSpec
from tri_core.mlir import ir
from tri_core.text import parse_module
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.passes import AccumulatorInit, VerifyLayouts

TARGET = Target(key=TargetKey("made-up", "m1"), spec=TargetSpec())
CONTEXT = StageContext(target=TARGET, options=CommonOptions(), kernel_name="f", codegen=None)  # type: ignore[arg-type]
SUM, SOURCE = "tensor<64x64xf32, #blocked>", "tensor<64x64xf16, #blocked>"
MEMORY = "!ttg.memdesc<64x64xf16, #shared, #smem>"
#: a loop of dots onto ``OPERAND``, which ``LINES`` make of ``%t``, the accumulator so far, or of ``%zeros``
PROGRAM = f"""
#blocked = #ttg.blocked<{{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}}>
#shared = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}}>
#smem = #ttg.shared_memory
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @f(%src: {SOURCE}, %start: {SUM}, %m: tensor<64x64xi1, #blocked>, %lower: i32, %n: i32) -> {SUM} {{
    %one = arith.constant 1 : i32
    %tile = arith.constant 8 : i32
    %a = ttg.local_alloc %src : ({SOURCE}) -> {MEMORY}
    %zeros = arith.constant dense<0.0> : {SUM}
    %ones = arith.constant dense<1.0> : {SUM}
    %r = scf.for %i = %lower to %n step %one iter_args(%t = START) -> ({SUM}) : i32 {{
      %new = arith.cmpi eq, %i, %tile : i32
      LINES
      %d = ttng.warp_group_dot %a, %a, OPERAND {{inputPrecision = 0 : i32}} : {MEMORY} * {MEMORY} -> {SUM}
      %w = ttng.warp_group_dot_wait %d {{pendings = 0 : i32}} : ({SUM}) -> {SUM}
      MORE
      scf.yield YIELDED : {SUM}
    }}
    tt.return %r : {SUM}
  }}
}}
"""
SPLAT = "%c = tt.splat %new : i1 -> tensor<64x64xi1, #blocked>"
TYPES = f"tensor<64x64xi1, #blocked>, {SUM}"
SCALAR = f"%s = arith.select %new, %zeros, %t : {SUM}"


def made(
    lines: str,
    operand: str = "%s",
    *,
    start: str = "%start",
    more: str = "",
    yielded: str = "%w",
    first: bool = False,
) -> ir.Module:
    text = PROGRAM.replace("LINES", lines).replace("OPERAND", operand).replace("START", start)
    module = parse_module(text.replace("MORE", more).replace("YIELDED", yielded))
    AccumulatorInit(first=first).apply(module, CONTEXT)
    module.operation.verify()
    VerifyLayouts().apply(module, CONTEXT)
    return module


def only(module: ir.Module, name: str) -> ir.Operation:
    (found,) = [op for op in all_ops(module.operation) if op.name == name]
    return found


def adds(module: ir.Module, iteration: int) -> bool:
    """Whether the dot adds to its accumulator in ``iteration`` of a loop that starts at 0."""
    dot = only(module, "ttg.warp_group_dot")
    body = dot.block

    def value(of: ir.Value) -> int:
        if isinstance(of.owner, ir.Block):
            assert of in (body.arguments[0], body.owner.operands[0])
            return iteration if of == body.arguments[0] else 0
        op = of.owner.operation
        given = [value(v) for v in op.operands]
        match op.name:
            case "arith.constant":
                return int(ir.IntegerAttr(op.attributes["value"]).value) & 0xFF
            case "arith.xori":
                return (given[0] ^ given[1]) & 1
        assert op.name == "arith.cmpi"
        equal = given[0] == given[1]
        return int(equal if ir.IntegerAttr(op.attributes["predicate"]).value == 0 else not equal)

    return bool(value(dot.operands[3]))


@pytest.mark.parametrize(
    ("lines", "new"),
    [
        (SCALAR, True),
        (f"%s = arith.select %new, %t, %zeros : {SUM}", False),
        (f"{SPLAT}\n%s = arith.select %c, %zeros, %t : {TYPES}", True),
        (f"{SPLAT}\n%s = arith.select %c, %t, %zeros : {TYPES}", False),
    ],
)
def test_selects_of_zeros_become_predicates(lines: str, new: bool) -> None:
    module = made(lines)
    dot = only(module, "ttg.warp_group_dot")
    assert dot.operands[2] == dot.block.arguments[1]
    assert not [op for op in all_ops(module.operation) if op.name == "arith.select"]
    for i in (0, 7, 8, 9):
        assert adds(module, i) == ((i == 8) != new)


@pytest.mark.parametrize(
    ("lines", "more"),
    [
        (f"%s = arith.select %new, %ones, %t : {SUM}", ""),
        (f"%s = arith.select %new, %zeros, %zeros : {SUM}", ""),
        # not one condition for all elements
        (f"%s = arith.select %m, %zeros, %t : {TYPES}", ""),
        # something else uses what is selected
        (SCALAR, f"%x = arith.addf %s, %ones : {SUM}"),
        (f"%s = arith.addf %t, %ones : {SUM}", ""),
    ],
)
@pytest.mark.parametrize("first", [False, True])
def test_other_accumulators_are_left_alone(lines: str, more: str, first: bool) -> None:
    assert len(only(made(lines, more=more, first=first), "ttg.warp_group_dot").operands) == 3


def test_the_first_iteration_leaves_out_zeros_from_before_the_loop() -> None:
    module = made("", "%t", start="%zeros", first=True)
    assert [adds(module, i) for i in range(3)] == [False, True, True]
    # a loop that does not run still gives zeros
    assert "dense<0.0" in str(only(module, "scf.for").operands[3].owner)


@pytest.mark.parametrize(("start", "first"), [("%zeros", False), ("%start", True), ("%ones", True)])
def test_the_first_iteration_is_like_the_others_otherwise(start: str, first: bool) -> None:
    assert len(only(made("", "%t", start=start, first=first), "ttg.warp_group_dot").operands) == 3


# --- resets at the end of an iteration --------------------------------------------------------------------

_IF = """%z = scf.if %new -> (SUM) {
        scf.yield FIRST : SUM
      } else {
        scf.yield SECOND : SUM
      }"""


def branches(first: str, second: str) -> str:
    return _IF.replace("FIRST", first).replace("SECOND", second).replace("SUM", SUM)


def flags(module: ir.Module, iterations: int) -> list[bool]:
    """In which iterations of the loop, whose variable starts at 0, the dot adds to what is loop-carried."""
    loop, dot = only(module, "scf.for"), only(module, "ttg.warp_group_dot")
    body = loop.regions[0].blocks[0]
    flag = body.arguments[len(body.arguments) - 1]
    assert dot.operands[3] == flag
    end = body.operations[len(body.operations) - 1]

    def value(of: ir.Value, i: int) -> int:
        if of == body.arguments[0]:
            return i
        op = of.owner.operation
        given = [value(v, i) for v in op.operands]
        match op.name:
            case "arith.constant":
                return int(ir.IntegerAttr(op.attributes["value"]).value) & 0xFF
            case "arith.xori":
                return (given[0] ^ given[1]) & 1
        assert op.name == "arith.cmpi"
        return int(given[0] == given[1])

    found = [bool(value(list(loop.operands)[-1], 0) & 1)]
    for i in range(iterations - 1):
        found.append(bool(value(list(end.operands)[-1], i)))
    return found


@pytest.mark.parametrize("start", ["%start", "%zeros"])
@pytest.mark.parametrize(
    ("more", "new"),
    [
        (f"%z = arith.select %new, %zeros, %w : {SUM}", True),
        (f"%z = arith.select %new, %w, %zeros : {SUM}", False),
        (f"{SPLAT}\n%z = arith.select %c, %zeros, %w : {TYPES}", True),
        (branches("%zeros", "%w"), True),
        (branches("%w", "%zeros"), False),
    ],
)
def test_a_reset_at_the_end_becomes_the_next_predicate(more: str, new: bool, start: str) -> None:
    module = made("", "%t", more=more, yielded="%z", start=start)
    loop = only(module, "scf.for")
    end = loop.regions[0].blocks[0].operations
    assert end[len(end) - 1].operands[0] == only(module, "ttg.warp_group_dot_wait").results[0]
    # iteration 8 resets, or all others do; zeros before the loop need not be added to either
    assert flags(module, 11) == [start != "%zeros", *((i == 8) != new for i in range(10))]
    # behind the loop the flag says whether the accumulator counts
    select = only(module, "arith.select")
    assert list(select.operands)[:2] == [loop.results[1], loop.results[0]]
    assert only(module, "tt.return").operands[0] == select.results[0]


@pytest.mark.parametrize(
    ("lines", "more"),
    [
        ("", f"%z = arith.select %new, %ones, %w : {SUM}"),
        ("", f"%z = arith.select %m, %zeros, %w : {TYPES}"),
        ("", branches("%ones", "%w")),
        ("", branches("%zeros", "%zeros")),
        # something else uses what is loop-carried, or what goes round
        (f"%x = arith.addf %t, %ones : {SUM}", f"%z = arith.select %new, %zeros, %w : {SUM}"),
        ("", f"%z = arith.select %new, %zeros, %w : {SUM}\n%x = arith.addf %z, %ones : {SUM}"),
    ],
)
def test_other_resets_are_left_alone(lines: str, more: str) -> None:
    assert len(only(made(lines, "%t", more=more, yielded="%z"), "ttg.warp_group_dot").operands) == 3


def test_what_a_branch_computes_is_left_alone() -> None:
    computed = _IF.replace("scf.yield SECOND", "%y = arith.addf %w, %ones : SUM\n        scf.yield %y")
    more = computed.replace("FIRST", "%zeros").replace("SUM", SUM)
    assert len(only(made("", "%t", more=more, yielded="%z"), "ttg.warp_group_dot").operands) == 3
