"""Block-scaled dots of Gluon on Blackwell: operands, scales and layouts that no instruction takes are located errors."""

from __future__ import annotations

import numpy as np
import pytest

import tri
from tri.experimental import gluon
from tri.experimental.gluon import language as gl
from tri_core.api import CompilationError, Unsupported

TARGET = "sim:nvidia:sm_100a"
bw = gl.nvidia.blackwell
SCALES = gl.constexpr(bw.TensorMemoryScalesLayout())


@gluon.jit
def refused(
    out, a: gl.constexpr, b: gl.constexpr, a_layout: gl.constexpr, b_layout: gl.constexpr, dtype: gl.constexpr,
    sums: gl.constexpr, scales: gl.constexpr, scale: gl.constexpr, LEFT: gl.constexpr, RIGHT: gl.constexpr, more: gl.constexpr,
):  # fmt: skip
    """A dot of buffers of these shapes, which are what is behind ``more`` where it says so."""
    left = gl.allocate_shared_memory(dtype, a, a_layout)
    right = gl.allocate_shared_memory(dtype, b, b_layout)
    acc = bw.allocate_tensor_memory(sums, [a[0], b[0]], bw.TensorMemoryLayout((128, b[0]), col_stride=1))
    a_factors = bw.allocate_tensor_memory(scale, scales[0], SCALES)
    b_factors = bw.allocate_tensor_memory(scale, scales[1], SCALES)
    given = b_factors
    if more == "scales in shared memory":
        given = gl.allocate_shared_memory(scale, scales[1], gl.SwizzledSharedLayout(1, 1, 1, [1, 0]))
    elif more == "scales in an accumulator":
        given = bw.allocate_tensor_memory(
            gl.float32, [128, 32], bw.TensorMemoryLayout((128, 32), col_stride=1)
        )
    elif more == "acc":
        acc = left
    elif more == "a in tensor memory":
        left = bw.allocate_tensor_memory(
            gl.float16, [128, 128], bw.TensorMemoryLayout((128, 128), col_stride=1)
        )
    if more != "across":
        right = right.permute((1, 0))
    bw.tcgen05_mma_scaled(left, right, acc, a_factors, given, LEFT, RIGHT, multicast=more == "multicast")


@gluon.jit
def copied(out, shape: gl.constexpr, layout: gl.constexpr, dtype: gl.constexpr, to: gl.constexpr):
    source = gl.allocate_shared_memory(dtype, shape, layout)
    if to == "scales":
        bw.tcgen05_copy(source, bw.allocate_tensor_memory(gl.uint8, shape, SCALES))
    elif to == "other scales":
        bw.tcgen05_copy(source, bw.allocate_tensor_memory(gl.uint8, [128, 16], SCALES))
    elif to == "sums":
        bw.tcgen05_copy(
            source,
            bw.allocate_tensor_memory(gl.float32, [128, 32], bw.TensorMemoryLayout((128, 32), col_stride=1)),
        )
    else:
        bw.tcgen05_copy(source, source)


@gluon.jit
def from_registers(out):
    bw.tcgen05_copy(gl.zeros([128, 4], gl.uint8), bw.allocate_tensor_memory(gl.uint8, [128, 4], SCALES))


@gluon.jit
def few(out, shape: gl.constexpr, dtype: gl.constexpr):
    bw.allocate_tensor_memory(dtype, shape, SCALES)


@gluon.jit
def loaded(out):
    bw.allocate_tensor_memory(gl.uint8, [128, 4], SCALES).load()


@gluon.jit
def stored_otherwise(out):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [32, 1], [4, 1], [1, 0])
    bw.allocate_tensor_memory(gl.uint8, [128, 4], SCALES).store(gl.zeros([128, 4], gl.uint8, layout))


