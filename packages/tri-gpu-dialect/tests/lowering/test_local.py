from __future__ import annotations

import numpy as np
import pytest

from tri_core.mlir import ir
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.encodings import Blocked, PaddedShared, SharedEncoding, SwizzledShared
from tri_gpu_dialect.testing import TensorSpec, kernel, run

RNG = np.random.default_rng(23)
B = Blocked((1, 4), (4, 8), (4, 1), (1, 0))
BT = Blocked((4, 1), (8, 4), (1, 4), (0, 1))
DTYPES = {"f16": "f2", "f32": "f4", "i8": "i1", "i64": "i8"}

SHARED: list[SharedEncoding] = [
    SwizzledShared(1, 1, 1, (1, 0)),
    SwizzledShared(4, 1, 8, (1, 0)),
    SwizzledShared(8, 2, 4, (0, 1)),
    PaddedShared(((64, 8),), (1, 0)),
    PaddedShared(((32, 4), (128, 16)), (0, 1)),
]


def memdesc(
    shape: tuple[int, ...], element: str, encoding: SharedEncoding, alloc: tuple[int, ...] | None = None
) -> str:
    kind = ir.Type.parse(element)
    return str(MemDescType.of(shape, kind, encoding.to_attr(), mutable=True, alloc_shape=alloc or shape))


def array(spec: TensorSpec) -> np.ndarray:
    return RNG.integers(-100, 100, spec.shape).astype(DTYPES[spec.element])


@pytest.mark.parametrize("encoding", SHARED, ids=range(len(SHARED)))
@pytest.mark.parametrize("element", list(DTYPES))
def test_what_is_stored_is_loaded_in_any_layout(encoding: SharedEncoding, element: str) -> None:
    source, target = (TensorSpec(element, (32, 64), e) for e in (B, BT))
    buffer = memdesc((32, 64), element, encoding)
    body = f"""%b = "ttg.local_alloc"(%in0) : ({source.type}) -> {buffer}
      %out0 = "ttg.local_load"(%b) {{operandSegmentSizes = array<i32: 1, 0>}} : ({buffer}) -> {target.type}"""
    x, y = array(source), np.zeros((32, 64), DTYPES[element])
    run(kernel([source], [target], body, warps=4, lanes=32), [x, y])
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("encoding", SHARED, ids=range(len(SHARED)))
def test_views_are_transposed_and_sliced(encoding: SharedEncoding) -> None:
    source, target = TensorSpec("f32", (32, 64), B), TensorSpec("f32", (16, 16), B)
    whole, part = memdesc((32, 64), "f32", encoding), memdesc((16, 16), "f32", encoding, (32, 64))
    transposed = {0: 1, 1: 0}
    order = tuple(transposed[d] for d in encoding.order)  # type: ignore[attr-defined]
    other = type(encoding)(**{**encoding.__dict__, "order": order})
    part_t = memdesc((16, 16), "f32", other, (64, 32))
    body = f"""%b = "ttg.local_alloc"(%in0) : ({source.type}) -> {whole}
      %s = "ttg.memdesc_subslice"(%b) {{offsets = array<i32: 16, 32>}} : ({whole}) -> {part}
      %t = "ttg.memdesc_trans"(%s) {{order = array<i32: 1, 0>}} : ({part}) -> {part_t}
      %out0 = "ttg.local_load"(%s) {{operandSegmentSizes = array<i32: 1, 0>}} : ({part}) -> {target.type}
      %out1 = "ttg.local_load"(%t) {{operandSegmentSizes = array<i32: 1, 0>}} : ({part_t}) -> {target.type}"""
    x = array(source)
    y, z = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float32)
    run(kernel([source], [target, target], body, warps=4, lanes=32), [x, y, z])
    np.testing.assert_array_equal(y, x[16:32, 32:48])
    np.testing.assert_array_equal(z, x[16:32, 32:48].T)


def test_a_ring_of_buffers_is_indexed() -> None:
    spec = TensorSpec("f32", (32, 64), B)
    encoding = SwizzledShared(4, 1, 8, (1, 0))
    ring, one = memdesc((3, 32, 64), "f32", encoding), memdesc((32, 64), "f32", encoding)
    body = f"""%b = "ttg.local_alloc"() : () -> {ring}
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %s1 = "ttg.memdesc_index"(%b, %c1) : ({ring}, i32) -> {one}
      %s2 = "ttg.memdesc_index"(%b, %c2) : ({ring}, i32) -> {one}
      "ttg.local_store"(%in0, %s1) : ({spec.type}, {one}) -> ()
      "ttg.local_store"(%in1, %s2) : ({spec.type}, {one}) -> ()
      %out0 = "ttg.local_load"(%s2) {{operandSegmentSizes = array<i32: 1, 0>}} : ({one}) -> {spec.type}
      %out1 = "ttg.local_load"(%s1) {{operandSegmentSizes = array<i32: 1, 0>}} : ({one}) -> {spec.type}"""
    x, y = array(spec), array(spec)
    a, b = np.zeros_like(x), np.zeros_like(y)
    run(kernel([spec, spec], [spec, spec], body, warps=4, lanes=32), [x, y, a, b])
    np.testing.assert_array_equal(a, y)
    np.testing.assert_array_equal(b, x)


@pytest.mark.parametrize("axis", [0, 1])
def test_gather_and_scatter_within_a_buffer(axis: int) -> None:
    value, index = TensorSpec("f32", (32, 64), B), TensorSpec("i32", (32, 64), B)
    buffer = memdesc((32, 64), "f32", SwizzledShared(4, 1, 8, (1, 0)))
    body = f"""%b = "ttg.local_alloc"() : () -> {buffer}
      "ttg.local_scatter"(%b, %in0, %in1) {{axis = {axis} : i32}} : ({buffer}, {value.type}, {index.type}) -> ()
      %out0 = "ttg.local_load"(%b) {{operandSegmentSizes = array<i32: 1, 0>}} : ({buffer}) -> {value.type}
      %out1 = "ttg.local_gather"(%b, %in1) {{axis = {axis} : i32}} : ({buffer}, {index.type}) -> {value.type}"""
    x = array(value)
    keys = RNG.random((32, 64))
    permutation = np.argsort(keys, axis).astype(np.int32)  # no two elements go to one place
    y, z = np.zeros_like(x), np.zeros_like(x)
    run(kernel([value, index], [value, value], body, warps=4, lanes=32), [x, permutation, y, z])
    scattered = np.zeros_like(x)
    np.put_along_axis(scattered, permutation, x, axis)
    np.testing.assert_array_equal(y, scattered)
    np.testing.assert_array_equal(z, np.take_along_axis(scattered, permutation, axis))
