"""Checked kernels (``debug=True``): accesses, assertions and overflow are errors with their place; the process lives on."""

# mypy: allow-untyped-defs, allow-incomplete-defs, disable-error-code="operator,no-untyped-def,comparison-overlap"

from __future__ import annotations

import mmap
import pickle
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tri
import tri.language as tl
from cpu_support import Kernel
from tri.language.extra import libdevice
from tri_backend_cpu.runtime.mappings import mapped_range
from tri_core import knobs
from tri_core.api import InvalidAccess, KernelFault, LaunchError, OutOfBounds

Array = np.ndarray[Any, Any]


def launch(kernel: Any, grid: tuple[int, ...], *args: Any, **options: Any) -> None:
    with tri.target("cpu"):
        kernel[grid](*args, **options)


def line_of(text: str) -> int:
    """The line of this file that has ``text`` and a mark."""
    with open(__file__) as file:
        return next(i for i, line in enumerate(file, 1) if f"{text}  # here" in line)


@tri.jit
def copies(x, o, n, stride, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i * stride, mask=i < n)  # here
    tl.store(o + i, value, mask=i < n)


@tri.jit
def stores(x, index, N: tl.constexpr):
    i = tl.load(index + tl.arange(0, N))
    tl.store(x + i, tl.arange(0, N))


@tri.jit
def counts(x, index, N: tl.constexpr):
    tl.atomic_add(x + tl.load(index + tl.arange(0, N)), 1)


@tri.jit
def follows(addresses, o, N: tl.constexpr):
    pointer = tl.load(addresses).to(tl.pointer_type(tl.int32))
    tl.store(o + tl.arange(0, N), tl.load(pointer + tl.arange(0, N)))
    tl.store(pointer + tl.arange(0, N), tl.arange(0, N))


def test_an_access_out_of_bounds_is_reported() -> None:
    x, o = np.arange(100, dtype=np.float32), np.zeros(128, np.float32)
    launch(copies, (4,), x, o, 100, 1, 32, debug=True)
    np.testing.assert_array_equal(o[:100], x)
    with pytest.raises(OutOfBounds) as caught:
        launch(copies, (4,), x, o, 101, 1, 32, debug=True)
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.parameter, error.offset, error.extent) == ("x", 400, 400)
    assert (error.kernel, error.program) == ("copies", (3, 0, 0))
    assert error.address == x.ctypes.data + 400
    assert error.location.file == __file__
    assert error.location.line == line_of("mask=i < n)")
    assert "load reaches element 100 of 'x', which has 100 (fp32), in program (3, 0, 0) of copies" in str(
        error
    )
    launch(copies, (4,), x, o, 100, 1, 32, debug=True)


@tri.jit
def asserts_positive(x, o, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=1)
    tl.device_assert(value > 0, "a number above 0")
    tl.store(o + i, value + 2147483647, mask=i < n)


def test_assertions_and_nothing_else() -> None:
    """``debug=True, sanitize_overflow=False``: neither accesses nor integers are checked, and no mappings are read."""
    x, o = np.ones(40, np.int32), np.zeros(40, np.int32)
    launch(asserts_positive, (1,), x[:32], o, 40, 64, debug=True, sanitize_overflow=False)
    assert (o == -2147483648).all()
    with pytest.raises(OutOfBounds):
        launch(asserts_positive, (1,), x[:32], o, 40, 64, debug=True)
    x[3] = 0
    with pytest.raises(KernelFault, match="a number above 0"):
        launch(asserts_positive, (1,), x, o, 40, 64, debug=True, sanitize_overflow=False)
    with tri.target("cpu"):
        kernel = asserts_positive.warmup(x, o, 40, 64, debug=True, sanitize_overflow=False)
    assert "mappings" not in str(kernel.asm["llir"])
    assert "extent" not in str(kernel.asm["llir"])


def test_an_access_before_the_array_and_a_store_leave_memory_as_it_was() -> None:
    whole = np.full(30, 7, np.int32)
    index = np.array([0, 1, 2, -1], np.int32)
    with pytest.raises(OutOfBounds, match="store reaches element -1 of 'x', which has 10"):
        launch(stores, (1,), whole[10:20], index, 4, debug=True)
    assert (whole[:10] == 7).all()
    index[3] = 10
    with pytest.raises(OutOfBounds, match="atomic_rmw reaches element 10 of 'x', which has 10"):
        launch(counts, (1,), whole[10:20], index, 4, debug=True)
    assert (whole[20:] == 7).all()