TILE, PADDED = gl.NVMMASharedLayout(128, 8), gl.NVMMASharedLayout(128, 8, fp4_padded=True)
FLAT = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
GOOD = {
    "a": (128, 128), "b": (128, 128), "a_layout": TILE, "b_layout": TILE, "dtype": gl.uint8, "sums": gl.float32,
    "scales": ((128, 4), (128, 4)), "scale": gl.uint8, "LEFT": "e4m3", "RIGHT": "e4m3", "more": "",
}  # fmt: skip
COPY = {"shape": (128, 4), "layout": FLAT, "dtype": gl.uint8, "to": "scales"}
BAD = [
    (refused, {**GOOD, "LEFT": "e3m2"}, "a_type of tcgen05_mma_scaled is 'e3m2'"),
    (refused, {**GOOD, "more": "acc"}, "acc is .*; a buffer of tensor memory is expected"),
    (refused, {**GOOD, "more": "multicast"}, "tcgen05_mma_scaled with multicast"),
    (refused, {**GOOD, "more": "a in tensor memory"}, "tcgen05_mma_scaled of tensor_memory_descriptor"),
    (
        refused,
        {**GOOD, "more": "scales in shared memory"},
        "b_scale is .*; scales in tensor memory are expected",
    ),
    (
        refused,
        {**GOOD, "more": "scales in an accumulator"},
        "b_scale is .*; scales in tensor memory are expected",
    ),
    (refused, {**GOOD, "a_layout": FLAT}, "operand a is shared_memory_descriptor"),
    (refused, {**GOOD, "dtype": gl.float8e5}, "operand a of format e4m3 is"),
    (refused, {**GOOD, "sums": gl.int32}, "onto tensor_memory_descriptor<int32"),
    (refused, {**GOOD, "b": (16, 128), "scales": ((128, 4), (32, 4))}, "scales .* of b"),
    (refused, {**GOOD, "b": (128, 256)}, r"of \[128, 128\] and \[256, 128\] onto"),
    (refused, {**GOOD, "scales": ((128, 4), (128, 8))}, r"scales \[128, 4\] of a and \[128, 8\] of b"),
    (
        refused,
        {**GOOD, "scales": ((128, 8), (128, 8))},
        "no tcgen05.mma of 128 numbers along k of e4m3 with 8",
    ),
    (refused, {**GOOD, "scale": gl.float8e4nv}, "no tcgen05.mma of .* scales of fp8e4nv"),
    (
        refused,
        {**GOOD, "RIGHT": "e2m1", "b": (128, 64), "b_layout": gl.NVMMASharedLayout(64, 8)},
        "fp4_padded=True",
    ),
    (
        refused,
        {**GOOD, "LEFT": "e2m1", "RIGHT": "e2m1", "scales": ((128, 8), (128, 8)), "b_layout": PADDED},
        "fp4_padded=False",
    ),
    (
        refused,
        {**GOOD, "LEFT": "e2m1", "RIGHT": "e2m1", "scales": ((128, 8), (128, 8)), "more": "across"},
        "operand b has rows of e2m1 across k",
    ),
    (copied, COPY, "it takes blocks of 128 rows with 4 scales, in the order of lanes"),
    (copied, {**COPY, "shape": (64, 4)}, "it takes blocks of 128 rows"),
    (copied, {**COPY, "to": "other scales"}, "tcgen05_copy from"),
    (copied, {**COPY, "dtype": gl.float8e4nv}, "tcgen05_copy from"),
    (copied, {**COPY, "to": "sums"}, "has no TensorMemoryScalesLayout"),
    (copied, {**COPY, "to": "itself"}, "dst is .*; a buffer of tensor memory is expected"),
    (from_registers, {}, "src of tcgen05_copy is"),
    (few, {"shape": (128, 2), "dtype": gl.uint8}, "at least 32 rows of 4"),
    (few, {"shape": (128, 4), "dtype": gl.float32}, "scales of 32 bits"),
    (loaded, {}, "its elements share columns"),
    (stored_otherwise, {}, "the scales of rows 32 apart"),
]


def check_refused(kernel, target: str, given: dict[str, object], words: str) -> None:
    with pytest.raises((CompilationError, Unsupported), match=words) as caught, tri.target(target):
        kernel[(1,)](np.zeros(64, np.int32), **given)
    assert caught.value.location is not None
    assert caught.value.remedy


@pytest.mark.parametrize(("kernel", "given", "words"), BAD)
def test_bad_input_is_a_located_error(kernel, given: dict[str, object], words: str) -> None:
    check_refused(kernel, TARGET, given, words)


def test_hopper_has_no_such_instruction() -> None:
    check_refused(
        few, "sim:nvidia:sm_90a", {"shape": (128, 4), "dtype": gl.uint8}, "instruction of Blackwell"
    )


def test_layouts_of_padded_e2m1() -> None:
    assert gl.NVMMASharedLayout.get_default_for((128, 64), gl.uint8, fp4_padded=True) == PADDED
    with pytest.raises(CompilationError, match="fp4_padded of 16 bits"):
        gl.NVMMASharedLayout(128, 16, fp4_padded=True)
    with pytest.raises(Unsupported, match="fp4_padded of several CTAs"):
        gl.NVMMASharedLayout(128, 8, rank=3, fp4_padded=True)
