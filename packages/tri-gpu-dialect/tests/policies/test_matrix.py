from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core.mlir import ir, parse, session
from tri_gpu_dialect.encodings import Blocked, DotOperand
from tri_gpu_dialect.layouts import layout_for
from tri_gpu_dialect.passes import AccelerateMatmul
from tri_gpu_dialect.policies.matrix import (
    MatrixInstruction,
    contiguous_dimension,
    is_made_of_dot,
    split_warps,
)
from tri_gpu_dialect.testing import TensorSpec, kernel, run
from tri_gpu_dialect.testing.matrix import MATRIX_POLICY, RefMatrix

RNG = np.random.default_rng(23)
POWERS = st.sampled_from([8, 16, 32, 64, 128])


@given(st.tuples(POWERS, POWERS), st.sampled_from([1, 2, 4, 8, 16]), st.booleans())
def test_warps_share_all_of_a_result(shape: tuple[int, int], warps: int, whole_rows: bool) -> None:
    split = split_warps(shape, (8, 8), warps, whole_rows=whole_rows)
    assert math.prod(split) == warps
    busy = math.prod(min(s, max(size // 8, 1)) for s, size in zip(split, shape, strict=True))
    assert busy == min(warps, math.prod(size // 8 for size in shape))


def test_shares_are_near_squares_or_rows() -> None:
    assert split_warps((128, 128), (16, 8), 8, whole_rows=False) == (4, 2)
    assert split_warps((128, 256), (16, 8), 8, whole_rows=False) == (2, 4)
    assert split_warps((128, 64), (16, 8), 4, whole_rows=True) == (4, 1)
    assert split_warps((4, 32, 32), (16, 8), 4, whole_rows=False) == (4, 1, 1)


def test_operands_may_have_different_numbers_of_neighbours() -> None:
    one = MatrixInstruction(
        a="f16", b="f16", accumulator="f32", shape=(8, 8, 8), k_width=2, encoding=RefMatrix()
    )
    for k_width, widths in ((2, (2, 2)), ((1, 4), (1, 4))):
        row = replace(one, k_width=k_width)
        assert tuple(row.operand(i, RefMatrix()) for i in (0, 1)) == tuple(
            DotOperand(i, RefMatrix(), width) for i, width in enumerate(widths)
        )


@pytest.mark.parametrize("warps", [(1, 1), (2, 2), (4, 1)])
@pytest.mark.parametrize("shape", [(64, 64, 32), (8, 16, 8), (16, 8, 64)])
def test_layouts_cover_operands_and_result(shape: tuple[int, int, int], warps: tuple[int, int]) -> None:
    m, n, k = shape
    parent = RefMatrix(warps)
    for enc, size in (
        (parent, (m, n)),
        (DotOperand(0, parent, 2), (m, k)),
        (DotOperand(1, parent, 2), (k, n)),
    ):
        layout = layout_for(enc, size)
        assert layout.is_surjective
        assert tuple(layout.out_sizes.values()) == size


@pytest.mark.parametrize("element", ["f16", "f32"])
@pytest.mark.parametrize("result", ["f16", "f32"])
@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("shape", [(32, 64, 16), (8, 8, 8), (16, 8, 64)])
def test_accelerated_matmuls(shape: tuple[int, int, int], warps: int, element: str, result: str) -> None:
    m, n, k = shape
    parent = Blocked.default((m, n), warps, 32)
    specs = [
        TensorSpec(element, (m, k), DotOperand(0, parent)),
        TensorSpec(element, (k, n), DotOperand(1, parent)),
        TensorSpec(result, (m, n), parent),
    ]
    body = (
        f'%out0 = "tt.dot"(%in0, %in1, %in2) {{inputPrecision = 2 : i32}} : '
        f"({specs[0].type}, {specs[1].type}, {specs[2].type}) -> {specs[2].type}"
    )
    module = kernel(specs, specs[2:], body, warps=warps, lanes=32)
    module.operation.attributes["ttg.num-ctas"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)
    AccelerateMatmul(policy=MATRIX_POLICY).apply(module, None)  # type: ignore[arg-type]
    # small integers: every dot and sum is exact
    types = {"f16": "f2", "f32": "f4"}
    a, b, c = (RNG.integers(-3, 4, s.shape).astype(types[s.element]) for s in specs)
    out = np.zeros((m, n), types[result])
    lowered = run(module, [a, b, c, out])
    assert "refm.multiply" in str(lowered)
    np.testing.assert_array_equal(out, a.astype(np.float64) @ b.astype(np.float64) + c)


#: a tensor that a dot gives, one that was loaded, and a vector's
_MADE = """
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: tensor<16x16x!tt.ptr<f16, "global">>, %x: tensor<16x16xf16>, %c: tensor<16x16xf32>):
    %d = "tt.dot"(%x, %x, %c) {inputPrecision = 2 : i32} : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
    OPS
    "tt.return"() : () -> ()
  }) {function_type = (tensor<16x16x!tt.ptr<f16, "global">>, tensor<16x16xf16>, tensor<16x16xf32>) -> (), sym_name = "f"} : () -> ()
}) : () -> ()
"""
#: ops of the tt dialect that compute an f32 from one or more at its index
_FROM_F32 = {
    "tt.clampf": '"tt.clampf"(%d, %c, %c) {propagateNan = 0 : i32} : (T, T, T) -> T',
    "tt.precise_sqrt": '"tt.precise_sqrt"(%d) : (T) -> T',
    "tt.precise_divf": '"tt.precise_divf"(%c, %d) : (T, T) -> T',
    "tt.approx_divf": '"tt.approx_divf"(%d, %c) : (T, T) -> T',
    "tt.extern_elementwise": '"tt.extern_elementwise"(%d) {libname = "m", libpath = "", pure = true, symbol = "s"} : (T) -> T',
    "tt.elementwise_inline_asm": (
        '"tt.elementwise_inline_asm"(%d) {asm_string = "", constraints = "=r,r", packed_element = 1 : i32, pure = true} : (T) -> T'
    ),
    "math.sqrt": "math.sqrt %d : T",
    "arith.addf": "arith.addf %c, %d : T",
}


@pytest.mark.parametrize("name", _FROM_F32)
def test_what_elementwise_ops_of_any_dialect_make_of_a_dot(name: str) -> None:
    op = re.sub(r"\bT\b", "tensor<16x16xf32>", _FROM_F32[name])
    with session():
        module = parse(_MADE.replace("OPS", f"%r = {op}"))
        dot, made = _results(module)
        assert is_made_of_dot(made)
        assert is_made_of_dot(dot)
        assert not is_made_of_dot(dot.owner.operands[0])


def test_what_is_no_elementwise_op_of_a_dot_is_not_made_of_it() -> None:
    op = '"tt.trans"(%d) {order = array<i32: 1, 0>} : (tensor<16x16xf32>) -> tensor<16x16xf32>'
    with session():
        module = parse(_MADE.replace("OPS", f"%r = {op}"))
        _, made = _results(module)
        assert not is_made_of_dot(made)


_LOADED = """
#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 4], order = [0, 1]}>
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: tensor<16x16x!tt.ptr<f32, 1>, #columns>, %row: tensor<16x16xf32, #rows>):
    %x = "tt.load"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16x16x!tt.ptr<f32, 1>, #columns>) -> tensor<16x16xf32, #columns>
    %y = "ttg.convert_layout"(%x) : (tensor<16x16xf32, #columns>) -> tensor<16x16xf32, #rows>
    %z = arith.mulf OPERANDS : tensor<16x16xf32, #rows>
    "tt.return"() : () -> ()
  }) {function_type = (tensor<16x16x!tt.ptr<f32, 1>, #columns>, tensor<16x16xf32, #rows>) -> (), sym_name = "f"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} : () -> ()
"""


@pytest.mark.parametrize(
    ("operands", "dimension"), [("%y, %row", 0), ("%row, %y", 0), ("%y, %y", 0), ("%row, %row", 1)]
)
def test_what_is_scaled_has_the_neighbours_that_it_was_loaded_with(operands: str, dimension: int) -> None:
    with session():
        module = parse(_LOADED.replace("OPERANDS", operands))
        ops = [view.operation for view in next(iter(module.body)).regions[0].blocks[0].operations]
        assert contiguous_dimension(ops[2].results[0]) == dimension


def _results(module: ir.Module) -> tuple[ir.Value, ...]:
    """Of the function's two ops."""
    ops = [view.operation for view in next(iter(module.body)).regions[0].blocks[0].operations]
    return tuple(op.results[0] for op in ops[:2])
