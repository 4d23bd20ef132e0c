"""Copies and replacements of operations keep what nobody asked to change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_core import mlir
from tri_core.dialects import tt  # noqa: F401  registers the dialect
from tri_core.ir import rewriting
from tri_core.ir.walking import collect
from tri_core.mlir import ir

LOOP = """
func.func @f(%n: index, %a: i32, %b: i32) -> (i32, i32) {
  %0:2 = scf.for %i = %n to %n step %n iter_args(%x = %a, %y = %b) -> (i32, i32) {
    %s = arith.addi %x, %y : i32
    scf.yield %s, %y : i32, i32
  } {tt.num_stages = 3 : i32, test.note = "kept"} loc("here")
  return %0#0, %0#1 : i32, i32
}
"""
WHILE = """
func.func @f(%a: i32) -> i32 {
  %0 = scf.while (%x = %a) : (i32) -> i32 {
    %c = arith.cmpi slt, %x, %a : i32
    scf.condition(%c) %x : i32
  } do {
  ^bb0(%y: i32):
    %z = arith.addi %y, %a : i32
    scf.yield %z : i32
  } attributes {test.note = "kept"} loc("here")
  return %0 : i32
}
"""
IF = """
func.func @f(%c: i1, %a: i32, %b: i32) {
  scf.if %c {
    %0 = arith.addi %a, %b : i32
  } {test.note = "kept"} loc("here")
  return
}
"""


@pytest.fixture(autouse=True)
def _session() -> Iterator[None]:
    with mlir.session():
        yield


def find(module: ir.Module, name: str) -> list[ir.Operation]:
    """The operations of ``module`` called ``name``, outer ones first."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == name:
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def parsed(text: str, name: str) -> tuple[ir.Module, ir.Operation]:
    module = mlir.parse(text)
    return module, find(module, name)[0]


def arguments(module: ir.Module) -> list[ir.Value]:
    return list(find(module, "func.func")[0].regions[0].blocks[0].arguments)


def simplified(module: ir.Module) -> str:
    """The text of a verified module, without what nobody needs; MLIR drops notes where it makes control flow anew."""
    mlir.verify(module)
    mlir.run_passes(module, "canonicalize,cse,canonicalize")
    return str(module).replace(" {test.note}", "").replace(" attributes {test.note}", "")


def is_kept(op: ir.Operation) -> bool:
    return op.attributes["test.note"] == ir.StringAttr.get("kept") and 'loc("here")' in str(op.location)


def test_attributes_are_kept_set_and_left_out() -> None:
    _, loop = parsed(LOOP, "scf.for")
    flag = {"test.flag": ir.UnitAttr.get()}
    assert set(rewriting.attributes_of(loop)) == {"tt.num_stages", "test.note"}
    assert set(rewriting.attributes_of(loop, flag, without=["tt.num_stages"])) == {"test.note", "test.flag"}


def test_an_attribute_that_is_set_wins_over_one_left_out() -> None:
    _, loop = parsed(LOOP, "scf.for")
    note = {"test.note": ir.StringAttr.get("new")}
    assert rewriting.attributes_of(loop, note, without=["test.note"])["test.note"] == note["test.note"]


def test_a_copy_with_other_operands_has_copies_of_the_regions() -> None:
    module, loop = parsed(LOOP, "scf.for")
    operands = list(loop.operands)
    operands[3], operands[4] = operands[4], operands[3]
    copy = rewriting.clone_with(loop, operands=operands, ip=ir.InsertionPoint(loop))
    mlir.verify(module)
    assert is_kept(copy)
    assert [op.operation.name for op in copy.regions[0].blocks[0]] == ["arith.addi", "scf.yield"]
    assert len(find(module, "arith.addi")) == 2


def test_a_copy_is_made_at_the_ambient_insertion_point_with_its_own_location() -> None:
    _, loop = parsed(LOOP, "scf.for")
    with ir.InsertionPoint(loop), ir.Location.name("elsewhere"):
        copy = rewriting.clone_with(
            loop, attributes={"test.flag": ir.UnitAttr.get()}, without=["tt.num_stages"]
        )
    assert is_kept(copy)
    assert "test.flag" in copy.attributes
    assert "tt.num_stages" not in copy.attributes


