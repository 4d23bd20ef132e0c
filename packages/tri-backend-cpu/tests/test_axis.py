"""Runs of indices, against the numbers themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpu_support import Kernel
from tri_backend_cpu.analysis.axis import Axis, AxisAnalysis
from tri_backend_cpu.analysis.induction import find_inductions
from tri_core import mlir
from tri_core.ttir import Value, read_kernel

Array = npt.NDArray[np.int64]


def analyse(k: Kernel, *, addresses: bool = False) -> tuple[AxisAnalysis, list[Value]]:
    """The analysis, and the results of all tensor ops in order."""
    with mlir.session():
        kernel = read_kernel(mlir.parse(k.text))
    inductions = {}
    for op in kernel.body.walk():
        if op.name == "scf.for":
            for found in find_inductions(op).values():
                inductions[found.argument] = inductions[found.result] = found
    divisibility = dict(zip(kernel.body.arguments, kernel.divisibility, strict=True))
    values = [r for op in kernel.body.walk() for r in op.results if r.is_tensor]
    return AxisAnalysis(divisibility, inductions, addresses=addresses), values


def groups(array: Array, dimension: int, size: int) -> Array:
    """``array`` cut into aligned groups of ``size`` along ``dimension``, which comes last."""
    moved = np.moveaxis(array, dimension, -1)
    return moved.reshape(*moved.shape[:-1], -1, size)


def check(axis: Axis, array: Array) -> None:
    """Every claim of ``axis`` holds for ``array``."""
    starts = array
    for d, (run, same) in enumerate(zip(axis.contiguity, axis.constancy, strict=True)):
        cut = groups(array, d, run)
        assert (cut - cut[..., :1] == np.arange(run)).all(), (axis, array)
        cut = groups(array, d, same)
        assert (cut == cut[..., :1]).all(), (axis, array)
        starts = np.take(starts, range(0, array.shape[d], run), d)
    assert (starts % min(axis.divisibility, 1 << 30) == 0).all(), (axis, array)


class Expression:
    """Random index arithmetic on vectors or matrices, together with its values."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.shape = draw(st.sampled_from(((64,), (8, 16))))
        self.kernel = Kernel({"a": "i32", "d": "i32"}, ("d",))
        self.scalars = {"a": draw(st.integers(0, 100)), "d": 16 * draw(st.integers(1, 8))}
        self.values: list[tuple[Any, Array]] = []
        if len(self.shape) == 1:
            self.add(self.kernel.range(64, 0), np.arange(64))
            return
        k = self.kernel
        for axis, size in enumerate(self.shape):
            index = k.broadcast(k.expand(k.range(size), 1 - axis), self.shape)
            self.add(index, np.indices(self.shape)[axis])

    def add(self, value: Any, array: Array) -> None:
        self.values.append((value, array))

    def pick(self) -> tuple[Any, Array]:
        return self.values[self.draw(st.integers(0, len(self.values) - 1))]

    def uniform(self) -> tuple[Any, Array]:
        k = self.kernel
        if self.draw(st.booleans()):
            name = self.draw(st.sampled_from(("a", "d")))
            return k.splat(k[name], self.shape), np.full(self.shape, self.scalars[name])
        number = self.draw(st.sampled_from((1, 2, 3, 4, 8, 16, 48, 64)))
        return k.constant(number, "i32", self.shape), np.full(self.shape, number)

    def narrow(self) -> None:
        """What a narrow integer keeps of a value, as data: it wraps."""
        k, (x, ax) = self.kernel, self.pick()
        bits, signed = self.draw(st.sampled_from((1, 8, 16))), self.draw(st.booleans())
        low = k.convert("arith.trunci", x, f"i{bits}")
        kept = ax & ((1 << bits) - 1)
        if signed:
            kept = np.where(kept >> (bits - 1), kept - (1 << bits), kept)
        self.add(k.convert("arith.extsi" if signed else "arith.extui", low, "i32"), kept)

    def grow(self) -> None:
        if not self.draw(st.integers(0, 4)):
            self.narrow()
            return
        k, (x, ax) = self.kernel, self.pick()
        y, ay = self.uniform() if self.draw(st.integers(0, 2)) else self.pick()
        name = self.draw(
            st.sampled_from(("addi", "subi", "muli", "divsi", "remsi", "divui", "remui", "cmp", "min"))
        )
        if name == "cmp":
            code = self.draw(st.sampled_from((2, 3, 4, 5)))
            mask = [ax < ay, ax <= ay, ax > ay, ax >= ay][code - 2].astype(np.int64)
            self.add(k.convert("arith.extui", k.compare(code, x, y), "i32"), mask)
        elif name in {"addi", "subi", "muli", "min"}:
            function = {"addi": np.add, "subi": np.subtract, "muli": np.multiply, "min": np.minimum}[name]
            self.add(k.same("arith.minsi" if name == "min" else f"arith.{name}", x, y), function(ax, ay))
        elif (ay > 0).all() and (name.endswith("si") or (ax >= 0).all()):
            quotient = np.sign(ax) * (np.abs(ax) // ay)
            self.add(
                k.same(f"arith.{name}", x, y), quotient if name.startswith("div") else ax - quotient * ay
            )


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_claims_hold(data: st.DataObject) -> None:
    e = Expression(data.draw)
    for _ in range(data.draw(st.integers(1, 6))):
        e.grow()
        if np.abs(e.values[-1][1]).max() > 1 << 20:
            e.values.pop()  # index arithmetic does not wrap
    of, values = analyse(e.kernel, addresses=data.draw(st.booleans()))
    names = {value.name: array for value, array in e.values}
    known = dict(zip(_names(e.kernel), values, strict=True))
    for name, array in names.items():
        check(of(known[name]), array)


def _names(k: Kernel) -> Iterator[str]:
    for line in k.lines:
        name, _, rest = line.partition(" = ")
        if rest.rstrip().split("-> ")[-1].startswith("tensor"):
            yield name


def last(k: Kernel) -> Axis:
    of, values = analyse(k)
    return of(values[-1])


def test_masks_of_divisible_sizes_are_uniform() -> None:
    k = Kernel({"n": "i32", "m": "i32"}, ("n",))
    base = k.mul(k.program_id(), k.constant(64, "i32"))
    index = k.add(k.splat(base, (64,)), k.range(64))
    k.compare(2, index, k.splat(k["n"], (64,)))
    assert last(k).constancy == (16,)
    k.compare(2, index, k.splat(k["m"], (64,)))
    assert last(k).constancy == (1,)


def test_wrapped_columns_stay_consecutive() -> None:
    k = Kernel({"n": "i32"}, ("n",))
    base = k.mul(k.program_id(), k.constant(64, "i32"))
    k.same("arith.remsi", k.add(k.splat(base, (64,)), k.range(64)), k.splat(k["n"], (64,)))
    assert last(k).contiguity == (16,)


def test_signs_are_not_asked_for_addresses() -> None:
    k = Kernel({"n": "i32", "s": "i32"}, ("n", "s"))
    k.same("arith.remsi", k.add(k.splat(k["s"], (64,)), k.range(64)), k.splat(k["n"], (64,)))
    assert last(k).contiguity == (1,)
    of, values = analyse(k, addresses=True)
    assert of(values[-1]).contiguity == (16,)


def test_what_may_be_negative_is_not_divided_as_an_address() -> None:
    """``(columns - 8) // 16`` rounds towards zero: its first 16 elements are not one run."""
    k = Kernel({})
    k.same(
        "arith.divsi",
        k.add(k.range(64), k.constant(-8, "i32", (64,))),
        k.constant(16, "i32", (64,)),
    )
    of, values = analyse(k, addresses=True)
    assert of(values[-1]).constancy == (1,)


def test_hints_that_are_no_powers_of_two() -> None:
    """Groups of 12 start at any multiple of 4: that is what an aligned vector may rely on."""
    k = Kernel({"x": "*i32"})
    attributes = "operandSegmentSizes = array<i32: 1, 0, 0>, tt.contiguity = dense<12> : tensor<1xi32>"
    k.op("tt.load", [k.offsets("x", k.range(64))], ("i32", (64,)), attributes)
    assert last(k).contiguity == (4,)


def test_two_dimensions() -> None:
    k = Kernel({"x": "*f32", "s": "i32"}, ("s",))
    rows = k.mul(k.expand(k.range(8), 1), k.splat(k["s"], (8, 1)))
    k.offsets("x", k.add(k.broadcast(rows, (8, 32)), k.broadcast(k.expand(k.range(32), 0), (8, 32))))
    assert last(k).contiguity == (1, 32)
    k.trans(k.offsets("x", k.grid_index((8, 32))), 1, 0)
    assert last(k).contiguity == (32, 1)


@pytest.mark.parametrize("step", [16, 3])
def test_moved_indices(step: int) -> None:
    k = Kernel({"n": "i32"})
    zero, one = k.constant(0, "i32"), k.constant(1, "i32")
    with k.loop(zero, k["n"], one, [k.range(32)]) as loop:
        loop.next = [k.add(loop.arguments[0], k.constant(step, "i32", (32,)))]
    k.add(loop.results[0], k.constant(0, "i32", (32,)))
    assert last(k).contiguity == (32,)
    assert last(k).divisibility == (16 if step == 16 else 1)


def test_hints_of_the_author() -> None:
    k = Kernel({"x": "*i32"})
    attributes = (
        "operandSegmentSizes = array<i32: 1, 0, 0>, tt.contiguity = dense<16> : tensor<1xi32>,"
        "tt.divisibility = dense<32> : tensor<1xi32>"
    )
    k.op("tt.load", [k.offsets("x", k.range(64))], ("i32", (64,)), attributes)
    assert last(k) == Axis((16,), (1,), 32)
    plain = "operandSegmentSizes = array<i32: 1, 0, 0>, tt.constancy = dense<[1, 8]> : tensor<2xi32>"
    k.op("tt.load", [k.offsets("x", k.grid_index((4, 16)))], ("i32", (4, 16)), plain)
    assert last(k) == Axis((1, 1), (1, 8), 1)
