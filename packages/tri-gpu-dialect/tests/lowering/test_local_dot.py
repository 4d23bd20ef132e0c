"""Dots whose operands are in shared memory, on the reference GPU, against exact integers."""

from __future__ import annotations

import numpy as np
import pytest

from tri_core.errors import Unsupported
from tri_gpu_dialect.encodings import Blocked, Linear, SwizzledShared
from tri_gpu_dialect.testing import TensorSpec, kernel, run
from tri_gpu_dialect.transforms.layout.convert_triton_to_tritongpu import dot_encoding
from tri_gpu_dialect.transforms.memory.stage_dot_operands import operand_encoding

RNG = np.random.default_rng(23)
DTYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i32": "i4"}
BITS = {"f16": 16, "f32": 32, "f64": 64, "i8": 8, "i32": 32}


def memdesc(element: str, shape: tuple[int, ...], encoding: object) -> str:
    sizes = f"array<i64: {', '.join(map(str, shape))}>"
    return f"!ttg.memdesc<{sizes}, {element}, {encoding.to_attr()}, #ttg.shared_memory, false, {sizes}>"  # type: ignore[attr-defined]


def dot_of(
    shape: tuple[int, ...], element: str, result: str, parent: object, buffer: object = None
) -> tuple[list[TensorSpec], str]:
    """The specs of a, b and c of a dot ``batch x m x n x k``, and its body."""
    *batch, m, n, k = shape
    shapes = [(*batch, m, k), (*batch, k, n), (*batch, m, n)]
    specs = [TensorSpec(element, s, Blocked.default(s, 4, 32)) for s in shapes[:2]]
    specs.append(TensorSpec(result, shapes[2], parent))  # type: ignore[arg-type]
    types = [memdesc(element, s, buffer or operand_encoding(s, BITS[element])) for s in shapes[:2]]
    body = [f'%m{i} = "ttg.local_alloc"(%in{i}) : ({specs[i].type}) -> {t}' for i, t in enumerate(types)]
    body.append(
        '%out0 = "ttg.local_dot"(%m0, %m1, %in2) {inputPrecision = 2 : i32} : '
        f"({types[0]}, {types[1]}, {specs[2].type}) -> {specs[2].type}"
    )
    return specs, "\n".join(body)


def run_dot(specs: list[TensorSpec], body: str) -> None:
    module = kernel(specs, specs[2:], body, warps=4, lanes=32)
    # small integers: every product and sum is exact
    a, b, c = (RNG.integers(-3, 4, s.shape).astype(DTYPES[s.element]) for s in specs)
    out = np.zeros(specs[2].shape, DTYPES[specs[2].element])
    run(module, [a, b, c, out])
    np.testing.assert_array_equal(out, a.astype(np.float64) @ b.astype(np.float64) + c)


@pytest.mark.parametrize(
    ("element", "result"), [("f16", "f32"), ("f16", "f16"), ("f32", "f32"), ("f64", "f64"), ("i8", "i32")]
)
@pytest.mark.parametrize("shape", [(64, 64, 32), (16, 32, 64), (32, 2, 16), (1, 64, 128), (64, 16, 4)])
@pytest.mark.parametrize("run_length", [1, 4])
def test_dots(shape: tuple[int, ...], element: str, result: str, run_length: int) -> None:
    parent = dot_encoding(shape[:2], 4, 32, run=run_length)
    run_dot(*dot_of(shape, element, result, parent))


@pytest.mark.parametrize("shape", [(4, 16, 16, 64), (2, 8, 32, 16)])
def test_batches(shape: tuple[int, ...]) -> None:
    run_dot(*dot_of(shape, "f32", "f32", dot_encoding(shape[:3], 4, 32)))


def test_other_buffers_and_layouts_are_refused() -> None:
    swizzled = SwizzledShared(4, 1, 8, (1, 0))
    parent = dot_encoding((64, 64), 4, 32)
    with pytest.raises(Unsupported, match="buffer"):
        run_dot(*dot_of((64, 64, 32), "f32", "f32", parent, swizzled))
    bases = parent.linear_layout((64, 64)).bases
    mixed = Linear(2, bases["register"], ((0, 4 | 1), *bases["lane"][1:]), bases["warp"])
    with pytest.raises(Unsupported, match="laid out"):
        run_dot(*dot_of((64, 64, 32), "f32", "f32", mixed))
