"""Tensors made of numbers are computed again in other layouts; others are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import SHARED, encoding_of
from tri_gpu_dialect.edit import block_ops, functions
from tri_gpu_dialect.encodings import Blocked, Slice
from tri_gpu_dialect.transforms.layout.rematerialize import can_be_rematerialized, rematerialized

N = 64
SQUARE = Blocked((1, 4), (4, 8), (4, 1), (1, 0))
ROW = Slice(0, SQUARE)
SPREAD = Blocked((1,), (32,), (4,), (0,))


def parsed(lines: str) -> ir.Module:
    """A function of ``lines``, whose last value is looked at; ROWi32 is a row of such elements."""
    text = lines
    for name in ("i64", "i32", "i1", "f32"):
        text = text.replace(f"ROW{name}", f"tensor<{N}x{name}, {ROW}>")
    return ir.Module.parse(
        'module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32} {'
        f'"tt.func"() ({{ ^bb0(%s: i32, %n: i32, %t: tensor<{N}xi32, {ROW}>):\n{text}\n"tt.return"() : () -> () }})'
        f' {{sym_name = "f", function_type = (i32, i32, tensor<{N}xi32, {ROW}>) -> ()}} : () -> () }}'
    )


def last(module: ir.Module) -> ir.Operation:
    (function,) = functions(module)
    return block_ops(function.regions[0].blocks[0])[-2]


RANGE = '%r = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> ROWi32'
SCAN = (
    '%v = "tt.scan"(%r) ({ ^bb0(%x: i32, %y: i32): %z = arith.addi %x, %y : i32\n"tt.scan_return"(%z) : (i32) -> () }) '
    "{axis = 0 : i32, reverse = false} : (ROWi32) -> ROWi32"
)
SPLAT = '%a = "tt.splat"(%s) : (i32) -> ROWi32'


def values(value: ir.Value, s: int) -> np.ndarray:
    """What a chain of these ops gives, by NumPy."""
    op = value.owner.operation
    inputs = [values(v, s) for v in op.operands if isinstance(v.type, ir.RankedTensorType)]
    match op.name:
        case "tt.make_range":
            return np.arange(N)
        case "tt.splat":
            return np.full(N, s)
        case "arith.constant":
            return np.full(
                N, ir.IntegerAttr(ir.DenseElementsAttr(op.attributes["value"]).get_splat_value()).value
            )
        case "arith.addi":
            return inputs[0] + inputs[1]
        case "arith.muli":
            return inputs[0] * inputs[1]
        case name:
            raise AssertionError(name)


@given(
    st.lists(st.tuples(st.sampled_from(["addi", "muli"]), st.integers(0, 9), st.integers(0, 9)), max_size=6)
)
def test_it_is_the_same_tensor_in_the_layout_that_is_wanted(ops: list[tuple[str, int, int]]) -> None:
    names = ["%r", "%a", "%k"]
    lines = [RANGE, SPLAT, "%k = arith.constant dense<3> : ROWi32"]
    for number, (op, left, right) in enumerate(ops):
        lines.append(
            f"%v{number} = arith.{op} {names[left % len(names)]}, {names[right % len(names)]} : ROWi32"
        )
        names.append(f"%v{number}")
    module = parsed("\n".join(lines))
    op = last(module)
    assert can_be_rematerialized(op.results[0], SPREAD, SHARED)
    with ir.InsertionPoint.after(op), op.location:
        made = rematerialized(op.results[0], SPREAD, {}, SHARED)
    assert module.operation.verify()
    assert encoding_of(made) == SPREAD
    assert encoding_of(op.results[0]) == ROW
    np.testing.assert_array_equal(values(made, 5), values(op.results[0], 5))


def test_scalars_are_replaced() -> None:
    module = parsed(SPLAT)
    op = last(module)
    (function,) = functions(module)
    first, second, _ = function.regions[0].blocks[0].arguments
    with ir.InsertionPoint.after(op), op.location:
        made = rematerialized(op.results[0], SPREAD, {first: second}, SHARED)
    assert made.owner.operation.operands[0] == second
    assert op.operands[0] == first


@pytest.mark.parametrize(
    "lines",
    [
        f"{SPLAT}\n%v = arith.addi %a, %t : ROWi32",
        f"{RANGE}\n{SCAN}",
    ],
    ids=["an argument", "a scan"],
)
def test_others_are_not(lines: str) -> None:
    module = parsed(lines)
    assert not can_be_rematerialized(last(module).results[0], SPREAD, SHARED)


def test_nor_is_what_takes_many_ops() -> None:
    lines = [RANGE, *(f"%v{i} = arith.addi {f'%v{i - 1}' if i else '%r'}, %r : ROWi32" for i in range(40))]
    module = parsed("\n".join(lines))
    assert not can_be_rematerialized(last(module).results[0], SPREAD, SHARED)
