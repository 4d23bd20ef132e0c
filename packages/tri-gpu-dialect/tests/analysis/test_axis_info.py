"""Axis information is checked against the values that the expressions really have."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tri_core.mlir import ir
from tri_gpu_dialect.analysis import AxisInfo, AxisInfos, axis_info
from tri_gpu_dialect.analysis.axis_value import BIG

Array = npt.NDArray[np.int64]
SIZE = 32
PREDICATES: list[Callable[[Array, Array], Array]] = [
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
]  # fmt: skip


def analyse(body: str, args: str = "", arg_attrs: str = "") -> tuple[AxisInfos, list[ir.Operation]]:
    attrs = f", arg_attrs = [{arg_attrs}]" if arg_attrs else ""
    types = ", ".join(arg.split(":", 1)[1] for arg in re.split(r",\s*(?=%)", args) if arg)
    text = f'"tt.func"() ({{ ^bb0({args}):\n{body}\n"tt.return"() : () -> () }}) {{sym_name = "f", function_type = ({types}) -> (){attrs}}} : () -> ()'
    module = ir.Module.parse(text)
    function = module.body.operations[0].operation
    infos = axis_info(function)
    infos.module = module  # type: ignore[attr-defined]  # keeps the ops alive
    return infos, [op.operation for op in function.regions[0].blocks[0]]


def last(body: str, args: str = "", arg_attrs: str = "") -> AxisInfo:
    infos, ops = analyse(body, args, arg_attrs)
    return infos.of(ops[-2].results[0])


# --- random expressions ---------------------------------------------------------------------------------


@dataclass
class Node:
    text: str
    value: Array
    #: whether the least element is a fact of the program, not of its arguments
    closed: bool


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, list[Node], dict[str, int]]:
    arguments = {"%n": draw(st.integers(0, 12)) * 16, "%m": draw(st.integers(0, 200))}
    lines: list[str] = []
    nodes: list[Node] = []

    def add(text: str, value: Array, closed: bool, type_: str = f"tensor<{SIZE}xi64>") -> None:
        lines.append(f"%{len(nodes)} = {text}")
        nodes.append(Node(type_, value, closed))

    start = draw(st.integers(0, 5)) * 8
    attrs = f"{{start = {start} : i32, end = {start + SIZE} : i32}}"
    range_type = f"tensor<{SIZE}xi32>"
    add(f'"tt.make_range"() {attrs} : () -> {range_type}', np.arange(start, start + SIZE), True, range_type)
    add(f"arith.extsi %0 : {range_type} to tensor<{SIZE}xi64>", np.arange(start, start + SIZE), True)
    for name, value in arguments.items():
        add(f'"tt.splat"({name}) : (i64) -> tensor<{SIZE}xi64>', np.full(SIZE, value), False)
    for _ in range(draw(st.integers(1, 6))):
        numbers = [i for i, node in enumerate(nodes) if "xi64" in node.text]
        a, b = (draw(st.sampled_from(numbers)) for _ in range(2))
        if draw(st.booleans()):
            number = draw(st.sampled_from([-16, -3, -1, 0, 1, 2, 3, 4, 7, 8, 16, 24, 64]))
            b = len(nodes)
            add(f"arith.constant dense<{number}> : tensor<{SIZE}xi64>", np.full(SIZE, number), True)
        _operation(draw, add, nodes, a, b)
    return "\n".join(lines), nodes, arguments


def _operation(draw, add, nodes: list[Node], a: int, b: int) -> None:  # type: ignore[no-untyped-def]
    x, y = nodes[a].value, nodes[b].value
    closed = nodes[a].closed and nodes[b].closed
    name = draw(
        st.sampled_from(["addi", "subi", "muli", "divsi", "remsi", "andi", "ori", "shli", "minsi", "cmp"])
    )
    if name in ("divsi", "remsi"):
        # below zero only where the analysis can know it; division by zero is nobody's business
        assume((y > 0).all() and (nodes[a].closed or (x >= 0).all()))
    if name == "shli":
        assume(((y >= 0) & (y < 8)).all())
    quotient = np.sign(x) * (np.abs(x) // np.where(y == 0, 1, y))
    value = {
        "addi": x + y, "subi": x - y, "muli": x * y, "divsi": quotient, "remsi": x - quotient * y,
        "andi": x & y, "ori": x | y, "shli": x << (y & 7), "minsi": np.minimum(x, y), "cmp": x,
    }[name]  # fmt: skip
    assume(np.abs(value).max() < 1 << 40)
    if name != "cmp":
        return add(
            f"arith.{name} %{a}, %{b} : tensor<{SIZE}xi64>", value, closed and name in ("addi", "subi")
        )
    which = draw(st.integers(0, 5))
    word = ("eq", "ne", "slt", "sle", "sgt", "sge")[which]
    text = f"arith.cmpi {word}, %{a}, %{b} : tensor<{SIZE}xi64>"
    chosen = PREDICATES[which](x, y)
    add(text, chosen, False, f"tensor<{SIZE}xi1>")
    c = len(nodes) - 1
    select = f"arith.select %{c}, %{a}, %{b} : tensor<{SIZE}xi1>, tensor<{SIZE}xi64>"
    return add(select, np.where(chosen, x, y), False)


def check(info: AxisInfo, value: Array) -> None:
    if info.value is not None:
        assert (value == info.value).all()
    if info.low is not None:
        assert value.min() == info.low or value.min() >= info.low
    runs = value.reshape(-1, info.contiguity[0])
    assert (runs == runs[:, :1] + np.arange(info.contiguity[0])).all()
    assert (runs[:, 0] % min(info.divisibility[0], BIG) == 0).all()
    equal = value.reshape(-1, info.constancy[0])
    assert (equal == equal[:, :1]).all()


@given(programs())
def test_what_is_claimed_is_true(program) -> None:  # type: ignore[no-untyped-def]
    body, nodes, arguments = program
    hints = "{tt.divisibility = 16 : i32}, {}"
    # selects and comparisons use nodes by number: every line made one
    infos, ops = analyse(body, ", ".join(f"{n}: i64" for n in arguments), hints)
    for op, node in zip(ops, nodes, strict=False):
        info = infos.of(op.results[0])
        check(info, node.value.astype(np.int64) if "xi1" not in node.text else node.value * 1)


# --- single rules ---------------------------------------------------------------------------------------


RANGE = '%r = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>\n'


def test_a_range_plus_a_multiple_keeps_its_runs() -> None:
    body = RANGE + (
        "%c = arith.constant 128 : i32\n%p = arith.muli %a, %c : i32\n"
        '%s = "tt.splat"(%p) : (i32) -> tensor<64xi32>\n%x = arith.addi %s, %r : tensor<64xi32>'
    )
    assert last(body, "%a: i32") == AxisInfo((64,), (128,), (1,))


def test_quotient_and_remainder_of_a_range() -> None:
    eight = "%c = arith.constant dense<8> : tensor<64xi32>\n"
    assert last(RANGE + eight + "%x = arith.divsi %r, %c : tensor<64xi32>").constancy == (8,)
    assert last(RANGE + eight + "%x = arith.remsi %r, %c : tensor<64xi32>").contiguity == (8,)


def test_signed_division_of_a_range_below_zero_claims_nothing() -> None:
    body = RANGE + (
        "%c = arith.constant dense<8> : tensor<64xi32>\n%n = arith.subi %r, %c : tensor<64xi32>\n"
        "%x = arith.remsi %n, %c : tensor<64xi32>"
    )
    assert last(body).contiguity == (1,)


def test_a_mask_against_an_aligned_bound_is_constant_in_runs() -> None:
    body = RANGE + (
        '%s = "tt.splat"(%n) : (i32) -> tensor<64xi32>\n%x = arith.cmpi slt, %r, %s : tensor<64xi32>'
    )
    assert last(body, "%n: i32", "{tt.divisibility = 16 : i32}").constancy == (16,)
    assert last(body, "%n: i32").constancy == (1,)


POINTERS = RANGE + (
    '%s = "tt.splat"(%p) : (!tt.ptr<f16, "global">) -> tensor<64x!tt.ptr<f16, "global">>\n'
    '%x = "tt.addptr"(%s, %r) : (tensor<64x!tt.ptr<f16, "global">>, tensor<64xi32>)'
    ' -> tensor<64x!tt.ptr<f16, "global">>'
)


def test_pointers_count_divisibility_in_bytes() -> None:
    infos, ops = analyse(POINTERS, '%p: !tt.ptr<f16, "global">', "{tt.divisibility = 16 : i32}")
    pointers = ops[2].results[0]
    assert infos.of(pointers) == AxisInfo((64,), (16,), (1,))
    assert infos.contiguous(pointers, 0) == 8
    assert infos.alignment(pointers, 0) == 16


def test_two_dimensions() -> None:
    body = RANGE + (
        '%e = "tt.expand_dims"(%r) {axis = 0 : i32} : (tensor<64xi32>) -> tensor<1x64xi32>\n'
        '%x = "tt.broadcast"(%e) : (tensor<1x64xi32>) -> tensor<32x64xi32>'
    )
    assert last(body) == AxisInfo((1, 64), (1, BIG), (32, 1), low=0)
    transposed = (
        body + '\n%t = "tt.trans"(%x) {order = array<i32: 1, 0>} : (tensor<32x64xi32>) -> tensor<64x32xi32>'
    )
    assert last(transposed).contiguity == (64, 1)


LOOP = """
%i0 = arith.constant 0 : i32
%i1 = arith.constant 1 : i32
%zero = arith.constant dense<0> : tensor<64xi32>
%step = arith.constant dense<STEP> : tensor<64xi32>
%l = scf.for %i = %i0 to %n step %i1 iter_args(%x = %r) -> (tensor<64xi32>) : i32 {
  %y = arith.addi %x, %step : tensor<64xi32>
  scf.yield %y : tensor<64xi32>
}
"""


@pytest.mark.parametrize(("step", "divisibility"), [(16, 16), (8, 8), (3, 1), (-8, 8)])
def test_loops_reach_a_fixpoint(step: int, divisibility: int) -> None:
    made = last(RANGE + LOOP.replace("STEP", str(step)), "%n: i32")
    assert (made.contiguity, made.divisibility) == ((64,), (divisibility,))


def test_branches_join() -> None:
    body = (
        RANGE
        + """
%c = arith.constant dense<4> : tensor<64xi32>
%x = scf.if %b -> (tensor<64xi32>) {
  scf.yield %r : tensor<64xi32>
} else {
  %y = arith.addi %r, %c : tensor<64xi32>
  scf.yield %y : tensor<64xi32>
}"""
    )
    made = last(body, "%b: i1")
    assert (made.contiguity, made.divisibility) == ((64,), (4,))


def test_while_loops_join() -> None:
    body = (
        RANGE
        + """
%c = arith.constant dense<32> : tensor<64xi32>
%x = scf.while (%v = %r) : (tensor<64xi32>) -> tensor<64xi32> {
  scf.condition(%b) %v : tensor<64xi32>
} do {
^bb0(%v: tensor<64xi32>):
  %y = arith.addi %v, %c : tensor<64xi32>
  scf.yield %y : tensor<64xi32>
}"""
    )
    made = last(body, "%b: i1")
    assert (made.contiguity, made.divisibility) == ((64,), (32,))


def test_hints_state_what_cannot_be_seen() -> None:
    body = '%s = "tt.splat"(%n) {tt.contiguity = dense<8> : tensor<1xi32>} : (i32) -> tensor<64xi32>'
    assert last(body, "%n: i32").contiguity == (8,)
