from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import Blocked, Linear, Slice
from tri_gpu_dialect.layouts import LinearLayout
from tri_gpu_dialect.lowering import Builder, LaneReduction, Primitives
from tri_gpu_dialect.testing import ReferencePrimitives, TensorSpec, distributed, kernel, run

RNG = np.random.default_rng(11)

ADD = """^bb0(%a: f32, %b: f32): %s = arith.addf %a, %b : f32
  "tt.{kind}_return"(%s) : (f32) -> ()"""

#: the larger value, the smaller index among equal ones
ARGMAX = """^bb0(%v: f32, %i: i32, %w: f32, %j: i32):
  %gt = arith.cmpf ogt, %v, %w : f32
  %eq = arith.cmpf oeq, %v, %w : f32
  %lt = arith.cmpi slt, %i, %j : i32
  %tie = arith.andi %eq, %lt : i1
  %left = arith.ori %gt, %tie : i1
  %value = arith.select %left, %v, %w : f32
  %index = arith.select %left, %i, %j : i32
  "tt.{kind}_return"(%value, %index) : (f32, i32) -> ()"""

#: composition of x -> a x + b: associative, not commutative
AFFINE = """^bb0(%a: i32, %b: i32, %c: i32, %d: i32):
  %m = arith.muli %a, %c : i32
  %n = arith.muli %b, %c : i32
  %o = arith.addi %n, %d : i32
  "tt.{kind}_return"(%m, %o) : (i32, i32) -> ()"""