def test_a_mapped_copy_maps_uses_inside_of_regions() -> None:
    module, branch = parsed(IF, "scf.if")
    _, a, b = arguments(module)
    copy = rewriting.clone_mapped(branch, {a: b}, ir.InsertionPoint(branch))
    inner = copy.regions[0].blocks[0].operations[0]
    assert list(inner.operands) == [b, b]
    assert is_kept(copy)


def test_results_of_a_mapped_copy_enter_the_map() -> None:
    _, add = parsed(LOOP, "arith.addi")
    known: dict[ir.Value, ir.Value] = {}
    copy = rewriting.clone_mapped(add, known, ir.InsertionPoint(add))
    assert known == {add.results[0]: copy.results[0]}


def test_a_loop_like_another() -> None:
    _, loop = parsed(LOOP, "scf.for")
    bounds, first = list(loop.operands)[:3], loop.operands[3]
    made = rewriting.for_like(
        loop, bounds, [first] * 3, without=["tt.num_stages"], ip=ir.InsertionPoint(loop)
    )
    block = made.regions[0].blocks[0]
    assert is_kept(made)
    assert len(made.results) == 3
    assert [str(a.type) for a in block.arguments] == ["index", "i32", "i32", "i32"]
    assert block.arguments[1].location == loop.regions[0].blocks[0].arguments[1].location
    assert block.arguments[3].location == loop.location


def test_a_loop_that_keeps_some_of_its_arguments() -> None:
    """What is kept has its names; what takes the place of the rest has none of them."""
    _, loop = parsed(LOOP, "scf.for")
    bounds, first = list(loop.operands)[:3], loop.operands[3]
    old = loop.regions[0].blocks[0].arguments
    made = rewriting.for_like(loop, bounds, [first] * 2, kept=[1], ip=ir.InsertionPoint(loop))
    arguments = made.regions[0].blocks[0].arguments
    assert [a.location for a in arguments] == [old[0].location, old[2].location, loop.location]


def test_a_while_and_an_if_like_others() -> None:
    module, loop = parsed(WHILE, "scf.while")
    index = ir.IndexType.get()
    made = rewriting.while_like(loop, [], [index], ip=ir.InsertionPoint(loop))
    assert [[str(a.type) for a in r.blocks[0].arguments] for r in made.regions] == [[], ["index"]]
    assert is_kept(made)
    module, branch = parsed(IF, "scf.if")
    made = rewriting.if_like(branch, arguments(module)[0], [index], ip=ir.InsertionPoint(branch))
    assert [len(region.blocks) for region in made.regions] == [0, 0]
    assert is_kept(made)


def test_a_terminator_is_replaced_with_its_attributes_and_location() -> None:
    _, loop = parsed(LOOP, "scf.for")
    body = loop.regions[0].blocks[0]
    old = rewriting.terminator(body)
    old.attributes["test.note"] = ir.StringAttr.get("kept")
    where = old.location
    made = rewriting.replace_terminator(body, [body.arguments[2], body.arguments[1]])
    assert made == rewriting.terminator(body)
    assert made.location == where
    assert "test.note" in made.attributes
    assert list(made.operands) == [body.arguments[2], body.arguments[1]]


def test_a_block_is_ended_where_the_operation_around_it_stands() -> None:
    _, branch = parsed(IF, "scf.if")
    end = rewriting.end_block(branch.regions[1].blocks.append())
    assert end.name == "scf.yield"
    assert end.location == branch.location


def test_a_rebuilt_operation_stands_in_its_place_under_another_name() -> None:
    module, add = parsed(LOOP, "arith.addi")
    made = rewriting.rebuild(add, name="arith.muli", without=["overflowFlags"])
    mlir.verify(module)
    assert not find(module, "arith.addi")
    assert made.results[0] == rewriting.terminator(made.block).operands[0]


def test_a_rebuilt_operation_needs_a_result_for_each_of_the_old_one() -> None:
    _, loop = parsed(LOOP, "scf.for")
    with pytest.raises(ValueError, match="shorter"):
        rewriting.rebuild(loop, results=[loop.results[0].type])


# --- loops ----------------------------------------------------------------------------------------------


