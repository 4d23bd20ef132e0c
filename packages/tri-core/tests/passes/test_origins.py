"""Where pointers come from when loops carry them, what is zero, and what values reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tri_core import mlir
from tri_core.mlir import ir
from tri_core.passes.origins import argument_of, arguments_of, is_zero, reaches

_LOOP = """
%c0 = arith.constant 0 : i32
%c1 = arith.constant 1 : i32
%ps = "tt.splat"(%p) : (ptr<f32>) -> tensor<8xptr<f32>>
%qs = "tt.splat"(%q) : (ptr<f32>) -> tensor<8xptr<f32>>
%step = arith.constant dense<8> : tensor<8xi32>
%r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %ps, %b = %qs) -> (tensor<8xptr<f32>>, tensor<8xptr<f32>>) : i32 {
  %v = "tt.load"(%a) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<8xptr<f32>>) -> tensor<8xf32>
  %next = "tt.addptr"(%a, %step) : (tensor<8xptr<f32>>, tensor<8xi32>) -> tensor<8xptr<f32>>
  scf.yield YIELDED : tensor<8xptr<f32>>, tensor<8xptr<f32>>
}
%w = "tt.load"(%r#0) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<8xptr<f32>>) -> tensor<8xf32>
"""
_CHOSEN = """
%c0 = arith.constant 0 : i32
%positive = arith.cmpi sgt, %n, %c0 : i32
%selected = arith.select %positive, %p, %q : ptr<f32>
%branched = scf.if %positive -> (ptr<f32>) { scf.yield %p : ptr<f32> } else { scf.yield OTHER : ptr<f32> }
%number = arith.extsi %n : i32 to i64
%made = "tt.int_to_ptr"(%number) : (i64) -> ptr<f32>
%mixed = arith.select %positive, %p, %made : ptr<f32>
"""
_VALUES = """
%i0 = arith.constant 0 : i32
%i1 = arith.constant 1 : i32
%f0 = arith.constant dense<0.0> : tensor<8xf32>
%minus = arith.constant dense<-0.0> : tensor<8xf32>
%two = arith.constant dense<[0, 1]> : tensor<2xi32>
%s0 = "tt.splat"(%i0) : (i32) -> tensor<8xi32>
%s1 = "tt.splat"(%i1) : (i32) -> tensor<8xi32>
%sn = "tt.splat"(%n) : (i32) -> tensor<8xi32>
"""


@pytest.fixture
def ops(function: Callable[..., str]) -> Iterator[Callable[[str], list[ir.Operation]]]:
    """The ops of a function with the arguments p, q and n, in order."""
    kept: list[ir.Module] = []

    def parse(body: str) -> list[ir.Operation]:
        module = mlir.parse(function("%p: ptr<f32>, %q: ptr<f32>, %n: i32", body))
        kept.append(module)
        found: list[ir.Operation] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            found.append(op)
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
        return found

    with mlir.session():
        yield parse


@pytest.mark.parametrize(
    ("yielded", "known"), [("%next, %b", True), ("%a, %b", True), ("%b, %a", False), ("%b, %next", False)]
)
def test_a_carried_pointer_is_followed_if_it_is_computed_from_itself(
    ops: Callable[[str], list[ir.Operation]], yielded: str, known: bool
) -> None:
    """Pointers that change places are of either argument: nothing is known."""
    found = ops(_LOOP.replace("YIELDED", yielded))
    (function,) = (op for op in found if op.name == "tt.func")
    first = function.regions[0].blocks[0].arguments[0]
    inside, behind = (op for op in found if op.name == "tt.load")
    for load in (inside, behind):
        assert argument_of(load.operands[0]) == (first if known else None)


@pytest.mark.parametrize("yielded", ["%next, %b", "%b, %next"])
def test_arguments_of_carried_pointers(ops: Callable[[str], list[ir.Operation]], yielded: str) -> None:
    """Pointers that change places are of both arguments."""
    found = ops(_LOOP.replace("YIELDED", yielded))
    (function,) = (op for op in found if op.name == "tt.func")
    first, second, _ = function.regions[0].blocks[0].arguments
    expected = {first} if yielded.startswith("%next") else {first, second}
    for load in (op for op in found if op.name == "tt.load"):
        assert arguments_of(load.operands[0]) == expected


@pytest.mark.parametrize("other", ["%p", "%q", "%made_before"])
def test_arguments_of_chosen_pointers(ops: Callable[[str], list[ir.Operation]], other: str) -> None:
    made = '%wide = arith.extsi %n : i32 to i64\n%made_before = "tt.int_to_ptr"(%wide) : (i64) -> ptr<f32>\n'
    found = ops(made + _CHOSEN.replace("OTHER", other))
    (function,) = (op for op in found if op.name == "tt.func")
    first, second, _ = function.regions[0].blocks[0].arguments
    selected, mixed = (op.results[0] for op in found if op.name == "arith.select")
    (branched,) = (op.results[0] for op in found if op.name == "scf.if")
    assert arguments_of(selected) == {first, second}
    assert arguments_of(mixed) is None
    assert arguments_of(branched) == {"%p": {first}, "%q": {first, second}}.get(other)


def test_zeros(ops: Callable[[str], list[ir.Operation]]) -> None:
    made = [op.results[0] for op in ops(_VALUES) if len(op.results)]
    assert [is_zero(value) for value in made] == [True, False, True, False, False, True, False, False]


def test_what_a_value_reaches(ops: Callable[[str], list[ir.Operation]]) -> None:
    splat = next(op for op in ops(_LOOP.replace("YIELDED", "%next, %b")) if op.name == "tt.splat")

    def carried(use: ir.OpOperand) -> bool:
        return use.owner.name == "scf.for"

    assert reaches([splat.operands[0]], carried, lambda op: op.name == "tt.splat")
    assert not reaches([splat.operands[0]], carried, lambda op: op.name == "tt.addptr")
