from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core.mlir import ir
from tri_gpu_dialect.encodings import Blocked, DotOperand
from tri_gpu_dialect.layouts import layout_for
from tri_gpu_dialect.matrix import MatrixInstruction, split_warps
from tri_gpu_dialect.passes import AccelerateMatmul
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