def test_a_loop_gets_an_iter_arg_which_the_caller_then_changes() -> None:
    module, loop = parsed(LOOP, "scf.for")
    a = arguments(module)[1]
    made = rewriting.rebuild_loop(loop, added=[a])
    mlir.verify(module)
    body = made.regions[0].blocks[0]
    assert is_kept(made)
    assert "tt.num_stages" in made.attributes
    assert made.operands[5] == a
    assert rewriting.terminator(body).operands[2] == body.arguments[3]
    rewriting.terminator(body).operands[2] = body.arguments[1]
    mlir.verify(module)


def test_a_removed_iter_arg_is_what_it_starts_with() -> None:
    module, loop = parsed(LOOP, "scf.for")
    _, a, b = arguments(module)
    made = rewriting.rebuild_loop(loop, removed=[1])
    mlir.verify(module)
    assert list(made.operands)[3:] == [a]
    assert find(module, "arith.addi")[0].operands[1] == b
    assert find(module, "func.return")[0].operands[1] == b


def test_an_iter_arg_is_retyped_with_its_initial_value() -> None:
    module, loop = parsed(LOOP, "scf.for")
    n = arguments(module)[0]
    made = rewriting.rebuild_loop(loop, initial={1: n}, removed=[0])
    assert [str(r.type) for r in made.results] == ["index"]
    assert [str(a.type) for a in made.regions[0].blocks[0].arguments] == ["index", "index"]


def test_handles_of_operations_in_a_rebuilt_loop_stay_good() -> None:
    module, loop = parsed(LOOP, "scf.for")
    add = find(module, "arith.addi")[0]
    seen = {add: "op", add.results[0]: "result"}
    made = rewriting.rebuild_loop(loop, added=[arguments(module)[1]])
    (again,) = find(module, "arith.addi")
    assert seen[again] == "op"
    assert seen[again.results[0]] == "result"
    assert add.parent.operation == made


def test_a_while_loop_carries_more() -> None:
    module, loop = parsed(WHILE, "scf.while")
    (a,) = arguments(module)
    made = rewriting.rebuild_while(loop, added=[a])
    mlir.verify(module)
    before, after = (region.blocks[0] for region in made.regions)
    assert is_kept(made)
    assert len(made.results) == 2
    assert rewriting.terminator(before).operands[2] == before.arguments[1]
    assert rewriting.terminator(after).operands[1] == after.arguments[1]


def test_a_branch_gives_more_and_gets_a_second_block_for_it() -> None:
    module, branch = parsed(IF, "scf.if")
    a = arguments(module)[1]
    made = rewriting.rebuild_if(branch, added=[a])
    mlir.verify(module)
    assert is_kept(made)
    assert [list(rewriting.terminator(r.blocks[0]).operands) for r in made.regions] == [[a], [a]]


def test_a_branch_without_results_needs_no_second_block() -> None:
    module, branch = parsed(IF, "scf.if")
    made = rewriting.rebuild_if(branch, attributes={"test.flag": ir.UnitAttr.get()})
    mlir.verify(module)
    assert [len(region.blocks) for region in made.regions] == [1, 0]


# --- random programs ------------------------------------------------------------------------------------