def ints(shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Floats whose sums are exact."""
    return RNG.integers(-64, 64, shape).astype(np.float32)


def reduce_sum(x: npt.NDArray[Any], axis: int, spec: TensorSpec, warps: int, lanes: int) -> npt.NDArray[Any]:
    shape = tuple(n for d, n in enumerate(spec.shape) if d != axis)
    region = ADD.format(kind="reduce")
    attributes = f"{{axis = {axis} : i32}}"
    if shape:
        result = TensorSpec("f32", shape, Slice(axis, spec.encoding))
        body = f'%out0 = "tt.reduce"(%in0) ({{ {region} }}) {attributes} : ({spec.type}) -> {result.type}'
    else:
        result = TensorSpec("f32", (1,), Blocked((1,), (lanes,), (warps,), (0,)))
        body = f"""%r = "tt.reduce"(%in0) ({{ {region} }}) {attributes} : ({spec.type}) -> f32
        %out0 = "tt.splat"(%r) : (f32) -> {result.type}"""
    y = np.full(shape or (1,), np.nan, np.float32)
    run(kernel([spec], [result], body, warps=warps, lanes=lanes), [x, y])
    return y if shape else y[0]


BLOCKED = [
    Blocked((1, 4), (4, 8), (4, 1), (1, 0)),
    Blocked((4, 1), (8, 4), (1, 4), (0, 1)),
    Blocked((2, 2), (1, 32), (2, 2), (1, 0)),
    Blocked((1, 1), (32, 1), (2, 2), (0, 1)),
]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("encoding", BLOCKED, ids=range(4))
@pytest.mark.parametrize("shape", [(32, 64), (4, 16), (128, 4)])
def test_sums_along_either_axis(encoding: Blocked, axis: int, shape: tuple[int, int]) -> None:
    x = ints(shape)
    np.testing.assert_array_equal(reduce_sum(x, axis, TensorSpec("f32", shape, encoding), 4, 32), x.sum(axis))


@pytest.mark.parametrize("warps", [1, 2, 4, 8])
@pytest.mark.parametrize("size", [1, 16, 256, 2048])
def test_sums_of_vectors(size: int, warps: int) -> None:
    x = ints((size,))
    spec = TensorSpec("f32", (size,), Blocked((4,), (32,), (warps,), (0,)))
    assert reduce_sum(x, 0, spec, warps, 32) == x.sum()


@pytest.mark.parametrize("lanes", [1, 4, 32])
@pytest.mark.parametrize("warps", [16, 32])
def test_lanes_share_what_many_warps_left(warps: int, lanes: int) -> None:
    x = ints((2048,))
    spec = TensorSpec("f32", (2048,), Blocked((2,), (lanes,), (warps,), (0,)))
    assert reduce_sum(x, 0, spec, warps, lanes) == x.sum()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("lanes", [(1, 32), (2, 16), (8, 4), (16, 2), (32, 1)])
def test_only_lanes_with_one_position_share(lanes: tuple[int, int], order: tuple[int, int]) -> None:
    """The result's rows are in as many lanes; the others, from none to all five bits, share the 16 warps' sums."""
    x = ints((64, 64))
    spec = TensorSpec("f32", (64, 64), Blocked((1, 1), lanes, (1, 16), order))
    np.testing.assert_array_equal(reduce_sum(x, 1, spec, 16, 32), x.sum(1))


def test_many_warps_need_few_registers() -> None:
    """Of 32 warps' sums a lane reads one vector; of eight warps', two."""
    for warps, reads in ((8, 2), (32, 1)):
        spec = TensorSpec("f32", (2048,), Blocked((2,), (32,), (warps,), (0,)))
        result = TensorSpec("f32", (1,), Blocked((1,), (32,), (warps,), (0,)))
        body = f"""%r = "tt.reduce"(%in0) ({{ {ADD.format(kind="reduce")} }}) {{axis = 0 : i32}} : ({spec.type}) -> f32
        %out0 = "tt.splat"(%r) : (f32) -> {result.type}"""
        module = kernel([spec], [result], body, warps=warps, lanes=32)
        text = str(run(module, [ints((2048,)), np.zeros(1, np.float32)]))
        assert len(re.findall(r"llvm.load .*<3> -> vector<4x\w+>", text)) == reads


def test_a_region_of_the_user_is_combined_in_order_by_many_warps() -> None:
    """What pairs of lanes that share may disagree about is the first lane's to say."""
    encoding = Blocked((1,), (32,), (16,), (0,))
    value, index = (TensorSpec(e, (1024,), encoding) for e in ("f32", "i32"))
    outs = [TensorSpec(e, (1,), encoding) for e in ("f32", "i32")]
    body = f"""%v, %i = "tt.reduce"(%in0, %in1) ({{ {ARGMAX.format(kind="reduce")} }}) {{axis = 0 : i32}} :
      ({value.type}, {index.type}) -> (f32, i32)
    %out0 = "tt.splat"(%v) : (f32) -> {outs[0].type}
    %out1 = "tt.splat"(%i) : (i32) -> {outs[1].type}"""
    x = ints((1024,))
    y, j = np.zeros(1, np.float32), np.full(1, -1, np.int32)
    run(kernel([value, index], outs, body, warps=16, lanes=32), [x, np.arange(1024, dtype=np.int32), y, j])
    assert (y[0], j[0]) == (x.max(), x.argmax())


@pytest.mark.parametrize("warps", [8, 16, 32])
def test_lanes_that_share_agree_where_the_order_counts(warps: int) -> None:
    """Warps alone hold the elements; each lane stores what it got, which is the composition in order."""
    columns = (0, 0, 0, 0, 0, *(1 << i for i in range(warps.bit_length() - 1)))
    bits = warps.bit_length() - 1
    layout = LinearLayout(
        (("register", 0), ("lane", 5), ("warp", bits), ("block", 0)), (("dim0", bits),), columns
    )
    spec = TensorSpec("i32", (warps,), Linear.of(layout))
    out = TensorSpec("i32", (32,), Blocked((1,), (32,), (warps,), (0,)))
    body = f"""%m, %n = "tt.reduce"(%in0, %in1) ({{ {AFFINE.format(kind="reduce")} }}) {{axis = 0 : i32}} :
      ({spec.type}, {spec.type}) -> (i32, i32)
    %out0 = "tt.splat"(%m) : (i32) -> {out.type}
    %out1 = "tt.splat"(%n) : (i32) -> {out.type}"""
    a, b = (RNG.choice([-3, -1, 1, 2, 3], warps).astype(np.int32) for _ in range(2))
    found = [np.zeros(32, np.int32) for _ in range(2)]
    text = str(run(kernel([spec, spec], [out, out], body, warps=warps, lanes=32), [a, b, *found]))
    for got, want in zip(found, affine_scan(a, b, 0, False), strict=True):
        np.testing.assert_array_equal(got, np.full(32, want[-1]))
    assert len(re.findall(r"llvm.load .*<3> -> vector<4xi32>", text)) == 2  # one for each operand


@settings(max_examples=60)
@given(st.data())
def test_sums_of_random_layouts(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.sampled_from([2, 4, 8]), min_size=1, max_size=3)))
    lanes, warps = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 2))
    axis = data.draw(st.integers(0, len(shape) - 1))
    layout: LinearLayout = data.draw(distributed(shape, lanes, warps))
    x = ints(shape)
    try:
        found = reduce_sum(x, axis, TensorSpec("f32", shape, Linear.of(layout)), 1 << warps, 1 << lanes)
    except Unsupported:
        assert any(c & (c - 1) for c in layout.columns)  # only layouts that mix coordinates are refused
    else:
        np.testing.assert_array_equal(found, x.sum(axis))


