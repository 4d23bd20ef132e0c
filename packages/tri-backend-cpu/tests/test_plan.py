"""Which ops become one loop, what is kept in memory, and where."""

from __future__ import annotations

from itertools import pairwise

from cpu_support import Kernel, T
from tri_backend_cpu.analysis.plan import Plan
from tri_backend_cpu.analysis.planner import make_plan
from tri_backend_cpu.analysis.show import show
from tri_core import mlir
from tri_core.ttir import read_kernel


def planned(k: Kernel) -> Plan:
    with mlir.session():
        return make_plan(read_kernel(mlir.parse(k.text)).body)


def nests(k: Kernel) -> list[str]:
    """The nests, dots, scans and control steps of the plan, as text."""
    lines = show(planned(k)).splitlines()
    return [
        line.strip() for line in lines if line.strip().startswith(("nest", "dot", "scan", "scf", "arena"))
    ]


def total(k: Kernel, value: T) -> T:
    return k.reduce(0, [value], lambda a, b: [k.add(a[0], b[0])])[0]


def test_elementwise_ops_become_one_loop_without_memory() -> None:
    k = Kernel({"x": "*f32", "y": "*f32", "o": "*f32"})
    x, y = k.read("x", 128), k.read("y", 128)
    k.write("o", k.same("math.exp", k.mul(k.add(x, y), x)))
    assert nests(k) == ["nest 128: tt.store", "arena 0"]


def test_two_stores_of_one_shape_share_a_loop() -> None:
    k = Kernel({"x": "*f32", "o": "*f32", "p": "*f32"})
    x = k.read("x", 128)
    k.write("o", k.add(x, x))
    k.write("p", k.mul(x, x))
    assert nests(k) == ["nest 128: tt.store; tt.store", "arena 0"]


def test_a_row_that_is_used_again_is_written_while_it_is_reduced() -> None:
    """Softmax: three passes, the row and its exponentials are kept."""
    k = Kernel({"x": "*f32", "o": "*f32"})
    x = k.read("x", 256)
    (largest,) = k.reduce(0, [x], lambda a, b: [k.same("arith.maxnumf", a[0], b[0])])
    e = k.same("math.exp", k.same("arith.subf", x, k.splat(largest, (256,))))
    k.write("o", k.same("arith.divf", e, k.splat(total(k, e), (256,))))
    assert nests(k) == [
        "nest 256: tt.reduce; write tt.load -> f32[256]@0",
        "nest 256: tt.reduce; write math.exp -> f32[256]@1024",
        "nest 256: tt.store",
        "arena 2048",
    ]


def test_cheap_values_are_computed_again() -> None:
    """``x - mean`` costs less than memory; x itself is kept."""
    k = Kernel({"x": "*f32", "o": "*f32"})
    x = k.read("x", 256)
    centred = k.same("arith.subf", x, k.splat(total(k, x), (256,)))
    k.write("o", k.mul(centred, k.splat(total(k, k.mul(centred, centred)), (256,))))
    assert nests(k) == [
        "nest 256: tt.reduce; write tt.load -> f32[256]@0",
        "nest 256: tt.reduce",
        "nest 256: tt.store",
        "arena 1024",
    ]


def matmul(k: Kernel, scale: bool = False) -> None:
    a, b = k.offsets("a", k.grid_index((16, 32))), k.offsets("b", k.grid_index((32, 64)))
    zero, one = k.constant(0, "i32"), k.constant(1, "i32")
    with k.loop(zero, k["n"], one, [k.constant(0.0, "f32", (16, 64)), a, b]) as loop:
        acc, pa, pb = loop.arguments
        if scale:
            acc = k.mul(acc, acc)
        accumulated = k.op(
            "tt.dot", [k.load(pa), k.load(pb), acc], ("f32", (16, 64)), "inputPrecision = 2 : i32"
        )
        step = k.splat(k.add(loop.index, one), (16, 32)), k.splat(loop.index, (32, 64))
        loop.next = [accumulated, k.offsets(pa, step[0]), k.offsets(pb, step[1])]
    k.write("o", loop.results[0])


