"""Control flow as ops declare it: those of scf, and one that a third party brings."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from typing import Any

import pytest

from tri_core import mlir
from tri_core.errors import VerificationError
from tri_core.ir.regions import (
    Edge,
    For,
    ForwardWalk,
    If,
    LoopLike,
    RegionBranch,
    RegionBranchTerminator,
    While,
    carried_results,
    counted,
    edges_of,
    ends_region,
    is_branch,
    is_control,
    is_loop,
    loops_in,
    predecessors,
    region_blocks,
)
from tri_core.ir.rewriting import terminator
from tri_core.ir.walking import collect
from tri_core.mlir import ext, ir


class Flow(ext.Dialect, name="made_up_flow"):
    """A dialect as somebody else may have it."""


class RepeatOp(Flow.Operation, name="repeat", traits=[LoopLike]):
    """Runs its region ``times`` times with what it carries."""

    out: ext.Result[Any]
    times: ext.Operand[Any]
    init: ext.Operand[Any]
    body: ext.Region

    def region_edges(self) -> list[Edge]:
        op = self.operation
        block = op.regions[0].blocks[0]
        end = terminator(block)
        return [
            Edge(op, op, 1, 1, block),
            Edge(op, op, 1, 1, None),
            Edge(op, end, 0, 1, block),
            Edge(op, end, 0, 1, None),
        ]


class AgainOp(Flow.Operation, name="again", traits=[ir.IsTerminatorTrait, RegionBranchTerminator]):
    value: ext.Operand[Any]


class SilentOp(Flow.Operation, name="silent", traits=[RegionBranch]):
    """Says that it branches, and not how."""

    body: ext.Region


TEXT = """func.func @f(%n: i32, %x: i32, %c: i1) -> (i32, i32, i32, i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %loop = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (i32) : i32 {
    %next = arith.addi %a, %i : i32
    scf.yield %next : i32
  }
  %while = scf.while (%b = %x) : (i32) -> i32 {
    %more = arith.cmpi slt, %b, %n : i32
    scf.condition(%more) %b : i32
  } do {
  ^bb0(%d: i32):
    %twice = arith.addi %d, %d : i32
    scf.yield %twice : i32
  }
  %if = scf.if %c -> (i32) {
    scf.yield %x : i32
  } else {
    scf.yield %n : i32
  }
  %repeat = "made_up_flow.repeat"(%n, %x) ({
  ^bb0(%e: i32):
    %more_of_it = arith.muli %e, %n : i32
    "made_up_flow.again"(%more_of_it) : (i32) -> ()
  }) : (i32, i32) -> i32
  return %loop, %while, %if, %repeat : i32, i32, i32, i32
}"""


@pytest.fixture
def ops():
    mlir.registry.add_dialect(Flow)
    with mlir.session():
        module = ir.Module.parse(TEXT)
        yield {op.name: op for op in collect(module.operation)}


def _names(values) -> list[str]:
    return [v.get_name() for v in values]


def test_a_counted_loop_hands_on_what_it_carries(ops):
    loop = For(ops["scf.for"])
    assert _names(loop.bounds) == ["%c0_i32", "%arg0", "%c1_i32"]
    assert (loop.lower, loop.upper, loop.step) == tuple(loop.bounds)
    assert not loop.is_unsigned
    assert _names(loop.inits) == ["%arg1"]
    assert [e.values for e in edges_of(loop.op)] == [loop.inits, loop.inits, loop.yielded, loop.yielded]
    assert [e.targets for e in edges_of(loop.op)] == [loop.carried, list(loop.op.results)] * 2
    assert [e.enters for e in edges_of(loop.op)] == [True, True, False, False]
    assert predecessors(loop.carried[0]) == [*loop.inits, *loop.yielded]
    assert predecessors(loop.op.results[0]) == [*loop.inits, *loop.yielded]
    assert predecessors(loop.variable) is None
    assert counted(loop.variable).op == loop.op
    assert counted(loop.carried[0]) is None
    assert counted(loop.inits[0]) is None
    assert carried_results(edges_of(loop.op)) == [(loop.carried, list(loop.op.results))]


def test_a_while_goes_through_both_blocks(ops):
    loop = While(ops["scf.while"])
    assert region_blocks(loop.op) == [loop.before, loop.after]
    assert predecessors(loop.before.arguments[0]) == [*loop.inits, *loop.yielded]
    assert predecessors(loop.after.arguments[0]) == loop.passed
    assert predecessors(loop.op.results[0]) == loop.passed
    assert loop.condition.owner.operation.name == "arith.cmpi"
    assert carried_results(edges_of(loop.op)) == [(list(loop.after.arguments), list(loop.op.results))]


def test_a_branch_gives_what_one_of_its_blocks_gives(ops):
    branch = If(ops["scf.if"])
    assert _names(predecessors(branch.op.results[0])) == ["%arg1", "%arg0"]
    assert branch.blocks == [branch.then, branch.otherwise]
    assert branch.condition == branch.op.operands[0]
    assert carried_results(edges_of(branch.op)) == []


def test_views_are_of_their_op_alone(ops):
    assert For.of(ops["scf.if"]) is None
    assert For.of(None) is None
    assert If.of(ops["scf.if"]).op == ops["scf.if"]
    assert loops_in(ops["func.func"]) == [ops["scf.for"]]


@pytest.mark.parametrize(
    ("name", "loops", "branches"),
    [
        ("scf.for", True, False),
        ("scf.while", True, False),
        ("scf.if", False, True),
        ("made_up_flow.repeat", True, False),
        ("func.func", False, False),
        ("arith.muli", False, False),
    ],
)
def test_what_ops_are(ops, name, loops, branches):
    op = ops[name]
    assert (is_loop(op), is_branch(op)) == (loops, branches)
    assert is_control(op) == (loops or branches)
    assert not ends_region(op)


@pytest.mark.parametrize("name", ["scf.yield", "scf.condition", "made_up_flow.again"])
def test_terminators_hand_on(ops, name):
    assert ends_region(ops[name])


class _Parameters(ForwardWalk):
    """Of which of the function's parameters a value is made."""

    def __init__(self) -> None:
        self.made: dict[ir.Value, frozenset[int]] = {}

    def op(self, op):
        for result in op.results:
            self.made[result] = frozenset().union(*(self.made.get(v, frozenset()) for v in op.operands))

    def join(self, targets, values, *, loop):
        news = False
        for target, value in zip(targets, values, strict=True):
            have = self.made.get(target, frozenset())
            more = have | self.made.get(value, frozenset())
            news |= more != have
            self.made[target] = more
        return news


