from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_gpu_dialect.dialect.markers import CONVERSION_BYTES
from tri_gpu_dialect.edit import all_ops, i32_attribute
from tri_gpu_dialect.encodings import Blocked, Linear
from tri_gpu_dialect.layouts import LinearLayout
from tri_gpu_dialect.plans.scratch import SHARED
from tri_gpu_dialect.testing import TensorSpec, distributed, kernel, run

DTYPES = {"f32": "f4", "f16": "f2", "i8": "i1", "i1": "i1", "f64": "f8", "i32": "i4", "i16": "i2"}
RNG = np.random.default_rng(7)


def random_array(element: str, shape: tuple[int, ...]) -> np.ndarray:
    values = RNG.integers(0, 2 if element == "i1" else 120, shape)
    return np.ascontiguousarray(values.astype(DTYPES[element]))


def check(source: TensorSpec, destination: TensorSpec, *, warps: int, lanes: int) -> None:
    body = f'%out0 = "ttg.convert_layout"(%in0) : ({source.type}) -> {destination.type}'
    module = kernel([source], [destination], body, warps=warps, lanes=lanes)
    x = random_array(source.element, source.shape)
    y = np.full_like(x, 77)
    run(module, [x, y])
    np.testing.assert_array_equal(x, y)


@st.composite
def conversions(draw: st.DrawFn) -> tuple[LinearLayout, LinearLayout, int, int]:
    rank = draw(st.integers(1, 2))
    shape = tuple(draw(st.sampled_from([1, 2, 4, 8, 16])) for _ in range(rank))
    lanes, warps = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    return draw(distributed(shape, lanes, warps)), draw(distributed(shape, lanes, warps)), lanes, warps


@settings(max_examples=60)
@given(conversions(), st.sampled_from(sorted(DTYPES)))
def test_any_layout_converts_to_any_other(
    pair: tuple[LinearLayout, LinearLayout, int, int], element: str
) -> None:
    source, destination, lanes, warps = pair
    shape = tuple(source.out_sizes.values())
    specs = [TensorSpec(element, shape, Linear.of(side)) for side in (source, destination)]
    check(*specs, warps=1 << warps, lanes=1 << lanes)


BLOCKED = Blocked((1, 4), (4, 8), (4, 1), (1, 0))


@pytest.mark.parametrize(
    "other",
    [
        Blocked((4, 1), (8, 4), (1, 4), (0, 1)),
        Blocked((1, 1), (1, 32), (2, 2), (1, 0)),
        Blocked((2, 2), (32, 1), (1, 4), (0, 1)),
    ],
)
@pytest.mark.parametrize("element", ["f32", "f16", "i8", "i1"])
def test_blocked_layouts_convert(other: Blocked, element: str) -> None:
    check(TensorSpec(element, (32, 64), BLOCKED), TensorSpec(element, (32, 64), other), warps=4, lanes=32)


def test_large_tensors_go_in_pieces() -> None:
    other = Blocked((4, 1), (8, 4), (1, 4), (0, 1))
    check(TensorSpec("f32", (128, 128), BLOCKED), TensorSpec("f32", (128, 128), other), warps=4, lanes=32)


@pytest.mark.parametrize("most", [1 << 10, 8 << 10, 128 << 10])
def test_the_module_says_how_large_a_piece_is(most: int) -> None:
    """64 KiB in all: what the allocation counts on and what the lowering takes is the same number."""
    sides = [TensorSpec("f32", (128, 128), e) for e in (BLOCKED, Blocked((4, 1), (8, 4), (1, 4), (0, 1)))]
    body = f'%out0 = "ttg.convert_layout"(%in0) : ({sides[0].type}) -> {sides[1].type}'
    module = kernel(sides[:1], sides[1:], body, warps=4, lanes=32)
    module.operation.attributes[CONVERSION_BYTES] = i32_attribute(most)
    (op,) = (op for op in all_ops(module.operation) if op.name == "ttg.convert_layout")
    assert most // 2 <= SHARED.bytes(op) <= max(most, 4 << 10) or SHARED.bytes(op) == 64 << 10 <= most
    x = random_array("f32", (128, 128))
    y = np.full_like(x, 77)
    run(module, [x, y])
    np.testing.assert_array_equal(x, y)
