"""Rows of instructions that read operands from shared memory: which dots they compute, and how groups of warps share results."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.encodings import Blocked, SharedEncoding, SwizzledShared
from tri_gpu_dialect.policies.async_dots import AsyncInstruction, WarpGroup
from tri_gpu_dialect.policies.matrix import MatrixInstruction, choose
from tri_gpu_dialect.testing.matrix import RefMatrix

ROWS = SwizzledShared(1, 1, 1, (1, 0))
POWERS = st.sampled_from([16, 32, 64, 128])


def in_rows(index: int, shape: tuple[int, ...], contiguous: int) -> SharedEncoding | None:
    """Operands lie in rows, or cannot be read."""
    return ROWS if contiguous == 1 else None


ALONE = MatrixInstruction(
    a="f16", b="f16", accumulator="f32", shape=(8, 8, 8), k_width=2, encoding=RefMatrix()
)
GROUP = AsyncInstruction(
    a="f16", b="f16", accumulator="f32", shape=(16, 8, 8), k_width=2, encoding=RefMatrix(),
    memory=in_rows, in_registers=(0,), group_warps=4, group_columns=(8, 32),
)  # fmt: skip


def dots(order: tuple[int, int], warps: int) -> tuple[ir.Module, list[ir.Operation]]:
    """A dot of operands with neighbours along the first of ``order``, and one whose left operand is made of it."""
    run = tuple(4 if d == order[0] else 1 for d in (0, 1))
    given = f"tensor<64x64xf16, {Blocked(run, (8, 4), (warps, 1), order)}>"
    total = f"tensor<64x64xf32, {Blocked((1, 4), (8, 4), (warps, 1), (1, 0))}>"
    multiply = '"tt.dot"({0}, %b, %c) {{inputPrecision = 2 : i32}} : ({1}, {1}, {2}) -> {2}'
    text = (
        f'module attributes {{"ttg.num-warps" = {warps} : i32}} {{ func.func @f(%a: {given}, %b: {given}, %c: {total}) {{\n'
        f"%d = {multiply.format('%a', given, total)}\n"
        f"%n = arith.truncf %d : {total} to {total.replace('f32', 'f16')}\n"
        f'%l = "ttg.convert_layout"(%n) : ({total.replace("f32", "f16")}) -> {given}\n'
        f"%e = {multiply.format('%l', given, total)}\nreturn }} }}"
    )
    module = ir.Module.parse(text)
    return module, [op for op in all_ops(module.operation) if op.name == "tt.dot"]


def test_operands_come_from_memory_or_registers() -> None:
    _, (first, second) = dots((1, 0), 4)
    assert [[s.encoding for s in GROUP.sources(dot) or ()] for dot in (first, second)] == [
        [ROWS, ROWS],
        [None, ROWS],
    ]
    turned = replace(GROUP, in_registers=(1,), transposed=True)
    assert [s.encoding for s in turned.sources(first) or ()] == [ROWS, None]
    assert not turned.computes(second)


@pytest.mark.parametrize(
    ("order", "warps", "expected"), [((1, 0), 4, GROUP), ((0, 1), 4, ALONE), ((1, 0), 2, ALONE)]
)
def test_a_dot_that_it_cannot_read_or_lacks_warps_for_is_left_to_others(
    order: tuple[int, int], warps: int, expected: MatrixInstruction
) -> None:
    kept, (dot, *_) = dots(order, warps)
    assert choose([GROUP, ALONE], dot) is expected
    assert kept.operation.verify()


@given(POWERS, POWERS, st.sampled_from([4, 8, 16]), st.booleans())
def test_warps_of_a_group_split_rows_together(m: int, n: int, warps: int, whole_rows: bool) -> None:
    down, across = GROUP.split((m, n), warps, whole_rows=whole_rows)
    assert down * across == warps
    assert down % 4 == 0
    turned = replace(GROUP, shape=(8, 16, 8), transposed=True)
    assert turned.split((n, m), warps, whole_rows=False) == GROUP.split((m, n), warps, whole_rows=False)[::-1]


def test_without_a_group_warps_share_as_those_of_other_instructions() -> None:
    alone = replace(GROUP, shape=(8, 8, 8), group_warps=1, group_columns=None)
    assert alone.split((64, 64), 4, whole_rows=False) == ALONE.split((64, 64), 4, whole_rows=False)
    assert math.prod(WarpGroup(4, 16, (8, 8)).split((64, 64), 8, whole_rows=True)) == 8