def test_a_store_to_a_read_only_array() -> None:
    x, index = np.zeros(8, np.int32), np.arange(8, dtype=np.int32)
    x.flags.writeable = False
    with pytest.raises(LaunchError, match="argument 'x' of stores is a read-only array"):
        launch(stores, (1,), x, index, 8, debug=True)
    k = Kernel({"x": "*i32"})
    k.store(k["x"], k.constant(1, "i32"))
    runtime, arrays = _described(x)
    with runtime.staged(arrays) as handles, pytest.raises(InvalidAccess, match="an array that is read-only"):
        k.launch(debug=True)((1, 1, 1), None, handles)
    assert not x.any()


@pytest.mark.parametrize("itemsize", [1, 4])
def test_elements_that_lie_partly_outside(itemsize: int) -> None:
    """A pointer to wider elements than the array's."""
    k = Kernel({"x": "*i32", "o": "*i32"})
    k.store(k["o"], k.load(k.offsets("x", k.constant(1, "i32"))))
    x, o = np.zeros(8 // itemsize - 1, f"i{itemsize}"), np.zeros(1, np.int32)
    runtime, arrays = _described(x, o)
    with runtime.staged(arrays) as handles, pytest.raises(OutOfBounds):
        k.launch(debug=True)((1, 1, 1), None, handles)


def _described(*arrays: Array) -> Any:
    from cpu_support import cpu_runtime
    from tri.launch.arrays import describe

    return cpu_runtime(), [describe(a) for a in arrays]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    size=st.integers(1, 70), step=st.sampled_from((1, 2, 3, -1, -2)), stride=st.integers(-3, 3),
    n=st.integers(0, 40), dtype=st.sampled_from(("i1", "i2", "i4", "i8", "f4", "f8")),
)  # fmt: skip
def test_exactly_the_accesses_outside_of_a_view_are_errors(
    size: int, step: int, stride: int, n: int, dtype: str
) -> None:
    whole = np.arange(4 * 70).astype(dtype)
    x = whole[140 : 140 + size * step : step]
    low, high = min(0, (size - 1) * step), max(0, (size - 1) * step)
    at = np.arange(n) * stride
    o = np.zeros(64, dtype)
    if ((at >= low) & (at <= high)).all():
        launch(copies, (2,), x, o, n, stride, 32, debug=True)
        np.testing.assert_array_equal(o[:n], whole[140 + at])
        return
    with pytest.raises(OutOfBounds) as caught:
        launch(copies, (2,), x, o, n, stride, 32, debug=True)
    assert caught.value.offset // x.itemsize in at[(at < low) | (at > high)]


def test_a_pointer_from_memory() -> None:
    """It may point to what the kernel was not given, but to memory."""
    hidden, o = np.arange(100, 116, dtype=np.int32), np.zeros(16, np.int32)
    addresses = np.array([hidden.ctypes.data], np.int64)
    launch(follows, (1,), addresses, o, 16, debug=True)
    assert o[0] == 100
    np.testing.assert_array_equal(hidden, np.arange(16))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of a process's memory")
def test_a_wild_pointer_is_an_error_and_no_segmentation_fault() -> None:
    o = np.zeros(16, np.int32)
    with pytest.raises(
        InvalidAccess, match=r"load at address 0x10, where this process has no memory to read"
    ) as caught:
        launch(follows, (1,), np.array([16], np.int64), o, 16, debug=True)
    assert caught.value.address == 16
    assert caught.value.location is not None
    assert caught.value.location.file == __file__
    with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ) as page:
        address = np.frombuffer(page, np.uint8).ctypes.data
        with pytest.raises(InvalidAccess, match=r"store at address .* no memory to write"):
            launch(follows, (1,), np.array([address], np.int64), o, 16, debug=True)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of a process's memory")
def test_mappings() -> None:
    """Neighbours count as one; what ends within an element, or may not be written, does not count."""
    with mmap.mmap(-1, 2 * mmap.PAGESIZE, prot=mmap.PROT_READ) as pages:
        first = np.frombuffer(pages, np.uint8).ctypes.data
        found = mapped_range(first, 8, writes=False)
        assert found is not None
        assert found[0] <= first
        assert found[1] >= first + len(pages)
        assert mapped_range(first, 8, writes=True) is None
        assert mapped_range(found[1] - 4, 8, writes=False) is None
    assert mapped_range(8, 1, writes=False) is None


@tri.jit
def waits(x, flag):
    if tl.program_id(0) == 0:
        tl.store(x + 100, 1)
        tl.store(flag, 1)
    else:
        while tl.atomic_add(flag, 0) < 2:
            pass


def test_programs_that_wait_are_stopped() -> None:
    """What the others wait for does not happen after an error."""
    with pytest.raises(OutOfBounds, match="element 100"):
        launch(waits, (3,), np.zeros(4, np.int32), np.zeros(1, np.int32), debug=True)