def test_a_forward_walk_says_what_ops_make_and_where_control_meets():
    class Silent(ForwardWalk):
        """Defines neither."""

    with pytest.raises(TypeError, match=r"join.*op"):
        Silent()


def test_a_forward_walk_reaches_a_fixpoint_in_anybodys_regions(ops):
    walk = _Parameters()
    block = ops["func.func"].regions[0].blocks[0]
    walk.made = {a: frozenset({i}) for i, a in enumerate(block.arguments)}
    walk.block(block)
    made = {
        name: walk.made[ops[name].results[0]]
        for name in ops
        if name.startswith(("scf.", "made_up")) and len(ops[name].results)
    }
    # the induction variable is known of to nobody here
    assert made == {
        "scf.for": {1},
        "scf.while": {1},
        "scf.if": {0, 1},
        "made_up_flow.repeat": {0, 1},
    }
    body = ops["made_up_flow.repeat"].regions[0].blocks[0]
    assert walk.made[body.arguments[0]] == {0, 1}


def test_an_op_that_says_nothing_is_refused(ops):
    mlir.registry.add_dialect(Flow)
    module = ir.Module.parse(
        'func.func @g(%x: i32) { "made_up_flow.silent"() ({ "made_up_flow.again"(%x) : (i32) -> () }) : () -> ()\n return }'
    )
    op = next(o for o in collect(module.operation) if o.name == "made_up_flow.silent")
    with pytest.raises(VerificationError, match=r"made_up_flow\.silent is a RegionBranch") as caught:
        edges_of(op)
    assert "region_edges" in caught.value.remedy
