"""Random programs: whatever is fused, kept or recomputed, the numbers are those of the program's order.

Every op is applied to the kernel's text and, at once, to NumPy arrays of the same integers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cpu_support import Kernel, T
from tri_backend_cpu.target import host_arch

Array = npt.NDArray[np.int32]
ARRAYS = ("a", "b", "c")
#: this machine, and lesser ones of its kind: their vectors are narrower and masked in other ways
TARGETS = ("cpu", "cpu:x86_64", "cpu:x86_64-x86-64-v3") if host_arch().startswith("x86_64") else ("cpu",)
SIZES = (1, 2, 4, 8, 16, 32, 64)


@dataclass
class Program:
    """A kernel on arrays of one shape, what its memory holds so far, and the values made so far."""

    shape: tuple[int, int]
    draw: Any
    kernel: Kernel = field(init=False)
    memory: dict[str, Array] = field(init=False)
    values: list[tuple[T, Array]] = field(default_factory=list)

    def __post_init__(self) -> None:
        seed = self.draw(st.integers(0, 2**32 - 1))
        rng = np.random.default_rng(seed)
        self.kernel = Kernel({**dict.fromkeys(ARRAYS, "*i32"), "n": "i32"}, ARRAYS)
        self.memory = {n: rng.integers(-(2**31), 2**31, self.shape).astype(np.int32) for n in ARRAYS}
        self.limit = self.draw(st.integers(0, self.shape[0] * self.shape[1]))
        self.load()

    @property
    def index(self) -> Array:
        return np.arange(self.shape[0] * self.shape[1], dtype=np.int32).reshape(self.shape)

    def pick(self) -> tuple[T, Array]:
        return self.values[self.draw(st.integers(0, len(self.values) - 1))]

    def choose(self, *options: Any) -> Any:
        return options[self.draw(st.integers(0, len(options) - 1))]

    def add(self, value: T, array: Array) -> None:
        assert value.shape == array.shape
        self.values.append((value, array.astype(np.int32)))

    # --- ops ---------------------------------------------------------------------------------------------

    def mask(self) -> tuple[T, Array]:
        k = self.kernel
        limit = k.splat(k["n"], self.shape)
        return k.compare(2, k.grid_index(self.shape), limit), self.index < self.limit

    def load(self) -> None:
        k, name = self.kernel, self.choose(*ARRAYS)
        pointers = k.offsets(name, k.grid_index(self.shape))
        if self.choose(True, False):
            mask, where = self.mask()
            self.add(
                k.load(pointers, mask, k.constant(7, "i32", self.shape)),
                np.where(where, self.memory[name], 7),
            )
        else:
            self.add(k.load(pointers), self.memory[name].copy())

    def store(self) -> None:
        k, name = self.kernel, self.choose(*ARRAYS)
        value, array = self.pick()
        pointers = k.offsets(name, k.grid_index(self.shape))
        if self.choose(True, False):
            mask, where = self.mask()
            k.store(pointers, value, mask)
            self.memory[name] = np.where(where, array, self.memory[name])
        else:
            k.store(pointers, value)
            self.memory[name] = array.copy()

    def binary(self) -> None:
        k, (x, ax), (y, ay) = self.kernel, self.pick(), self.pick()
        name, function = self.choose(
            ("arith.addi", np.add), ("arith.subi", np.subtract), ("arith.muli", np.multiply),
            ("arith.maxsi", np.maximum), ("arith.xori", np.bitwise_xor),
        )  # fmt: skip
        self.add(k.same(name, x, y), function(ax, ay))

    def dear(self) -> None:
        """A division: costly enough to be kept."""
        k, (x, ax), (y, ay) = self.kernel, self.pick(), self.pick()
        divisor = k.same("arith.ori", y, k.constant(5, "i32", self.shape))
        wide = ax.astype(np.int64), (ay | 5).astype(np.int64)
        self.add(
            k.same("arith.divsi", x, divisor),
            np.sign(wide[0]) * np.sign(wide[1]) * (np.abs(wide[0]) // np.abs(wide[1])),
        )

    def select(self) -> None:
        k, (x, ax), (y, ay) = self.kernel, self.pick(), self.pick()
        self.add(
            k.op("arith.select", [k.compare(2, x, y), y, x], ("i32", self.shape)), np.where(ax < ay, ay, ax)
        )

    def masked_select(self) -> None:
        k, (x, ax) = self.kernel, self.pick()
        mask, where = self.mask()
        zero = k.constant(0, "i32", self.shape)
        self.add(k.op("arith.select", [mask, x, zero], ("i32", self.shape)), np.where(where, ax, 0))

    def indices(self) -> None:
        self.add(self.kernel.grid_index(self.shape), self.index)

    def transpose(self) -> None:
        if self.shape[0] == self.shape[1]:
            value, array = self.pick()
            self.add(self.kernel.trans(value, 1, 0), array.T)

    def reshape(self) -> None:
        """To one dimension, something done there, and back."""
        k, (value, array) = self.kernel, self.pick()
        flat = k.reshape(value, array.size)
        self.add(k.reshape(k.add(flat, k.range(array.size)), *self.shape), array + self.index)

    def reduce(self) -> None:
        k, (value, array), axis = self.kernel, self.pick(), self.choose(0, 1)
        name, function = self.choose(("arith.addi", np.add), ("arith.maxsi", np.maximum))
        (result,) = k.reduce(axis, [value], lambda x, y: [k.same(name, x[0], y[0])])
        back = k.broadcast(k.expand(result, axis), self.shape)
        self.add(
            back, np.broadcast_to(function.reduce(array, axis, dtype=np.int32, keepdims=True), self.shape)
        )

    def scan(self) -> None:
        k, (value, array), axis = self.kernel, self.pick(), self.choose(0, 1)
        (result,) = k.scan(axis, [value], lambda x, y: [k.add(x[0], y[0])])
        self.add(result, np.add.accumulate(array, axis, dtype=np.int32))

    def loop(self) -> None:
        """Two carried tensors, updated from each other and from a value of outside, three times."""
        k, (x, ax), (y, ay), (z, az) = self.kernel, self.pick(), self.pick(), self.pick()
        zero, one, three = (k.constant(i, "i32") for i in (0, 1, 3))
        order = self.choose(True, False)
        transposed = self.shape[0] == self.shape[1] and self.choose(True, False)
        with k.loop(zero, three, one, [x, y]) as loop:
            u, v = loop.arguments
            other = k.trans(u, 1, 0) if transposed else u
            first, second = k.add(k.mul(u, z), v), k.same("arith.xori", v, other)
            loop.next = [first, second] if order else [second, first]
        for _ in range(3):
            other_ = ax.T if transposed else ax
            first_, second_ = ax * az + ay, ay ^ other_
            ax, ay = (first_, second_) if order else (second_, first_)
        self.add(loop.results[0], ax)
        self.add(loop.results[1], ay)

    def memory_loop(self) -> None:
        """Two iterations that load from one array and store to another, or the same."""
        k, (x, ax), source, target = self.kernel, self.pick(), self.choose(*ARRAYS), self.choose(*ARRAYS)
        zero, one, two = (k.constant(i, "i32") for i in (0, 1, 2))
        mask, where = self.mask()
        with k.loop(zero, two, one, [x]) as loop:
            value = k.load(k.offsets(source, k.grid_index(self.shape)))
            k.store(k.offsets(target, k.grid_index(self.shape)), k.add(value, loop.arguments[0]), mask)
            loop.next = [k.mul(value, x)]
        carried = ax
        for _ in range(2):
            seen = self.memory[source].copy()
            self.memory[target] = np.where(where, seen + carried, self.memory[target]).astype(np.int32)
            carried = seen * ax
        self.add(loop.results[0], carried)

    def branch(self) -> None:
        """A condition on a scalar: two values, and a store in one of the branches."""
        k, (x, ax), (y, ay), name = self.kernel, self.pick(), self.pick(), self.choose(*ARRAYS)
        limit = self.draw(st.integers(0, self.shape[0] * self.shape[1]))
        condition = k.compare(2, k["n"], k.constant(limit, "i32"))
        result = T(f"%b{k.count}", "i32", self.shape)
        k.count += 1
        k.lines.append(f"{result.name} = scf.if {condition.name} -> ({result.type}) {{")
        total = k.add(x, y)
        k.store(k.offsets(name, k.grid_index(self.shape)), total)
        k.lines.append(f"scf.yield {total.name} : {total.type} }} else {{")
        product = k.mul(x, y)
        k.lines.append(f"scf.yield {product.name} : {product.type} }}")
        if self.limit < limit:
            self.memory[name] = (ax + ay).astype(np.int32)
        self.add(result, ax + ay if self.limit < limit else ax * ay)

    def outer(self) -> None:
        """A row and a column: values of fewer dimensions, combined at every point."""
        k, (m, n) = self.kernel, self.shape
        name = self.choose(*ARRAYS)
        row = k.load(k.offsets(name, k.range(n)))
        column = k.load(k.offsets(name, k.mul(k.range(m), k.constant(n, "i32", (m,)))))
        if self.choose(True, False):
            row = k.same("arith.divsi", row, k.constant(3, "i32", (n,)))
        flat = self.memory[name]
        a_row = np.trunc(flat[0] / 3) if "divsi" in k.lines[-1] else flat[0]
        both = k.add(k.broadcast(k.expand(row, 0), self.shape), k.broadcast(k.expand(column, 1), self.shape))
        self.add(both, a_row.astype(np.int32)[None, :] + flat[:, :1])


STEPS = (
    Program.load, Program.load, Program.store, Program.store, Program.binary, Program.binary, Program.binary, Program.dear,
    Program.select, Program.masked_select, Program.indices, Program.transpose, Program.reshape, Program.reduce,
    Program.scan, Program.loop, Program.memory_loop, Program.branch, Program.outer,
)  # fmt: skip


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_random_programs(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.sampled_from(SIZES), st.sampled_from(SIZES)))
    with np.errstate(over="ignore"):
        program = Program(shape, data.draw)
        arrays = {n: a.copy() for n, a in program.memory.items()}
        for step in data.draw(st.lists(st.sampled_from(STEPS), min_size=2, max_size=14)):
            step(program)
        program.store()
    program.kernel.run(*arrays.values(), program.limit, target=data.draw(st.sampled_from(TARGETS)))
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, program.memory[name], err_msg=f"{name}\n{program.kernel.text}")


@settings(max_examples=60, deadline=None)
@given(
    rows=st.sampled_from((1, 2, 8, 16)), columns=st.sampled_from(SIZES), data=st.data(),
    dtype=st.sampled_from(("i8", "i16", "i32", "i64")),
)  # fmt: skip
def test_random_strides_and_masks(rows: int, columns: int, dtype: str, data: st.DataObject) -> None:
    """A block of an array of any strides, rows and columns masked, to an array of other strides."""
    m, n = data.draw(st.integers(0, rows)), data.draw(st.integers(0, columns))
    kind = np.dtype(f"i{int(dtype[1:]) // 8}")
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    strides = [
        data.draw(
            st.sampled_from([(columns, 1), (columns + 3, 1), (1, rows), (2, 2 * rows), (columns * 2, 2)])
        )
        for _ in range(2)
    ]
    runtime = data.draw(st.booleans())
    k = Kernel({"x": f"*{dtype}", "o": f"*{dtype}", "m": "i32", "n": "i32", "s0": "i32", "s1": "i32"})
    shape = (rows, columns)
    row, column = k.expand(k.range(rows), 1), k.expand(k.range(columns), 0)
    mask = k.same(
        "arith.andi",
        k.broadcast(k.compare(2, row, k.splat(k["m"], row.shape or ())), shape),
        k.broadcast(k.compare(2, column, k.splat(k["n"], column.shape or ())), shape),
    )
    if runtime:
        rs, cs = (
            k.mul(row, k.splat(k["s0"], row.shape or ())),
            k.mul(column, k.splat(k["s1"], column.shape or ())),
        )
        source = k.add(k.broadcast(rs, shape), k.broadcast(cs, shape))
    else:
        source = k.grid_index(shape, strides[0])
    value = k.load(k.offsets("x", source), mask, k.constant(3, dtype, shape))
    k.store(k.offsets("o", k.grid_index(shape, strides[1])), k.add(value, value), mask)
    size = 4 * (rows + 1) * (columns + 4)
    x = rng.integers(-60, 60, size).astype(kind)
    o = np.full(size, 1, kind)
    expected = o.copy()
    i, j = np.indices(shape)
    keep = (i < m) & (j < n)
    at = [(i * s[0] + j * s[1])[keep] for s in strides]
    expected[at[1]] = 2 * x[at[0]]
    k.run(x, o, m, n, *strides[0])
    np.testing.assert_array_equal(o, expected)