@pytest.mark.parametrize("encoding", BLOCKED, ids=range(4))
@pytest.mark.parametrize("axis", [0, 1])
def test_several_operands_and_a_region_of_the_user(encoding: Blocked, axis: int) -> None:
    shape = (32, 64)
    value, index = (TensorSpec(e, shape, encoding) for e in ("f32", "i32"))
    slice_ = Slice(axis, encoding)
    outs = [TensorSpec(e, (shape[1 - axis],), slice_) for e in ("f32", "i32")]
    region = ARGMAX.format(kind="reduce")
    body = f"""%out0, %out1 = "tt.reduce"(%in0, %in1) ({{ {region} }}) {{axis = {axis} : i32}} :
      ({value.type}, {index.type}) -> ({outs[0].type}, {outs[1].type})"""
    x = ints(shape)
    i = np.broadcast_to(np.arange(shape[axis])[:, None] if axis == 0 else np.arange(shape[axis]), shape)
    y, j = np.zeros(shape[1 - axis], np.float32), np.full(shape[1 - axis], -1, np.int32)
    run(kernel([value, index], outs, body, warps=4, lanes=32), [x, np.ascontiguousarray(i, np.int32), y, j])
    np.testing.assert_array_equal(y, x.max(axis))
    np.testing.assert_array_equal(j, x.argmax(axis))


@pytest.mark.parametrize("element", ["f16", "f64", "i8"])
def test_elements_that_are_not_a_word_wide(element: str) -> None:
    dtype = {"f16": np.float16, "f64": np.float64, "i8": np.int8}[element]
    op = "arith.addi" if element == "i8" else "arith.addf"
    spec = TensorSpec(element, (64, 32), BLOCKED[0])
    result = TensorSpec(element, (32,), Slice(0, BLOCKED[0]))
    region = f"""^bb0(%a: {element}, %b: {element}): %s = {op} %a, %b : {element}
      "tt.reduce_return"(%s) : ({element}) -> ()"""
    body = f'%out0 = "tt.reduce"(%in0) ({{ {region} }}) {{axis = 0 : i32}} : ({spec.type}) -> {result.type}'
    x = RNG.integers(-1, 2, (64, 32)).astype(dtype)
    y = np.full(32, 99, dtype)
    run(kernel([spec], [result], body, warps=4, lanes=32), [x, y])
    np.testing.assert_array_equal(y, x.sum(0, dtype=dtype))


# --- scans ------------------------------------------------------------------------------------------------


def scan(
    region: str,
    arrays: list[npt.NDArray[Any]],
    specs: list[TensorSpec],
    axis: int,
    reverse: bool,
    warps: int,
    lanes: int,
) -> list[npt.NDArray[Any]]:
    outs = [np.zeros_like(a) for a in arrays]
    n = len(specs)
    names = (", ".join(f"%{which}{i}" for i in range(n)) for which in ("out", "in"))
    types = ", ".join(s.type for s in specs)
    left, right = names
    body = f"""{left} = "tt.scan"({right}) ({{ {region} }})
      {{axis = {axis} : i32, reverse = {str(reverse).lower()}}} : ({types}) -> ({types})"""
    run(kernel(specs, specs, body, warps=warps, lanes=lanes), [*arrays, *outs])
    return outs


