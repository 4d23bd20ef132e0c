"""Lengths of programs, against iterations that are counted for many program ids."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tri_gpu_dialect.text  # noqa: F401  registers the text of ttg
from tri_core import text
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.trip_counts import TripCounts, trip_counts
from tri_gpu_dialect.edit import functions


def counts(body: str) -> TripCounts:
    """Of a kernel with numbers ``%n`` and ``%c``, a pointer ``%p``, and ids ``%x``, ``%y``."""
    module = text.parse_module(f"""
module {{
  tt.func public @f(%p: !tt.ptr<i32>, %n: i32, %c: i1) {{
    %x = tt.get_program_id x : i32
    %y = tt.get_program_id y : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %block = arith.constant 128 : i32
    %half = arith.constant 64 : i32
{body}
    tt.return
  }}
}}
""")
    (function,) = functions(module)
    assert isinstance(function, ir.Operation)
    return trip_counts(function)


def loop(low: str, high: str, step: str = "%block") -> str:
    return f"scf.for %i = {low} to {high} step {step} : i32 {{\n}}\n"


#: the bounds -> slopes, whether lengths differ
CASES = {
    "the same for all": (loop("%zero", "%n"), {}, False),
    "causal": (
        "%a = arith.addi %x, %one : i32\n%b = arith.muli %a, %block : i32\n" + loop("%zero", "%b", "%half"),
        {0: Fraction(2)},
        True,
    ),
    "causal backwards": ("%b = arith.muli %x, %block : i32\n" + loop("%b", "%n"), {0: Fraction(-1)}, True),
    "two loops after each other": (
        "%b = arith.muli %x, %half : i32\n%d = arith.divsi %b, %block : i32\n%e = arith.muli %d, %block : i32\n"
        "%f = arith.addi %b, %half : i32\n" + loop("%zero", "%e") + loop("%e", "%f"),
        {0: Fraction(1, 2)},
        True,
    ),
    "cut off": (
        "%b = arith.muli %y, %block : i32\n%m = arith.minsi %b, %n : i32\n" + loop("%zero", "%m"),
        {1: Fraction(1)},
        True,
    ),
    "shifted": ("%b = arith.shli %y, %one : i32\n" + loop("%zero", "%b", "%one"), {1: Fraction(2)}, True),
    "a window of fixed width": (
        "%b = arith.muli %x, %block : i32\n%e = arith.addi %b, %n : i32\n" + loop("%b", "%e"),
        {},
        False,
    ),
    "from memory": (
        "%a = tt.addptr %p, %x : !tt.ptr<i32>, i32\n%l = tt.load %a : !tt.ptr<i32>\n" + loop("%zero", "%l"),
        {},
        True,
    ),
    "the same number from memory": ("%l = tt.load %p : !tt.ptr<i32>\n" + loop("%zero", "%l"), {}, False),
    "by a product": ("%b = arith.muli %x, %n : i32\n" + loop("%zero", "%b"), {}, True),
    "one up, one down": (
        "%a = arith.subi %n, %x : i32\n%m = arith.select %c, %a, %x : i32\n" + loop("%zero", "%m"),
        {},
        True,
    ),
    "inside of another": (
        "scf.for %j = %zero to %n step %one : i32 {\n"
        + loop("%j", "%n")
        + loop("%zero", "%y", "%one")
        + "}\n",
        {1: Fraction(1)},
        True,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_slopes(name: str) -> None:
    body, slopes, differ = CASES[name]
    found = counts(body)
    assert found.slopes == slopes
    assert found.differ == differ


@given(a=st.integers(-3, 3), b=st.integers(-3, 3), d=st.integers(1, 4), step=st.integers(1, 4))
def test_slopes_are_those_of_turns(a: int, b: int, d: int, step: int) -> None:
    """Iterations of ``for i in range(b x, 10000 + (a x) // d * d, step)``, over a long way."""
    numbers = {"a": a, "b": b, "d": d, "s": step, "k": 10000}
    constants = "".join(f"%c{n} = arith.constant {v} : i32\n" for n, v in numbers.items())
    body = (
        "%u = arith.muli %x, %ca : i32\n%v = arith.floordivsi %u, %cd : i32\n%w = arith.muli %v, %cd : i32\n"
        "%h = arith.addi %w, %ck : i32\n%l = arith.muli %cb, %x : i32\n"
    )
    found = counts(constants + body + loop("%l", "%h", "%cs"))
    iterations = [len(range(b * x, 10000 + (a * x) // d * d, step)) for x in (0, 1000)]
    assert abs(found.slopes.get(0, Fraction(0)) * 1000 - (iterations[1] - iterations[0])) <= d + 1
    assert found.steepest == (0 if a != b else None)
