"""Reads of operands go down as far as results allow, and no further."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_core.api import CommonOptions, StageContext, Target, TargetKey, TargetSpec
from tri_core.mlir import ir
from tri_core.target import ComputeUnit
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.encodings import Blocked, DotOperand, SwizzledShared
from tri_gpu_dialect.passes import ReorderInstructions
from tri_gpu_dialect.testing import TensorSpec, kernel, run
from tri_gpu_dialect.testing.matrix import RefMatrix

TARGET = Target(key=TargetKey("made-up", "m1"), spec=TargetSpec(threads_per_warp=(32,)))
CONTEXT = StageContext(target=TARGET, options=CommonOptions(), kernel_name="f", codegen=None)  # type: ignore[arg-type]
SHAPE = (16, 16)
ROWS = Blocked((1, 2), (4, 8), (2, 1), (1, 0))
SUM = RefMatrix((2, 1))
BLOCK, TOTAL = TensorSpec("f16", SHAPE, ROWS), TensorSpec("f32", SHAPE, SUM)
LEFT, RIGHT = (TensorSpec("f16", SHAPE, DotOperand(i, SUM, 2)) for i in (0, 1))
#: what each step needs, and its text; `X` and `Y` are buffers of the left and right operand
_STEPS: dict[str, tuple[str, ...]] = {
    "load x": (),
    "load y": (),
    "alloc x": ("load x",),
    "alloc y": ("load y",),
    "read x": ("alloc x",),
    "read y": ("alloc y",),
    "store y over x": ("alloc x", "load y"),
    "barrier": (),
    "sum": (),
    "ring": (),
}


def _memory() -> str:
    encoding = SwizzledShared(2, 1, 4, (1, 0)).to_attr()
    return str(MemDescType.of(SHAPE, ir.F16Type.get(), encoding, mutable=True))


def _texts() -> dict[str, str]:
    memory, bits = _memory(), "{operandSegmentSizes = array<i32: 1, 0, 0>}"
    pointers = "tensor<16x16x" + f'!tt.ptr<f16, "global">, {ROWS.to_attr()}>'
    made = {
        "store y over x": f'"ttg.local_store"(%y, %bx) : ({BLOCK.type}, {memory}) -> ()',
        "barrier": '"ttg.barrier"() {addrSpace = 1 : i32} : () -> ()',
        "sum": f"%sum = arith.addf %in2, %in2 : {TOTAL.type}",
        "ring": f'%ring = "ttg.local_alloc"() : () -> {memory}',
    }
    for name, number, operand in (("x", 0, LEFT), ("y", 1, RIGHT)):
        made[f"load {name}"] = f'%{name} = "tt.load"(%a_in{number}) {bits} : ({pointers}) -> {BLOCK.type}'
        made[f"alloc {name}"] = f'%b{name} = "ttg.local_alloc"(%{name}) : ({BLOCK.type}) -> {memory}'
        made[f"read {name}"] = (
            f'%r{name} = "ttg.local_load"(%b{name}) {{operandSegmentSizes = array<i32: 1, 0>}} : ({memory}) -> {operand.type}'
        )
    return made


def program(steps: list[str]) -> ir.Module:
    """The dot of two blocks, plus twice a third."""
    texts = _texts()
    dot = f'%out0 = "tt.dot"(%rx, %ry, %sum) {{inputPrecision = 2 : i32}} : ({LEFT.type}, {RIGHT.type}, {TOTAL.type}) -> {TOTAL.type}'
    body = "\n".join([*(texts[s] for s in steps), dot])
    return kernel([BLOCK, BLOCK, TOTAL], [TOTAL], body, warps=2, lanes=32)


def reordered(steps: list[str], context: StageContext = CONTEXT) -> ir.Module:
    module = program(steps)
    ReorderInstructions().apply(module, context)
    assert module.operation.verify()
    return module


def names(module: ir.Module) -> list[str]:
    """The ops from the first that the body has: %in0 to %in2 are loaded before."""
    found = [op.name for op in all_ops(module.operation)]
    return found[[i for i, name in enumerate(found) if name == "tt.load"][2] + 1 :]


PLAIN = ["load x", "alloc x", "read x", "load y", "alloc y", "read y", "sum"]


def test_reads_stand_before_the_dot() -> None:
    assert names(reordered(PLAIN))[:7] == [
        "tt.load",
        "ttg.local_alloc",
        "tt.load",
        "ttg.local_alloc",
        "arith.addf",
        "ttg.local_load",
        "ttg.local_load",
    ]


@pytest.mark.parametrize("stop", ["barrier", "ring", "store y over x"])
def test_they_pass_nothing_that_orders_memory_and_no_ring(stop: str) -> None:
    between = {"barrier": "ttg.barrier", "ring": "ttg.local_alloc", "store y over x": "ttg.local_store"}
    steps = ["load x", "load y", "alloc x", "alloc y", "read x", "sum", stop, "read y"]
    found = names(reordered(steps))
    assert found[4:7] == ["arith.addf", "ttg.local_load", between[stop]]
    assert found[7:9] == ["ttg.local_load", "tt.dot"]


def test_they_do_not_pass_dots() -> None:
    """Reads in front of a dot are there for the sake of what it hides."""
    module = program(["load x", "load y", "alloc x", "alloc y", "read x", "read y", "sum"])
    (dot,) = (op for op in all_ops(module.operation) if op.name == "tt.dot")
    early, _ = (op for op in all_ops(module.operation) if op.name == "ttg.local_load")
    later = early.clone(ir.InsertionPoint(dot)).operation
    second = dot.clone(ir.InsertionPoint.after(dot)).operation
    second.operands[0], second.operands[2] = later.results[0], dot.results[0]
    ReorderInstructions().apply(module, CONTEXT)
    assert names(module)[4:10] == ["arith.addf", *["ttg.local_load"] * 3, "tt.dot", "tt.dot"]


@pytest.mark.parametrize(
    ("size", "mutable", "buffers", "late"),
    [(64, False, 2, True), (64, False, 1, True), (16, False, 2, False), (64, True, 2, False)],
    ids=["large", "shared", "small", "ring"],
)  # fmt: skip
def test_large_operands_of_buffers_that_nobody_fills_again_are_read_behind_other_dots(
    size: int, mutable: bool, buffers: int, late: bool
) -> None:
    """Two dots with right operands of their own, or of one buffer: of 64 columns a thread has 64 words, of 16 four."""
    shape = (size, size)
    block, total = TensorSpec("f16", shape, ROWS), TensorSpec("f32", shape, SUM)
    left, right = (TensorSpec("f16", shape, DotOperand(i, SUM, 2)).type for i in (0, 1))
    memory = MemDescType.of(
        shape, ir.F16Type.get(), SwizzledShared(2, 1, 4, (1, 0)).to_attr(), mutable=mutable
    )
    segments = "{operandSegmentSizes = array<i32: 1, 0>}"
    lines = [f'%l = "ttg.convert_layout"(%in0) : ({block.type}) -> {left}']
    for i in (1, 2):
        lines += [
            f'%b{i} = "ttg.local_alloc"(%in{i}) : ({block.type}) -> {memory}',
            f'%r{i} = "ttg.local_load"(%b{min(i, buffers)}) {segments} : ({memory}) -> {right}',
        ]
    for i, (added, made) in enumerate((("%in3", "%first"), ("%first", "%out0")), 1):
        types = f"({left}, {right}, {total.type}) -> {total.type}"
        lines.append(f'{made} = "tt.dot"(%l, %r{i}, {added}) {{inputPrecision = 2 : i32}} : {types}')
    module = kernel([block, block, block, total], [total], "\n".join(lines), warps=2, lanes=32)
    ReorderInstructions(late_words=16).apply(module, CONTEXT)
    assert module.operation.verify()
    found = [op.name for op in all_ops(module.operation) if op.name in ("ttg.local_load", "tt.dot")]
    assert found == [
        "ttg.local_load",
        *(["tt.dot", "ttg.local_load"] if late else ["ttg.local_load", "tt.dot"]),
        "tt.dot",
    ]


def test_the_function_stays_where_memory_would_not_last() -> None:
    """Two buffers of 512 bytes live one after the other as it is written; at once if reads go down."""
    limited = Target(key=TARGET.key, spec=replace(TARGET.spec, limits={"shared": 512}))
    before = str(program(PLAIN))
    assert str(reordered(PLAIN, replace(CONTEXT, target=limited))) == before
    limited = Target(key=TARGET.key, spec=replace(TARGET.spec, limits={"shared": 1024}))
    assert str(reordered(PLAIN, replace(CONTEXT, target=limited))) != before


@pytest.mark.parametrize(("partitions", "moves"), [(4, False), (2, True)])
def test_reads_stay_where_longer_buffers_leave_partitions_without_warps(partitions: int, moves: bool) -> None:
    """CTAs of two warps: four fit as it is written, two if reads go down."""
    unit = ComputeUnit(partitions=partitions, warps=16, registers=512, shared=2048, blocks=16)
    target = Target(key=TARGET.key, spec=replace(TARGET.spec, limits={"shared": 2048}, unit=unit))
    found = names(reordered(PLAIN, replace(CONTEXT, target=target)))
    early = found.index("ttg.local_load") < [i for i, n in enumerate(found) if n == "ttg.local_alloc"][1]
    assert early is not moves


@st.composite
def orders(draw: st.DrawFn) -> list[str]:
    """Any order of the steps in which each follows what it needs."""
    made: list[str] = []
    left = dict(_STEPS)
    while left:
        ready = [s for s, needs in left.items() if all(n in made for n in needs)]
        made.append(draw(st.sampled_from(ready)))
        del left[made[-1]]
    return made


@settings(max_examples=40)
@given(orders())
def test_results_stay(steps: list[str]) -> None:
    random = np.random.default_rng(5)
    x, y = (random.integers(-3, 4, SHAPE).astype(np.float16) for _ in range(2))
    z, made = random.integers(-3, 4, SHAPE).astype(np.float32), np.full(SHAPE, np.nan, np.float32)
    run(reordered(steps), [x, y, z, made])
    left = x if steps.index("read x") < steps.index("store y over x") else y
    np.testing.assert_array_equal(made, left.astype(np.float64) @ y + 2 * z)


def test_operands_of_dots_by_multiply_add_are_converted_where_they_are_used() -> None:
    """A thread has 4 elements of a block, and 64 of a right operand: the second dot's is converted behind the first dot."""
    block = TensorSpec("f32", SHAPE, Blocked((1, 4), (8, 4), (1, 1), (1, 0)))
    left, right = (TensorSpec("f32", SHAPE, DotOperand(i, block.encoding, 0)) for i in (0, 1))
    convert, dot = '"ttg.convert_layout"', '"tt.dot"'
    types = f"({left.type}, {right.type}, {block.type}) -> {block.type}"
    body = f"""
    %l = {convert}(%in0) : ({block.type}) -> {left.type}
    %r = {convert}(%in1) : ({block.type}) -> {right.type}
    %late = {convert}(%in2) : ({block.type}) -> {right.type}
    %first = {dot}(%l, %r, %in2) {{inputPrecision = 2 : i32}} : {types}
    %again = {convert}(%first) : ({block.type}) -> {left.type}
    %out0 = {dot}(%again, %late, %in2) {{inputPrecision = 2 : i32}} : {types}
    """
    module = kernel([block] * 3, [block], body, warps=1, lanes=32)
    ReorderInstructions().apply(module, CONTEXT)
    assert module.operation.verify()
    names = [op.name for op in all_ops(module.operation) if op.name in ("ttg.convert_layout", "tt.dot")]
    assert names == ["ttg.convert_layout"] * 2 + ["tt.dot"] + ["ttg.convert_layout"] * 2 + ["tt.dot"]
