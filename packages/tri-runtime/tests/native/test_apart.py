"""Compiled launches of kernels whose arrays must not overlap: what arrays span is read from their shapes and strides."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core.api import HiddenNumbers, LaunchPlan, Parameter
from tri_runtime.native import ArrayItem, Call, FastLaunches, Pattern, available, exchange_of
from tri_runtime.native.layouts import TENSOR

pytestmark = pytest.mark.skipif(not available(), reason="no compiled launches here")

BASE = 1 << 40
#: the last: floats at odd elements may be conjugate parts, which are looked at elsewhere
FLOAT, BFLOAT, WHOLE = 0x12002, 0x11004, 0x12000


class Array:
    """What the exchange API below reads: ``strides`` None for a plain one."""

    def __init__(self, address: int, shape: Any, strides: Any = None, dtype: int = FLOAT) -> None:
        self.address, self.dtype, self.rank = address, dtype, len(shape)
        self.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * max(len(shape), 1))(*strides)


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
def read(array: Any, out: int) -> int:
    found: Any = TENSOR.structure.from_address(out)
    found.data, found.byte_offset, found.device, found.dtype = array.address, 0, 1, array.dtype
    found.ndim, found.shape = array.rank, ctypes.addressof(array.shape)
    found.strides = None if array.strides is None else ctypes.addressof(array.strides)
    return 0


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
def current_stream(kind: int, index: int, out: int) -> int:
    ctypes.c_uint64.from_address(out).value = 0
    return 0


started: list[int] = []


@ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)
def start(*arguments: int) -> int:
    started.append(1)
    return 0


def address_of(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def capsule() -> Any:
    table = struct.pack("@2I6P", 1, 3, 0, 0, 0, 0, address_of(read), address_of(current_stream))
    kept.append(ctypes.create_string_buffer(table, len(table)))
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(ctypes.addressof(kept[-1]), b"dlpack_exchange_api", None)


kept: list[Any] = []
Array.__dlpack_c_exchange_api__ = capsule()  # type: ignore[attr-defined]


def is_launched(arrays: list[Array], *pairs: tuple[int, int, bool]) -> bool:
    """Whether compiled code launches with ``arrays``, rather than leave it to Python."""
    exchange = exchange_of(Array)
    assert exchange is not None
    plan = LaunchPlan(
        name="k",
        start=address_of(start),
        function=77,
        threads=1,
        shared=0,
        parameters=tuple(Parameter(f"p{i}", "*fp32") for i in range(len(arrays))),
        numbers=lambda stream: HiddenNumbers(),
        apart=pairs,
    )
    items = [ArrayItem(8 * i, Array, exchange, 1, a.dtype, 0, True) for i, a in enumerate(arrays)]
    names = [f"a{i}" for i in range(len(arrays))]
    pattern = Pattern(items, names, 0, (), [BASE] * len(arrays), HiddenNumbers(), exchange, 1, "done", {})
    launches = FastLaunches(lambda *given: "otherwise")
    launches.add(Call(plan, pattern))
    started.clear()
    answer = launches.call((1,), *arrays)
    assert (answer == "done") == bool(started)
    return bool(started)


@pytest.mark.parametrize(
    ("shape", "strides", "dtype", "nbytes"),
    [
        ((4, 8), None, FLOAT, 128),
        ((4, 8), (8, 1), FLOAT, 128),
        ((4, 8), (1, 4), BFLOAT, 64),
        ((4, 8), (100, 2), FLOAT, 4 * (300 + 14 + 1)),
        ((3, 1, 5), (0, 7, 2), FLOAT, 36),
        ((), (), FLOAT, 4),
    ],
)
def test_the_end_of_an_array(shape: Any, strides: Any, dtype: int, nbytes: int) -> None:
    first = Array(BASE, shape, strides, dtype)
    for distance, apart in ((nbytes - 1, False), (nbytes, True), (-4, False), (0, False)):
        other = Array(BASE + distance, (2,), (1,))
        assert is_launched([first, other], (0, 1, False)) == apart, distance
        assert is_launched([other, first], (1, 0, False)) == apart, distance
    assert is_launched([first, Array(BASE, (2,), (1,))], (0, 1, True))


def test_only_pairs_matter() -> None:
    arrays = [Array(BASE, (64,)), Array(BASE + 4, (64,)), Array(BASE + 1024, (64,))]
    assert is_launched(arrays)
    assert is_launched(arrays, (0, 2, False), (1, 2, False))
    assert not is_launched(arrays, (0, 2, False), (0, 1, True))


def test_nothing_is_in_an_empty_array() -> None:
    assert is_launched([Array(BASE, (4, 0), (1, 1)), Array(BASE + 4, (4,))], (0, 1, False))
    assert is_launched([Array(BASE, (4, 0)), Array(BASE + 4, (4,))], (0, 1, False))


def test_strides_that_go_backwards_are_left_to_python() -> None:
    assert not is_launched([Array(BASE, (4,), (-1,)), Array(BASE + 4096, (4,))], (0, 1, False))


sizes = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=4)


@given(sizes, sizes, st.integers(-300, 300))
def test_arrays_anywhere(first: Any, second: Any, distance: int) -> None:
    """Launched just where no byte between the ends of one is the other's."""

    def array(address: int, dims: Any) -> tuple[Array, range]:
        shape, strides = [n for n, _ in dims], [step for _, step in dims]
        last = sum((n - 1) * step for n, step in dims)
        count = 0 if 0 in shape else 4 * (last + 1)
        return Array(address, shape, strides, WHOLE), range(address, address + count)

    a, held = array(BASE, first)
    b, other = array(BASE + 4 * distance, second)
    overlap = max(held.start, other.start) < min(held.stop, other.stop)
    if not distance:
        assert not is_launched([a, b], (0, 1, False))
    elif len(held) and len(other):
        assert is_launched([a, b], (0, 1, False)) == (not overlap)
