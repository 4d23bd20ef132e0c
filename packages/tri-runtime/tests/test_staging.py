from __future__ import annotations

import ctypes
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_runtime import FakeMemory
from tri_core.api import ArrayArgument, DeviceInfo
from tri_runtime.staging import ALIGNMENT, Span, merged, staged_copies


def argument(array, writable=True):
    return ArrayArgument(array.ctypes.data, "fp32", array.nbytes, writable=writable, owner=array)


def on_device(pointer, count):
    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(pointer))


def test_copies_in_and_out():
    memory, rng = FakeMemory(), np.random.default_rng(1)
    x, y = rng.random(100, dtype=np.float32), np.full(100, np.nan, np.float32)
    with staged_copies([argument(x), argument(y)], memory) as (px, py):
        assert px != x.ctypes.data
        on_device(py, 100)[:] = on_device(px, 100) * 2
        assert np.isnan(y).all()
    np.testing.assert_array_equal(y, x * 2)
    assert not memory.live


def test_overlapping_views_share_one_copy():
    memory = FakeMemory()
    base = np.arange(100, dtype=np.float32)
    with staged_copies([argument(base[:60]), argument(base[40:])], memory) as (low, high):
        assert memory.allocations == 1
        assert high - low == 40 * 4
        on_device(low, 60)[50] = -1
        assert on_device(high, 60)[10] == -1
    assert base[50] == -1


@pytest.mark.parametrize("step", [-1, -2])
def test_arrays_that_run_backwards_are_copied_whole(step):
    memory = FakeMemory()
    base = np.arange(100, dtype=np.float32)
    view = base[::step]
    given_ = ArrayArgument(view.ctypes.data, "fp32", 4, owner=view)
    with staged_copies([given_], memory) as (last,):
        first = last + (len(view) - 1) * step * 4
        np.testing.assert_array_equal(on_device(first, 1 - (len(view) - 1) * step)[::step], view)
        on_device(first, 1 - (len(view) - 1) * step)[::step] = range(len(view))
    np.testing.assert_array_equal(view, np.arange(len(view)))


def test_read_only_bytes_are_not_written_back():
    memory = FakeMemory()
    base = np.arange(100, dtype=np.float32)
    with staged_copies([argument(base, writable=False), argument(base[10:20])], memory) as (low, _):
        on_device(low, 100)[:] = -1
    assert (base[10:20] == -1).all()
    assert (np.delete(base, range(10, 20)) >= 0).all()
    assert memory.copied_out == 40


def test_an_exception_writes_nothing_back_and_frees():
    memory, x = FakeMemory(), np.arange(4, dtype=np.float32)

    def failing():
        with staged_copies([argument(x)], memory) as (px,):
            on_device(px, 4)[:] = -1
            raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        failing()
    assert (x >= 0).all()
    assert not memory.live


def test_device_arrays_pass_through():
    given_ = ArrayArgument(4096, "fp32", 64, DeviceInfo("fake", 0, "f1"))
    memory = FakeMemory()
    with staged_copies([given_], memory) as handles:
        assert handles == (4096,)
    assert memory.allocations == 0


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(1, 80)), min_size=1, max_size=8))
def test_alignment_and_contents_survive(pieces):
    memory = FakeMemory()
    base = np.arange(500, dtype=np.float32)
    views = [base[b : b + n] for b, n in pieces]
    with staged_copies([argument(v) for v in views], memory) as handles:
        for view, handle in zip(views, handles, strict=True):
            assert handle % ALIGNMENT == view.ctypes.data % ALIGNMENT
            np.testing.assert_array_equal(on_device(handle, len(view)), view)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 10)), max_size=10))
def test_merged_is_the_disjoint_union(pieces):
    spans = [Span(b, b + n) for b, n in pieces]
    result = merged(spans)
    assert {i for s in result for i in range(s.begin, s.end)} == {
        i for s in spans for i in range(s.begin, s.end)
    }
    assert all(a.end <= b.begin for a, b in pairwise(result))
