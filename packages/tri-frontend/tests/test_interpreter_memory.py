"""What the interpreter reports about memory: bounds, overflow of offsets, poison, atomics."""

from __future__ import annotations

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.interpreter import InvalidAccess, OffsetOverflow, OutOfBounds
from tri_core.errors import TriError

KERNELS = """
@tri.jit
def past_the_end(out, x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    values = tl.load(x + i)
    tl.store(out + i, values, mask=i < n)

@tri.jit
def below(out, x, B: tl.constexpr):
    tl.store(out + tl.arange(0, B) - 1, 1.0)

@tri.jit
def wraps(x, stride, B: tl.constexpr):
    row = tl.program_id(0) + 40000
    place = row * stride
    i = place + tl.arange(0, B)
    tl.store(x + i, 1.0)

@tri.jit
def wide(x, stride, B: tl.constexpr):
    row = (tl.program_id(0) + 40000).to(tl.int64)
    i = row * stride + tl.arange(0, B)
    tl.load(x + i, mask=i < 0)

@tri.jit
def through_memory(out, table):
    p = tl.load(table).to(tl.pointer_type(tl.float32))
    tl.store(out, tl.load(p + 1))
"""


@pytest.fixture(autouse=True)
def _interpreted():
    with tri.interpret():
        yield


@pytest.fixture
def kernels(kernel_file):
    return kernel_file(KERNELS)


def test_an_access_past_the_end(kernels):
    x, out = np.zeros(6, np.float32), np.zeros(6, np.float32)
    with pytest.raises(OutOfBounds) as caught:
        kernels.past_the_end[(2,)](out, x, 6, B=4)
    assert str(caught.value) == (
        "past_the_end, program (1, 0, 0): load reaches element 6 of 'x', which has 6 (fp32, shape (6,)) (lane [2])\n"
        f"  at {kernels.__file__}:7:14\n        values = tl.load(x + i)\n                 ^\n"
        "  remedy: give a mask that is false there, e.g. mask=offsets < n"
    )
    error = caught.value
    assert (error.kernel, error.parameter, error.program) == ("past_the_end", "x", (1, 0, 0))
    assert (error.offset, error.extent) == (24, 24)
    assert not out[4:].any()


def test_an_access_below_the_start(kernels):
    x = np.zeros(8, np.float32)
    with pytest.raises(OutOfBounds, match=r"store reaches element -1 of 'out', .* \(lane \[0\]\)"):
        kernels.below[(1,)](x[2:], x, B=4)


def test_a_wrapped_offset(kernels):
    x = np.zeros(8, np.float32)
    with pytest.raises(OffsetOverflow) as caught:
        kernels.wraps[(1,)](x, 60000, B=4)
    assert str(caught.value) == (
        "wraps, program (0, 0, 0): an integer computation wrapped around, and store uses its result to address 'x': "
        "byte 9600000000 became -7579869184 (lane [0])\n"
        f"  at {kernels.__file__}:17:13\n        place = row * stride\n                ^\n"
        "  remedy: compute offsets in 64 bits: convert one operand with .to(tl.int64)"
    )
    assert (caught.value.exact, caught.value.wrapped) == (9600000000, -7579869184)


def test_masked_lanes_may_wrap_and_wide_ones_do_not(kernels):
    kernels.wide[(1,)](np.zeros(8, np.float32), 60000, B=4)


