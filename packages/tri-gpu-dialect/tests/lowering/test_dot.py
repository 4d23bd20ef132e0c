from __future__ import annotations

import numpy as np
import pytest

from tri_gpu_dialect.encodings import Blocked, DotOperand
from tri_gpu_dialect.testing import TensorSpec, kernel, run

RNG = np.random.default_rng(17)
DTYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i32": "i4"}
PARENTS = [Blocked((4, 4), (8, 4), (2, 2), (1, 0)), Blocked((1, 2), (2, 16), (4, 1), (0, 1))]


@pytest.mark.parametrize(
    ("element", "result"), [("f16", "f32"), ("f16", "f16"), ("f32", "f32"), ("f64", "f64"), ("i8", "i32")]
)
@pytest.mark.parametrize("parent", PARENTS, ids=["square", "wide"])
@pytest.mark.parametrize("shape", [(64, 64, 32), (16, 32, 8)])
def test_matmuls(shape: tuple[int, int, int], parent: Blocked, element: str, result: str) -> None:
    m, n, k = shape
    specs = [
        TensorSpec(element, (m, k), DotOperand(0, parent)),
        TensorSpec(element, (k, n), DotOperand(1, parent)),
        TensorSpec(result, (m, n), parent),
    ]
    body = (
        f'%out0 = "tt.dot"(%in0, %in1, %in2) {{inputPrecision = 2 : i32}} : '
        f"({specs[0].type}, {specs[1].type}, {specs[2].type}) -> {specs[2].type}"
    )
    # small integers: every dot and sum is exact
    a, b, c = (RNG.integers(-3, 4, s.shape).astype(DTYPES[s.element]) for s in specs)
    out = np.zeros((m, n), DTYPES[result])
    run(kernel(specs, specs[2:], body, warps=4, lanes=32), [a, b, c, out])
    np.testing.assert_array_equal(out, a.astype(np.float64) @ b.astype(np.float64) + c)


def test_batches() -> None:
    parent = Blocked((1, 2, 2), (2, 4, 4), (2, 2, 1), (2, 1, 0))
    specs = [
        TensorSpec("f32", (4, 16, 8), DotOperand(0, parent)),
        TensorSpec("f32", (4, 8, 16), DotOperand(1, parent)),
        TensorSpec("f32", (4, 16, 16), parent),
    ]
    body = (
        f'%out0 = "tt.dot"(%in0, %in1, %in2) {{inputPrecision = 2 : i32}} : '
        f"({specs[0].type}, {specs[1].type}, {specs[2].type}) -> {specs[2].type}"
    )
    a, b, c = (RNG.integers(-3, 4, s.shape).astype(np.float32) for s in specs)
    out = np.zeros_like(c)
    run(kernel(specs, specs[2:], body, warps=4, lanes=32), [a, b, c, out])
    np.testing.assert_array_equal(out, a @ b + c)
