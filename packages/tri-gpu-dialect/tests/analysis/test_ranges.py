"""Ranges hold every value: random expressions, evaluated on all elements of small ranges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_core import mlir
from tri_core.dialects.tt import TT
from tri_core.mlir import ir, registry
from tri_gpu_dialect.analysis.ranges import Ranges

if "tt" not in registry.dialects:
    registry.add_dialect(TT)

Array = npt.NDArray[np.int64]
SIZE = 16


def _trunc_div(x: Array, y: Array) -> Array:
    return np.where(y == 0, 0, np.abs(x) // np.maximum(np.abs(y), 1) * np.sign(x) * np.sign(y))


OPS: dict[str, Callable[[Array, Array], Array]] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.minsi": np.minimum,
    "arith.maxsi": np.maximum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.divsi": _trunc_div,
    "arith.remsi": lambda x, y: np.where(y == 0, 0, x - _trunc_div(x, y) * y),
}


def wrapped(values: Array) -> Array:
    return values.astype(np.int32).astype(np.int64)


@st.composite
def steps(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    """Leaves as ("range", start, 0) or ("constant", n, 0), then ops on earlier values by index."""
    leaves = [
        ("range", draw(st.integers(-50, 50)), 0),
        ("constant", draw(st.integers(-(1 << 31), (1 << 31) - 1)), 0),
    ]
    leaves += [("constant", draw(st.integers(1, 9)), 0)]
    for count in range(3, 3 + draw(st.integers(1, 6))):
        index = st.integers(0, count - 1)
        leaves.append((draw(st.sampled_from(sorted(OPS))), draw(index), draw(index)))
    return leaves


@settings(max_examples=150, deadline=None)
@given(steps())
def test_every_value_lies_in_its_range(program: list[tuple[str, int, int]]) -> None:
    with mlir.session():
        module = ir.Module.create()
        type_ = ir.RankedTensorType.get([SIZE], ir.IntegerType.get_signless(32))
        values: list[ir.Value] = []
        numbers: list[Array] = []
        divided_by_zero = False
        with ir.InsertionPoint(module.body):
            for name, x, y in program:
                if name == "range":
                    values.append(_range(x, type_))
                    numbers.append(np.arange(x, x + SIZE))
                elif name == "constant":
                    values.append(_constant(x, type_))
                    numbers.append(np.full(SIZE, x))
                else:
                    if name in ("arith.divsi", "arith.remsi"):
                        divided_by_zero |= bool((numbers[y] == 0).any())
                        # the smallest number over -1 has no quotient
                        divided_by_zero |= bool((numbers[x] == -(1 << 31)).any())
                    made = ir.Operation.create(name, results=[type_], operands=[values[x], values[y]])
                    values.append(made.results[0])
                    numbers.append(wrapped(OPS[name](numbers[x], numbers[y])))
                if divided_by_zero:
                    return
        ranges = Ranges(no_overflow=False)
        for value, exact in zip(values, numbers, strict=True):
            found = ranges.of(value)
            assert all(int(x) in found for x in exact)


def _range(start: int, type_: ir.Type) -> ir.Value:
    i32 = ir.IntegerType.get_signless(32)
    bounds = {"start": ir.IntegerAttr.get(i32, start), "end": ir.IntegerAttr.get(i32, start + SIZE)}
    return ir.Operation.create("tt.make_range", results=[type_], attributes=bounds).results[0]


def _constant(value: int, type_: ir.RankedTensorType) -> ir.Value:
    splat = ir.DenseElementsAttr.get_splat(type_, ir.IntegerAttr.get(type_.element_type, value))
    return ir.Operation.create("arith.constant", results=[type_], attributes={"value": splat}).results[0]


LOOP = """
"tt.func"() ({{ ^bb0(%n: i32):
  %zero = arith.constant 0 : i32
  %step = arith.constant {step} : i32
  %pid = "tt.get_program_id"() {{axis = 0 : i32}} : () -> i32
  %eight = arith.constant 8 : i32
  scf.for %i = %zero to %n step %step : i32 {{
    %x = arith.addi %i, %pid : i32
    %s = arith.shli %eight, %eight : i32
    "tt.return"(%x, %s, %i) : (i32, i32, i32) -> ()
  }}
  "tt.return"() : () -> ()
}}) {{sym_name = "f", function_type = (i32) -> ()}} : () -> ()
"""


@pytest.mark.parametrize("step", [1, 64, -1])
@pytest.mark.parametrize("no_overflow", [False, True])
def test_a_loop_that_counts_up_is_not_negative(step: int, no_overflow: bool) -> None:
    text = LOOP.format(step=step).replace('"tt.return"(%x, %s, %i)', '"tt.store"(%x, %s, %i)')
    with mlir.session():
        text = text.replace(
            '"tt.store"(%x, %s, %i) : (i32, i32, i32) -> ()', "%t = arith.select %c, %x, %s : i32"
        )
        text = text.replace("%pid =", "%c = arith.constant true\n  %pid =", 1)
        module = mlir.parse(text)
        loop = next(
            op for op in module.body.operations[0].regions[0].blocks[0].operations if op.name == "scf.for"
        )
        body = loop.operation.regions[0].blocks[0]
        x, s, t = (op.results[0] for op in list(body.operations)[:3])
        ranges = Ranges(no_overflow=no_overflow)
        assert (ranges.of(body.arguments[0]).low == 0) == (step > 0)
        assert ranges.of(s).value == 8 << 8
        # a sum of two large numbers wraps, unless that is excluded
        assert (ranges.of(x).low >= 0) == (no_overflow and step > 0)
        assert ranges.of(t).low <= ranges.of(x).low


def test_what_is_known_of_a_value_bounds_what_is_made_of_it() -> None:
    text = """
"tt.func"() ({
^bb0(%a: i32, %b: i32):
  %pid = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
  %q = arith.divsi %pid, %a : i32
  %r = arith.divsi %pid, %b : i32
  "tt.return"() : () -> ()
}) {function_type = (i32, i32) -> (), sym_name = "k"} : () -> ()
"""
    with mlir.session():
        module = mlir.parse(text)
        block = module.body.operations[0].regions[0].blocks[0]
        _, q, r = (op.results[0] for op in list(block.operations)[:3])
        ranges = Ranges(least={block.arguments[0]: 1})
        assert ranges.of(q).low == 0
        assert ranges.of(r).low < 0