@tri.jit
def legal(out, x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    far = i * 2000000000  # wraps from lane 2 on, which the mask leaves out
    value = tl.load(x + far, mask=i < 1, other=5.0)
    there_and_back = (i + 2147483647) - 2147483647
    hashed = (i * -1640531527) & 7
    drawn = tl.randint(n, i) % 8
    tl.store(out + there_and_back, value + tl.load(x + hashed) * 0 + tl.load(x + drawn.to(tl.int32)) * 0)


def test_what_is_no_overflow():
    out, x = np.zeros(8, np.float32), np.ones(8, np.float32)
    legal[(1,)](out, x, 11, B=8)
    assert out.tolist() == [1, 5, 5, 5, 5, 5, 5, 5]


@tri.jit
def two_dimensional(x, out, stride, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    rows = tl.join(m * stride, m * stride).reshape(2 * M)
    places = tl.max(rows, 0) + tl.trans(m[:, None] * stride + n[None, :])
    tl.store(out + tl.where(m > 0, m * stride, 0), 1)
    tl.store(out + tl.minimum(m * stride, 5), tl.sum(places, 0) * 0)


@tri.jit
def unsigned(x, p, B: tl.constexpr):
    i = tl.arange(0, B).to(tl.uint32)
    wraps, high = i * 4294967295, i + 4294967000
    pairs = tl.join(wraps, high)
    tl.load(x + tl.split(pairs)[1] - tl.load(p))


def test_unsigned_offsets_beside_a_wrap():
    unsigned[(1,)](np.zeros(8, np.int8), np.array([4294967000]), B=8)


def test_wraps_are_followed_through_shapes_and_choices():
    x = np.zeros(8, np.int32)
    two_dimensional[(1,)](x, x, 1, M=4, N=8)
    with pytest.raises(OffsetOverflow, match="byte 8589934592 became -8589934592"):
        two_dimensional[(1,)](x, x, 1 << 30, M=4, N=8)


def test_pointers_in_memory(kernels):
    target, out = np.array([1, 2], np.float32), np.zeros(1, np.float32)
    table = np.array([target.ctypes.data])
    with pytest.raises(InvalidAccess, match="belongs to no argument"):
        kernels.through_memory[(1,)](out, table)
    with tri.interpret(target):
        kernels.through_memory[(1,)](out, table)
    assert out[0] == 2


@tri.jit
def masked(out, x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


def test_arrays_without_elements():
    empty = np.zeros(0, np.float32)
    masked[(1,)](empty, empty, 0, B=4)
    with pytest.raises(
        OutOfBounds, match=r"load reaches element 0 of 'x', which has 0 \(fp32, shape \(0,\)\)"
    ):
        masked[(1,)](empty, empty, 1, B=4)


def test_a_read_only_array():
    x = np.zeros(4, np.float32)
    x.setflags(write=False)
    with pytest.raises(InvalidAccess, match="store to 'out', an array that is read-only"):
        poisoned[(1,)](x, x, 4, B=4)


@tri.jit
def poisoned(out, x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n))


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint32])
def test_masked_lanes_are_poison(dtype):
    out = np.zeros(4, dtype)
    poisoned[(1,)](out, np.ones(2, dtype), 2, B=4)
    assert out[:2].tolist() == [1, 1]
    bad = out[2:]
    assert np.isnan(bad).all() if bad.dtype.kind == "f" else (np.abs(bad.astype(np.int64)) > 90).all()


@tri.jit
def unaligned(out, x):
    i = tl.arange(0, 4)
    tl.store(out + i, tl.load((x + 1).to(tl.pointer_type(tl.int32)) + i))
    tl.store((x + 3).to(tl.pointer_type(tl.int32)), 0x01020304)


def test_unaligned_accesses():
    x, out = np.arange(20, dtype=np.int8), np.zeros(4, np.int32)
    unaligned[(1,)](out, x)
    assert out.tolist() == np.frombuffer(np.arange(1, 17, dtype=np.int8).tobytes(), np.int32).tolist()
    assert x[:8].tolist() == [0, 1, 2, 4, 3, 2, 1, 7]


@tri.jit
def atomics(total, old, x, MASKED: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    if MASKED:
        tl.store(old + i, tl.atomic_add(total + i % 2, tl.load(x + i), mask=i % 4 != 3), mask=i % 4 != 3)
    else:
        tl.store(old + i, tl.atomic_max(total + i % 2, tl.load(x + i)))


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.float32])
def test_atomics_take_lane_after_lane(dtype, masked):
    x = np.array([3, 1, -4, 1, -5, 9, 2, -6]).astype(dtype)
    total, old = np.zeros(2, dtype), np.zeros(8, dtype)
    atomics[(1,)](total, old, x, MASKED=masked, B=8)
    want, seen = np.zeros(2, dtype), np.zeros(8, dtype)
    for lane, value in enumerate(x):
        if masked and lane % 4 == 3:
            continue
        seen[lane] = want[lane % 2]
        place = want[lane % 2 : lane % 2 + 1]
        place[:] = place + x[lane : lane + 1] if masked else np.maximum(place, value)
    assert total.tolist() == want.tolist()
    assert old.tolist() == seen.tolist()


def test_errors_pickle(kernels):
    import pickle

    with pytest.raises(TriError) as caught:
        kernels.below[(1,)](np.zeros(4, np.float32), 0, B=4)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.program == (0, 0, 0)