def affine_scan(
    a: npt.NDArray[Any], b: npt.NDArray[Any], axis: int, reverse: bool
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    a, b = (np.moveaxis(v.astype(np.int64), axis, 0)[:: -1 if reverse else 1] for v in (a, b))
    m, n = a.copy(), b.copy()
    for k in range(1, len(a)):
        m[k] = m[k - 1] * a[k]
        n[k] = n[k - 1] * a[k] + b[k]
    return tuple(np.moveaxis(v[:: -1 if reverse else 1], 0, axis).astype(np.int32) for v in (m, n))  # type: ignore[return-value]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("encoding", BLOCKED, ids=range(4))
@pytest.mark.parametrize("shape", [(32, 64), (4, 16), (128, 4)])
def test_scans_keep_the_order(encoding: Blocked, axis: int, reverse: bool, shape: tuple[int, int]) -> None:
    a, b = (RNG.integers(-3, 4, shape).astype(np.int32) for _ in range(2))
    spec = TensorSpec("i32", shape, encoding)
    found = scan(AFFINE.format(kind="scan"), [a, b], [spec, spec], axis, reverse, 4, 32)
    for got, want in zip(found, affine_scan(a, b, axis, reverse), strict=True):
        np.testing.assert_array_equal(got, want)


@settings(max_examples=40)
@given(st.data())
def test_scans_of_random_layouts(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.sampled_from([2, 4, 8]), min_size=1, max_size=3)))
    lanes, warps = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 2))
    axis, reverse = data.draw(st.integers(0, len(shape) - 1)), data.draw(st.booleans())
    layout: LinearLayout = data.draw(distributed(shape, lanes, warps))
    a, b = (RNG.integers(-3, 4, shape).astype(np.int32) for _ in range(2))
    spec = TensorSpec("i32", shape, Linear.of(layout))
    try:
        found = scan(AFFINE.format(kind="scan"), [a, b], [spec, spec], axis, reverse, 1 << warps, 1 << lanes)
    except Unsupported:
        assert any(c & (c - 1) for c in layout.columns)
    else:
        for got, want in zip(found, affine_scan(a, b, axis, reverse), strict=True):
            np.testing.assert_array_equal(got, want)


def test_lanes_with_blocks_of_one_register_combine_once_a_step() -> None:
    """Eight lanes hold a column: three steps, each with the two products of the region for each of a thread's two columns, and no more for totals."""
    spec = TensorSpec("i32", (8, 8), Blocked((1, 2), (8, 4), (1, 1), (1, 0)))
    body = f"""%out0, %out1 = "tt.scan"(%in0, %in1) ({{ {AFFINE.format(kind="scan")} }})
      {{axis = 0 : i32, reverse = false}} : ({spec.type}, {spec.type}) -> ({spec.type}, {spec.type})"""
    a, b = (RNG.integers(-3, 4, spec.shape).astype(np.int32) for _ in range(2))
    found = [np.zeros_like(a), np.zeros_like(b)]
    module = run(kernel([spec, spec], [spec, spec], body, warps=1, lanes=32), [a, b, *found])
    for got, want in zip(found, affine_scan(a, b, 0, False), strict=True):
        np.testing.assert_array_equal(got, want)
    addresses = 1
    assert str(module).count("llvm.mul ") == 3 * 2 * 2 + addresses


def _fold(words: Primitives, mask: int, b: Builder, value: ir.Value) -> ir.Value:
    """What the lane ``mask`` further has, as far as there is one; else nothing useful."""
    lane = words.lane_id(b, words.thread_id(b))
    source = b.and_(b.add(lane, b.int_(mask)), b.int_(words.threads_per_warp - 1))
    missing = b.cmp("sge", b.add(lane, b.int_(mask)), b.int_(words.threads_per_warp))
    return b.select(missing, b.int_(0x7FC00000), words.shuffle_idx(b, value, source))


def _first(words: Primitives, masks: tuple[int, ...], b: Builder, value: ir.Value) -> ir.Value:
    """What the first lane of those that differ by ``masks`` has."""
    kept = words.threads_per_warp - 1 - sum(masks)
    return words.shuffle_idx(b, value, b.and_(words.lane_id(b, words.thread_id(b)), b.int_(kept)))


@pytest.mark.parametrize("lanes", [4, 16, 32])
def test_a_target_chooses_how_lanes_combine(monkeypatch: pytest.MonkeyPatch, lanes: int) -> None:
    """Lanes without a neighbour get NaN, so only the first lane's total is one."""
    asked = []

    def reduce_lanes(words: Primitives, masks: tuple[int, ...]) -> LaneReduction:
        asked.append(masks)
        moves = tuple(partial(_fold, words, mask) for mask in reversed(masks))
        return LaneReduction(moves, partial(_first, words, masks))

    monkeypatch.setattr(ReferencePrimitives, "reduce_lanes", reduce_lanes)
    spec = TensorSpec("f32", (8, 2 * lanes), Blocked((1, 2), (32 // lanes, lanes), (2, 1), (1, 0)))
    x = ints(spec.shape)
    np.testing.assert_array_equal(reduce_sum(x, 1, spec, 2, 32), x.sum(1))
    assert asked