@tri.jit
def swaps(a, b, o, n, N: tl.constexpr):
    p, q = a + tl.arange(0, N), b + tl.arange(0, N)
    total = tl.zeros((N,), tl.float32)
    for _ in range(n):
        total = total * 2 + tl.load(p)
        p, q = q, p
    tl.store(o + tl.arange(0, N), total)


def test_pointers_that_change_places() -> None:
    """Each is held to belong to the array that it points into."""
    a, b, o = np.ones(8, np.float32), np.full(8, 10, np.float32), np.zeros(8, np.float32)
    launch(swaps, (1,), a, b, o, 3, 8, debug=True)
    np.testing.assert_array_equal(o, [25] * 8)


@tri.jit
def asserts(x, limit):
    i = tl.program_id(0)
    tl.device_assert(i < limit, "too many programs")
    tl.store(x + i, 1)


def test_an_assertion_has_its_line_and_program() -> None:
    x = np.zeros(8, np.int32)
    launch(asserts, (8,), x, 8, debug=True)
    launch(asserts, (8,), x, 3)  # without debug there is none
    with (
        knobs.scope(CPU_THREADS=1),
        pytest.raises(KernelFault, match="device-side assertion 'too many programs' failed") as caught,
    ):
        launch(asserts, (8,), x, 3, debug=True)
    assert caught.value.program == (3, 0, 0)
    assert caught.value.location is not None
    assert caught.value.location.source_line is not None
    assert "device_assert" in caught.value.location.source_line


@tri.jit
def computes(x, o, y, SIGN: tl.constexpr):
    a, b = tl.load(x), tl.load(y)
    if SIGN == "+":
        tl.store(o, a + b)
    elif SIGN == "-":
        tl.store(o, a - b)
    else:
        tl.store(o, a * b)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
@pytest.mark.parametrize("sign", ["+", "-", "*"])
def test_overflow(sign: str, dtype: str) -> None:
    """Sums, differences and products that leave the type; those that just fit."""
    info = np.iinfo(dtype)
    least, most = int(info.min), int(info.max)
    fits, wraps = {
        "+": ((most - 1, 1), (most, 1)),
        "-": ((least + 1, 1), (least, 1)),
        "*": ((most // 2, 2), (most // 2 + 1, 2)),
    }[sign]
    arrays = [np.array([n], dtype) for n in (fits[0], 0, fits[1])]
    launch(computes, (1,), *arrays, sign, debug=True)
    arrays = [np.array([n], dtype) for n in (wraps[0], 0, wraps[1])]
    with pytest.raises(KernelFault, match=f"{dtype} overflow in operator [{sign}]"):
        launch(computes, (1,), *arrays, sign, debug=True)
    launch(computes, (1,), *arrays, sign, debug=True, sanitize_overflow=False)
    launch(computes, (1,), *arrays, sign)


@tri.jit
def library(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.sum(tl.load(x + i), 0) + tl.sum(tl.cumsum(tl.load(x + i), 0), 0)
    total += tl.sort(tl.randint(3, i) % 8) + libdevice.popc(i - 8)
    tl.store(o + i, tl.rand(7, i) + total)


def test_the_language_own_functions_do_not_overflow() -> None:
    x, o, p = np.arange(16, dtype=np.int32), np.zeros(16, np.float32), np.zeros(16, np.float32)
    launch(library, (1,), x, o, 16, debug=True)
    launch(library, (1,), x, p, 16)
    np.testing.assert_array_equal(o, p)


def test_the_knob_is_the_option_for_every_launch() -> None:
    x, o = np.zeros(4, np.float32), np.zeros(32, np.float32)
    with knobs.scope(DEBUG=True):
        with pytest.raises(OutOfBounds):
            launch(copies, (1,), x, o, 5, 1, 32)
        with pytest.raises(OutOfBounds):
            launch(copies, (1,), x, o, 5, 1, 32, debug=False)
    x = np.zeros(32, np.float32)
    launch(copies, (1,), x, o, 5, 1, 32)


def test_an_unchecked_kernel_has_no_trace_of_checks() -> None:
    k = Kernel({"x": "*i32", "o": "*i32"})
    k.write("o", k.read("x", 16))
    plain, checked = (k.compile(debug=debug).asm["llir"] for debug in (False, True))
    assert "accesses" not in plain
    assert "accesses" in checked


def test_a_launcher_in_c_has_a_range_for_every_parameter() -> None:
    """Two for each, and two for pointers of none; its code is run by the frontend's tests of kernels in C programs."""
    from tri_backend_cpu.aot import launcher

    k = Kernel({"x": "*i32", "o": "*i32"})
    k.write("o", k.read("x", 16))
    assert launcher().facts(k.compile(debug=True).image)["ranges"] == 6
    assert launcher().facts(k.compile().image)["ranges"] == 0
