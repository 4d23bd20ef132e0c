"""Arguments that overlap: what a program loads it loads before it stores what its text has behind, on every target."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_backend_cpu.runtime.checks import OverlapWarning


@tri.jit
def reverse(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.debug_barrier()
    tl.store(o + (B - 1 - i), v)


@tri.jit
def double(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i) * 2)


@tri.jit
def transpose(x, o, B: tl.constexpr):
    i, j = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    tl.store(o + j * B + i, tl.load(x + i * B + j))


@tri.jit
def wrap(x, B: tl.constexpr, N: tl.constexpr):
    p = x + tl.arange(0, B) % N
    tl.store(p, tl.load(p) + 1)


@tri.jit
def double_all(arrays, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(arrays[1] + i, tl.load(arrays[0] + i) * 2)


TARGETS = ["cpu", "sim:nvidia:sm_80", "sim:intel:pvc", "sim:amd:gfx942"]


@pytest.fixture(params=TARGETS)
def target(request):
    with tri.target(request.param):
        yield request.param


def test_a_barrier_orders(target) -> None:
    z = np.arange(256, dtype=np.float32)
    reverse[(1,)](z, z, 256)
    np.testing.assert_array_equal(z, np.arange(256)[::-1])


@pytest.mark.parametrize("by", [-1, 1, 7])
def test_arrays_that_overlap_in_part(by: int) -> None:
    whole = np.arange(300, dtype=np.float32)
    x, o = whole[10:266], whole[10 + by : 266 + by]
    expected = x * 2
    double[(1,)](x, o, 256)
    np.testing.assert_array_equal(o, expected)


def test_arguments_by_name_and_in_tuples() -> None:
    whole = np.arange(257, dtype=np.float32)
    expected = whole[:-1] * 2
    double[(1,)](whole[:-1], o=whole[1:], B=256)
    np.testing.assert_array_equal(whole[1:], expected)
    whole = np.arange(257, dtype=np.float32)
    double_all[(1,)]((whole[:-1], whole[1:]), 256)
    np.testing.assert_array_equal(whole[1:], expected)


def test_a_compiled_kernel_that_is_launched_directly() -> None:
    whole = np.arange(257, dtype=np.float32)
    expected = whole[:-1] * 2
    kernel = double.warmup(whole[:-1], whole[1:], 256, grid=(1,))
    kernel[(1,)](whole[:-1], whole[1:])
    np.testing.assert_array_equal(whole[1:], expected)


def test_views_that_run_backwards() -> None:
    whole = np.arange(512, dtype=np.float32)
    expected = whole[100:356] * 2

    x = whole[100:356]
    o = whole[0:110][
        ::-1
    ]  # its pointer is at element 109, its memory below: the kernel writes upwards from there
    double[(1,)](x, o, 256)
    np.testing.assert_array_equal(whole[109:365], expected)


def test_transposition_in_place() -> None:
    x = np.arange(1024, dtype=np.float32).reshape(32, 32)
    expected = x.T.copy()
    transpose[(1,)](x, x, 32)
    np.testing.assert_array_equal(x, expected)


def test_one_pointer_at_which_several_points_are() -> None:
    x = np.zeros(8, np.float32)
    wrap[(1,)](x, 64, 8)
    np.testing.assert_array_equal(x, 1)


def test_in_place_is_pointwise() -> None:
    x = np.arange(256, dtype=np.float32)
    double[(1,)](x, x, 256)
    np.testing.assert_array_equal(x, np.arange(256) * 2)


def test_debug_names_an_overlap_without_order() -> None:
    whole = np.arange(257, dtype=np.float32)
    expected = whole[:-1] * 2
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        double[(1,)](whole[:-1], whole[1:], 256, debug=True)
    (warning,) = [w for w in seen if w.category is OverlapWarning]
    assert "'x' and 'o' of double overlap by 1020 bytes" in str(warning.message)
    np.testing.assert_array_equal(whole[1:], expected)


def test_debug_says_nothing_where_the_order_is_defined(recwarn) -> None:
    z = np.arange(256, dtype=np.float32)
    reverse[(1,)](z, z, 256, debug=True)
    double[(1,)](z, z, 256, debug=True)
    assert not [w for w in recwarn if isinstance(w.message, OverlapWarning)]
