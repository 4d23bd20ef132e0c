"""Loops, branches and while loops with scalars and tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cpu_support import Kernel, T

Array = npt.NDArray[Any]


@pytest.mark.parametrize("iterations", [0, 1, 5])
def test_carried_tensors(iterations: int, rng: np.random.Generator) -> None:
    """Two tensors that are swapped in every iteration, and a scalar."""
    k = Kernel({"x": "*f32", "y": "*f32", "o": "*f32", "p": "*f32", "s": "*f32", "n": "i32"})
    zero, one = k.constant(0, "i32"), k.constant(1, "i32")
    with k.loop(zero, k["n"], one, [k.read("x", 64), k.read("y", 64), k.constant(1.0, "f32")]) as loop:
        a, b, s = loop.arguments
        loop.next = [b, k.add(a, b), k.add(s, s)]
    k.write("o", loop.results[0])
    k.write("p", loop.results[1])
    k.store(k["s"], loop.results[2])
    x, y = rng.standard_normal(64).astype(np.float32), rng.standard_normal(64).astype(np.float32)
    o, p, s_out = np.zeros(64, np.float32), np.zeros(64, np.float32), np.zeros(1, np.float32)
    k.run(x, y, o, p, s_out, iterations)
    for _ in range(iterations):
        x, y = y, x + y
    np.testing.assert_array_equal(o, x)
    np.testing.assert_array_equal(p, y)
    assert s_out[0] == 2**iterations


def test_the_old_value_is_used_after_the_new_one(rng: np.random.Generator) -> None:
    """``new = exp(old); total += sum(new) * old``: new must not overwrite old too early."""
    k = Kernel({"x": "*f32", "o": "*f32", "t": "*f32"})
    zero, one, three = (k.constant(i, "i32") for i in (0, 1, 3))
    with k.loop(zero, three, one, [k.read("x", 64), k.constant(0.0, "f32", (64,))]) as loop:
        old, total = loop.arguments
        new = k.same("math.tanh", old)
        (s,) = k.reduce(0, [new], lambda a, b: [k.add(a[0], b[0])])
        total = k.add(total, k.mul(k.splat(s, (64,)), old))
        loop.next = [new, total]
    k.write("o", loop.results[0])
    k.write("t", loop.results[1])
    x = rng.standard_normal(64).astype(np.float32)
    o, t = np.zeros(64, np.float32), np.zeros(64, np.float32)
    k.run(x, o, t)
    old_, total_ = x.astype(np.float64), np.zeros(64)
    for _ in range(3):
        new_ = np.tanh(old_)
        total_ += new_.sum() * old_
        old_ = new_
    np.testing.assert_allclose(o, old_, rtol=1e-5)
    np.testing.assert_allclose(t, total_, rtol=1e-4, atol=1e-5)


def test_a_carried_tensor_is_transposed_in_every_round(rng: np.random.Generator) -> None:
    k = Kernel({"x": "*f32", "o": "*f32"})
    zero, one, three = (k.constant(i, "i32") for i in (0, 1, 3))
    with k.loop(zero, three, one, [k.read("x", 16, 16)]) as loop:
        (a,) = loop.arguments
        loop.next = [k.add(a, k.trans(k.add(a, a), 1, 0))]
    k.write("o", loop.results[0])
    x = rng.integers(-9, 9, (16, 16)).astype(np.float32)
    o = np.zeros_like(x)
    k.run(x, o)
    for _ in range(3):
        x = x + 2 * x.T
    np.testing.assert_array_equal(o, x)


def test_nested_loops(rng: np.random.Generator) -> None:
    """An inner loop adds rows to a tensor that the outer loop carries; the outer index is used inside."""
    k = Kernel({"x": "*i32", "o": "*i32"})
    zero, one, rows, columns = (k.constant(i, "i32") for i in (0, 1, 4, 3))
    with k.loop(zero, rows, one, [k.constant(0, "i32", (32,))]) as outer:
        with k.loop(zero, columns, one, [outer.arguments[0]]) as inner:
            start = k.mul(k.add(k.mul(outer.index, columns), inner.index), k.constant(32, "i32"))
            row = k.load(k.offsets("x", k.add(k.splat(start, (32,)), k.range(32))))
            inner.next = [k.add(k.mul(inner.arguments[0], k.constant(3, "i32", (32,))), row)]
        outer.next = [k.add(inner.results[0], k.splat(outer.index, (32,)))]
    k.write("o", outer.results[0])
    x, o = rng.integers(-9, 9, (4, 3, 32)).astype(np.int32), np.zeros(32, np.int32)
    k.run(x, o)
    expected = np.zeros(32, np.int32)
    for i in range(4):
        for j in range(3):
            expected = expected * 3 + x[i, j]
        expected += i
    np.testing.assert_array_equal(o, expected)


def test_moving_indices_and_pointers(rng: np.random.Generator) -> None:
    """Forwards, backwards, by a scalar known only inside the loop; used in and after the loop."""
    k = Kernel({"x": "*i32", "o": "*i32", "p": "*i32"})
    zero, one, four = (k.constant(i, "i32") for i in (0, 1, 4))
    start = k.range(16)
    pointers = k.offsets("x", start)
    with k.loop(zero, four, one, [start, pointers, k.constant(0, "i32", (16,))]) as loop:
        index, pointer, total = loop.arguments
        moved = k.same("arith.subi", index, k.constant(2, "i32", (16,)))
        step = k.mul(loop.index, k.constant(16, "i32"))
        loop.next = [
            k.add(k.splat(step, (16,)), moved),
            k.offsets(pointer, k.splat(step, (16,))),
            k.add(total, k.mul(k.load(pointer), index)),
        ]
    k.write("o", loop.results[2])
    k.write("p", k.add(loop.results[0], k.load(loop.results[1])))
    x, o, p = rng.integers(-9, 9, 16 * 8).astype(np.int32), np.zeros(16, np.int32), np.zeros(16, np.int32)
    k.run(x, o, p)
    index_, at, total_ = np.arange(16), 0, np.zeros(16, np.int64)
    for i in range(4):
        total_ += x[at : at + 16] * index_
        index_, at = index_ - 2 + 16 * i, at + 16 * i
    np.testing.assert_array_equal(o, total_)
    np.testing.assert_array_equal(p, index_ + x[at : at + 16])


def branch(k: Kernel, condition: T, yes: str, no: str, results: list[T]) -> list[T]:
    """``scf.if`` whose branches are made by the lines in between; see the callers."""
    name = f"%b{k.count}"
    k.count += 1
    types = ", ".join(r.type for r in results)
    k.lines.append(
        f"{name}:{len(results)} = scf.if {condition.name} -> ({types}) {{ {yes} }} else {{ {no} }}"
    )
    return [T(f"{name}#{i}", r.dtype, r.shape) for i, r in enumerate(results)]


@pytest.mark.parametrize("n", [0, 1])
def test_if_with_tensor_and_scalar_results(n: int, rng: np.random.Generator) -> None:
    k = Kernel({"x": "*f32", "o": "*f32", "s": "*f32", "n": "i32"})
    x = k.read("x", 64)
    (total,) = k.reduce(0, [x], lambda a, b: [k.add(a[0], b[0])])
    condition = k.compare(4, k["n"], k.constant(0, "i32"))
    double, negative = inline(k, lambda: k.add(x, x)), inline(k, lambda: k.same("arith.negf", total))
    results = branch(
        k,
        condition,
        f"{double[0]}\n scf.yield {double[1].name}, {total.name} : {x.type}, f32",
        f"{negative[0]}\n scf.yield {x.name}, {negative[1].name} : {x.type}, f32",
        [x, total],
    )
    k.write("o", results[0])
    k.store(k["s"], results[1])
    data, o, s = rng.integers(-9, 9, 64).astype(np.float32), np.zeros(64, np.float32), np.zeros(1, np.float32)
    k.run(data, o, s, n)
    np.testing.assert_array_equal(o, 2 * data if n else data)
    assert s[0] == (1 if n else -1) * data.sum()


def inline(k: Kernel, make: Any) -> tuple[str, T]:
    """The text of the ops that ``make`` creates, and their result."""
    outer, k.lines = k.lines, []
    value = make()
    text, k.lines = "\n".join(k.lines), outer
    return text, value


@pytest.mark.parametrize("n", [0, 5])
def test_if_without_results_stores(n: int, rng: np.random.Generator) -> None:
    k = Kernel({"x": "*f32", "o": "*f32", "n": "i32"})
    x = k.read("x", 64)
    condition = k.compare(4, k["n"], k.constant(0, "i32"))
    k.lines.append(f"scf.if {condition.name} {{")
    k.write("o", k.mul(x, x))
    k.lines.append("}")
    data, o = rng.standard_normal(64).astype(np.float32), np.zeros(64, np.float32)
    k.run(data, o, n)
    np.testing.assert_array_equal(o, data * data if n else 0)


@pytest.mark.parametrize("n", [0, 1, 7])
def test_while(n: int, rng: np.random.Generator) -> None:
    """A tensor is doubled while a count lasts; the condition forwards more values than the body yields."""
    k = Kernel({"x": "*f32", "o": "*f32", "p": "*f32", "c": "*i32", "n": "i32"})
    x = k.read("x", 64)
    kind = x.type
    one, zero = k.constant(1, "i32"), k.constant(0, "i32")
    k.lines.append(
        f"%w:3 = scf.while (%a = {x.name}, %c0 = {k['n'].name}) : ({kind}, i32) -> ({kind}, {kind}, i32) {{"
    )
    a, count = T("%a", "f32", (64,)), T("%c0", "i32")
    more = k.compare(4, count, zero)
    double = k.add(a, a)
    k.lines.append(
        f"scf.condition({more.name}) {a.name}, {double.name}, {count.name} : {kind}, {kind}, i32 }} do {{"
    )
    k.lines.append(f"^bb0(%b: {kind}, %d: {kind}, %c1: i32):")
    b, d, left = T("%b", "f32", (64,)), T("%d", "f32", (64,)), T("%c1", "i32")
    following = k.add(b, d)
    less = k.same("arith.subi", left, one)
    k.lines.append(f"scf.yield {following.name}, {less.name} : {kind}, i32 }}")
    k.write("o", T("%w#0", "f32", (64,)))
    k.write("p", T("%w#1", "f32", (64,)))
    k.store(k["c"], T("%w#2", "i32"))
    data = rng.integers(-9, 9, 64).astype(np.float32)
    o, p, c = np.zeros(64, np.float32), np.zeros(64, np.float32), np.full(1, 9, np.int32)
    k.run(data, o, p, c, n)
    np.testing.assert_array_equal(o, data * np.float32(3.0) ** n)
    np.testing.assert_array_equal(p, data * np.float32(3.0) ** n * 2)
    assert c[0] == 0


def test_loads_are_not_moved_over_stores_of_a_loop(rng: np.random.Generator) -> None:
    """A tensor loaded before a loop keeps its value, though the loop overwrites the array."""
    k = Kernel({"x": "*f32", "o": "*f32"})
    before = k.read("x", 64)
    zero, one, two = (k.constant(i, "i32") for i in (0, 1, 2))
    with k.loop(zero, two, one, []) as loop:
        k.write("x", k.add(k.read("x", 64), before))
    del loop
    k.write("o", before)
    x = rng.integers(-9, 9, 64).astype(np.float32)
    start, o = x.copy(), np.zeros(64, np.float32)
    k.run(x, o)
    np.testing.assert_array_equal(x, 3 * start)
    np.testing.assert_array_equal(o, start)


def test_grid_coordinates() -> None:
    k = Kernel({"o": "*i32"})
    pids = [k.program_id(axis) for axis in range(3)]
    extents = [k.op("tt.get_num_programs", [], ("i32", None), f"axis = {axis} : i32") for axis in range(3)]
    place = k.add(pids[0], k.mul(extents[0], k.add(pids[1], k.mul(extents[1], pids[2]))))
    value = k.add(
        pids[0], k.add(k.mul(pids[1], k.constant(10, "i32")), k.mul(pids[2], k.constant(100, "i32")))
    )
    k.store(k.offsets("o", place), value)
    o = np.zeros((4, 3, 5), np.int32)
    k.run(o, grid=(5, 3, 4))
    z, y, x = np.indices((4, 3, 5))
    np.testing.assert_array_equal(o, x + 10 * y + 100 * z)