class Program:
    """Structured control flow of i32 values, drawn at random; every operation in it has a note."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def pick(self, values: list[str]) -> str:
        return self.draw(st.sampled_from(values))

    def block(self, values: list[str], depth: int) -> tuple[str, list[str]]:
        """Text of some operations, and all values that are visible behind them."""
        values, text = list(values), ""
        kinds = [self.add, self.load, self.for_, self.while_, self.if_] if depth else [self.add, self.load]
        for _ in range(self.draw(st.integers(1, 3))):
            made, line = self.draw(st.sampled_from(kinds))(values, depth)
            text, values = text + line, [*values, made]
        return text, values

    def add(self, values: list[str], depth: int) -> tuple[str, str]:
        made = self.name()
        return made, f"{made} = arith.addi {self.pick(values)}, {self.pick(values)} {{test.note}} : i32\n"

    def load(self, values: list[str], depth: int) -> tuple[str, str]:
        made = self.name()
        attributes = "{operandSegmentSizes = array<i32: 1, 0, 0>, isVolatile = true, test.note}"
        return made, f'{made} = "tt.load"(%p) {attributes} : (!tt.ptr<i32, "global">) -> i32\n'

    def for_(self, values: list[str], depth: int) -> tuple[str, str]:
        made, argument = self.name(), self.name()
        body, inner = self.block([*values, argument], depth - 1)
        return made, (
            f"{made} = scf.for %i{made[2:]} = %n to %m step %n iter_args({argument} = {self.pick(values)}) -> (i32) {{\n"
            f"{body}scf.yield {self.pick(inner)} : i32\n}} {{test.note}}\n"
        )

    def while_(self, values: list[str], depth: int) -> tuple[str, str]:
        made, first, second = self.name(), self.name(), self.name()
        head, early = self.block([*values, first], depth - 1)
        body, late = self.block([*values, second], depth - 1)
        condition = self.name()
        return made, (
            f"{made} = scf.while ({first} = {self.pick(values)}) : (i32) -> i32 {{\n{head}"
            f"{condition} = arith.cmpi slt, {self.pick(early)}, %a : i32\n"
            f"scf.condition({condition}) {self.pick(early)} : i32\n}} do {{\n^bb0({second}: i32):\n{body}"
            f"scf.yield {self.pick(late)} : i32\n}} attributes {{test.note}}\n"
        )

    def if_(self, values: list[str], depth: int) -> tuple[str, str]:
        made = self.name()
        (one, first), (other, second) = (self.block(values, depth - 1) for _ in range(2))
        return made, (
            f"{made} = scf.if %c -> (i32) {{\n{one}scf.yield {self.pick(first)} : i32\n}} else {{\n{other}"
            f"scf.yield {self.pick(second)} : i32\n}} {{test.note}}\n"
        )


@st.composite
def programs(draw: st.DrawFn) -> str:
    body, values = Program(draw).block(["%a", "%b"], 2)
    return (
        'func.func @f(%n: index, %m: index, %c: i1, %a: i32, %b: i32, %p: !tt.ptr<i32, "global">) -> i32 {\n'
        f"{body}return {values[-1]} : i32\n}}"
    )


def rewritten(module: ir.Module, rewrite: Callable[[ir.Operation], Any], *names: str) -> None:
    for op in [op for name in names for op in find(module, name)]:
        rewrite(op)


_REBUILD = {
    "scf.for": rewriting.rebuild_loop,
    "scf.while": rewriting.rebuild_while,
    "scf.if": rewriting.rebuild_if,
}


@settings(max_examples=20, deadline=None)
@given(programs())
def test_values_that_come_round_unchanged_change_nothing(text: str) -> None:
    with mlir.session():
        module, before = mlir.parse(text), simplified(mlir.parse(text))
        notes = str(module).count("test.note")
        added = arguments(module)[3:5]
        rewritten(module, lambda op: _REBUILD[op.name](op, added=added), *_REBUILD)
        assert str(module).count("test.note") == notes
        assert simplified(module) == before


@settings(max_examples=20, deadline=None)
@given(programs())
def test_iter_args_that_are_added_and_removed_leave_the_loop_as_it_was(text: str) -> None:
    with mlir.session():
        module = mlir.parse(text)
        before = str(module)
        added = arguments(module)[3:5]
        rewritten(
            module,
            lambda op: rewriting.rebuild_loop(rewriting.rebuild_loop(op, added=added), removed=[1, 2]),
            "scf.for",
        )
        mlir.verify(module)
        assert str(module) == before


@settings(max_examples=20, deadline=None)
@given(programs())
def test_copies_that_change_nothing_are_the_same(text: str) -> None:
    def replaced(op: ir.Operation) -> None:
        copy = rewriting.clone_with(op, ip=ir.InsertionPoint(op))
        known: dict[ir.Value, ir.Value] = {}
        again = rewriting.clone_mapped(copy, known, ir.InsertionPoint(op))
        rewriting.replace_with(op, list(again.results))
        copy.erase()

    with mlir.session():
        module = mlir.parse(text)
        before = module.operation.get_asm(enable_debug_info=True)
        for view in list(find(module, "func.func")[0].regions[0].blocks[0]):
            if not re.match("func.return", view.operation.name):
                replaced(view.operation)
        mlir.verify(module)
        assert module.operation.get_asm(enable_debug_info=True) == before


# --- what goes ------------------------------------------------------------------------------------------

DEAD = """
func.func private @effect(i32)
func.func @f(%n: index, %x: tensor<8xi32>, %a: i32) {
  %0 = arith.addi %x, %x : tensor<8xi32>
  %1 = "tt.reduce"(%0) ({
  ^bb0(%l: i32, %r: i32):
    %s = arith.addi %l, %r : i32
    "tt.reduce_return"(%s) : (i32) -> ()
  }) {axis = 0 : i32} : (tensor<8xi32>) -> i32
  %2 = arith.addi %1, %1 : i32
  scf.for %i = %n to %n step %n {
    %3 = arith.subi %2, %2 : i32
    func.call @effect(%a) : (i32) -> ()
  }
  return
}
"""


def test_what_nobody_uses_goes_with_its_regions() -> None:
    with mlir.session():
        module = mlir.parse(DEAD)
        rewriting.erase_dead(module.operation)
        mlir.verify(module)
        left = [op.name for op in collect(module.operation)]
    assert not {"tt.reduce", "arith.addi", "arith.subi", "tt.reduce_return"} & set(left)
    assert {"scf.for", "func.call"} <= set(left)


def test_only_what_may_go_goes() -> None:
    with mlir.session():
        module = mlir.parse(DEAD)
        rewriting.erase_dead(module.operation, lambda op: op.name == "arith.subi")
        left = [op.name for op in collect(module.operation)]
    assert "arith.subi" not in left
    assert left.count("arith.addi") == 3


@pytest.mark.parametrize("inner_first", [True, False])
def test_ops_go_once(inner_first: bool) -> None:
    with mlir.session():
        module = mlir.parse(DEAD)
        ops = [op for op in collect(module.operation) if op.name in ("scf.for", "arith.subi", "func.call")]
        rewriting.erase_all(ops if inner_first else ops[::-1])
        mlir.verify(module)
        left = [op.name for op in collect(module.operation)]
    assert not {"scf.for", "arith.subi", "func.call"} & set(left)


SHARED = """
func.func @f(%a: i32, %b: i32) -> i32 {
  %shared = arith.addi %a, %b : i32
  %left = arith.subi %shared, %a : i32
  %right = arith.muli %shared, %left : i32
  %kept = arith.andi %shared, %b : i32
  %top = arith.xori %right, %left : i32
  %whole = arith.ori %top, %right : i32
  return %kept : i32
}
"""


def _named(module: ir.Module, name: str) -> ir.Operation:
    return next(op for op in collect(module.operation) if op.name == name)


def test_shared_makers_go_once_and_those_that_are_used_stay() -> None:
    with mlir.session():
        module = mlir.parse(SHARED)
        rewriting.erase_unused(_named(module, "arith.ori"))
        mlir.verify(module)
        left = [op.name for op in collect(module.operation) if op.name.startswith("arith.")]
    assert left == ["arith.addi", "arith.andi"]


def test_makers_that_may_not_go_stay() -> None:
    with mlir.session():
        module = mlir.parse(SHARED)
        rewriting.erase_unused(_named(module, "arith.ori"), lambda op: op.name != "arith.muli")
        left = [op.name for op in collect(module.operation) if op.name.startswith("arith.")]
    assert left == ["arith.addi", "arith.subi", "arith.muli", "arith.andi"]


def test_what_is_used_is_not_erased() -> None:
    with mlir.session():
        module = mlir.parse(SHARED)
        rewriting.erase_unused(_named(module, "arith.addi"))
        assert len([op for op in collect(module.operation) if op.name.startswith("arith.")]) == 6


def test_a_chain_of_thousands_goes() -> None:
    lines = [f"  %{i + 1} = arith.addi %{i}, %{i} : i32" for i in range(5000)]
    text = "\n".join(["func.func @f(%a: i32) {", "  %0 = arith.addi %a, %a : i32", *lines, "  return", "}"])
    with mlir.session():
        module = mlir.parse(text)
        last = [op for op in collect(module.operation) if op.name == "arith.addi"][-1]
        rewriting.erase_unused(last)
        assert not [op for op in collect(module.operation) if op.name == "arith.addi"]