def test_a_dot_accumulates_in_place_and_pointers_need_no_memory() -> None:
    k = Kernel({"a": "*f16", "b": "*f16", "o": "*f32", "n": "i32"})
    matmul(k)
    assert nests(k) == [
        "nest 16x64: write arith.constant -> f32[1024]@8192",
        "scf.for",
        "nest 32x64: write arith.extf -> f32[2048]@0",
        "nest 16x32: write arith.extf -> f32[512]@12288",
        "dot -> f32[1024]@8192",
        "nest 16x64: tt.store",
        "arena 14336",
    ]


def test_an_accumulator_that_is_scaled_first_stays_in_place() -> None:
    k = Kernel({"a": "*f16", "b": "*f16", "o": "*f32", "n": "i32"})
    matmul(k, scale=True)
    text = nests(k)
    assert "nest 16x64: write arith.mulf -> f32[1024]@8192" in text
    assert "dot -> f32[1024]@8192" in text
    assert text[-1] == "arena 14336"


def test_large_sums_over_tiles_carry_a_scalar() -> None:
    k = Kernel({"x": "*f32", "o": "*f32", "n": "i32"})
    zero, step = k.constant(0, "i32"), k.constant(512, "i32")
    with k.loop(zero, k["n"], step, [k.constant(0.0, "f32", (512,))]) as loop:
        value = k.load(k.offsets("x", k.add(k.splat(loop.index, (512,)), k.range(512))))
        loop.next = [k.add(loop.arguments[0], k.mul(value, value))]
    k.store(k["o"], total(k, loop.results[0]))
    assert nests(k) == ["scf.for", "nest 512: tt.reduce", "arena 0"]


def test_buffers_that_are_not_needed_together_share_memory() -> None:
    """Ten scans, one after the other."""
    k = Kernel({"x": "*f32", "o": "*f32"})
    value = k.read("x", 256)
    for _ in range(10):
        (value,) = k.scan(0, [value], lambda a, b: [k.add(a[0], b[0])])
    k.write("o", value)
    assert nests(k)[-1] == "arena 2048"


def test_buffers_are_aligned_and_do_not_overlap() -> None:
    """All that a plan writes and reads, step by step, through the loop and after it."""
    k = Kernel({"x": "*f32", "o": "*f32", "n": "i32"})
    kept = k.same("math.exp", k.read("x", 64))
    zero, one = k.constant(0, "i32"), k.constant(1, "i32")
    with k.loop(zero, k["n"], one, [k.read("x", 64)]) as loop:
        (scanned,) = k.scan(0, [k.add(loop.arguments[0], kept)], lambda a, b: [k.add(a[0], b[0])])
        loop.next = [k.mul(scanned, kept)]
    k.write("o", k.add(loop.results[0], kept))
    plan = planned(k)
    buffers = {v.buffer for v in plan.views.values()}
    assert all(b.offset % 64 == 0 for b in buffers)
    always = {plan.views[v].buffer for v in plan.carried} | {
        v.buffer for value, v in plan.views.items() if value.op and value.op.name == "math.exp"
    }
    spans = sorted((b.offset, b.offset + b.nbytes) for b in always)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    assert plan.arena == max(b.offset + b.nbytes for b in buffers)


def test_what_is_taken_for_disjoint_is_noted_and_the_ordered_plan_takes_nothing() -> None:
    k = Kernel({"x": "*f32", "y": "*f32", "o": "*f32"})
    k.write("o", k.add(k.read("x", 128), k.read("y", 128)))
    assert [(a.first, a.second) for a in planned(k).aliasing.assumptions()] == [(0, 2), (1, 2)]
    with mlir.session():
        ordered = make_plan(read_kernel(mlir.parse(k.text)).body, ordered=True)
    assert ordered.arena == 2 * 128 * 4
