"""Kernels under the emulator, at both lengths of registers, against NumPy; and what happens when one goes wrong."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import tri
from tri_core import knobs
from tri_core.api import KernelFault, OutOfBounds

import kernels

pytestmark = pytest.mark.usefixtures("emulated")


@pytest.fixture(params=["rv64gcv", "rv64gcv-vlen256"], autouse=True)
def _target(request: pytest.FixtureRequest):  # type: ignore[no-untyped-def]
    with tri.target(f"riscv:{request.param}"):
        yield


@pytest.mark.parametrize("n", [1, 256, 1000])
def test_add(n: int) -> None:
    x, y = np.random.default_rng(0).random((2, n), dtype=np.float32)
    out = np.full(n + 8, np.nan, np.float32)
    kernels.add[(tri.cdiv(n, 256),)](out, x, y, n, BLOCK=256)
    np.testing.assert_array_equal(out[:n], x + y)
    assert np.isnan(out[n:]).all()


def test_softmax() -> None:
    x = np.random.default_rng(1).standard_normal((7, 100), dtype=np.float32)
    out = np.full_like(x, np.nan)
    kernels.softmax[(7,)](out, x, 100, BLOCK=128)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(axis=1, keepdims=True), rtol=1e-5)


def test_layer_norm() -> None:
    random = np.random.default_rng(2)
    x = random.standard_normal((5, 200), dtype=np.float32)
    weight, bias = random.standard_normal((2, 200), dtype=np.float32)
    out = np.full_like(x, np.nan)
    kernels.layer_norm[(5,)](out, x, weight, bias, 200, BLOCK=256)
    exact = x.astype(np.float64)
    centred = exact - exact.mean(axis=1, keepdims=True)
    normal = centred / np.sqrt(exact.var(axis=1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(out, normal * weight + bias, atol=1e-5)


def test_matmul() -> None:
    random = np.random.default_rng(3)
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((32, 64), (64, 32)))
    out = np.full((32, 32), np.nan, np.float32)
    kernels.matmul[(1,)](out, a, b, 64, BLOCK=32)
    np.testing.assert_allclose(out, a.astype(np.float64) @ b.astype(np.float64), atol=1e-4)


def test_conversions_round_towards_zero() -> None:
    x = np.linspace(-50, 50, 64)
    y = np.full(64, 1.7)
    out = np.full(64, 99, np.int32)
    kernels.towards_zero[(1,)](out, x, y, BLOCK=64)
    np.testing.assert_array_equal(out, np.trunc(x / y).astype(np.int32))


def test_a_program_loads_what_it_stores_elsewhere_in_the_array_first() -> None:
    x = np.arange(101, dtype=np.float32)
    kernels.shift[(1,)](x, 100, BLOCK=128)
    np.testing.assert_array_equal(x, [0, *range(100)])


def test_what_a_kernel_prints_is_printed_here(capfd: pytest.CaptureFixture[str]) -> None:
    kernels.says[(3,)](np.array([5, 6, 7], np.int32))
    printed = capfd.readouterr().out
    assert re.findall(r"program.*?(\d+)$", printed, re.MULTILINE) == ["5", "6", "7"]


def test_an_assertion_that_fails_names_program_and_line() -> None:
    with pytest.raises(KernelFault, match="'small' failed") as failed:
        kernels.asserts[(3,)](np.array([0, 1, 2], np.int32), debug=True)
    assert failed.value.program == (2, 0, 0)
    assert failed.value.location is not None
    assert "device_assert" in str(failed.value.location.source_line)


def test_an_access_out_of_bounds_names_element_and_line_and_is_left_out() -> None:
    x = np.zeros(8, np.int32)
    with pytest.raises(OutOfBounds, match="element 9 of 'x_ptr', which has 8") as out:
        kernels.wild[(1,)](x, 9, debug=True)
    assert out.value.location is not None
    assert "far" in str(out.value.location.source_line)
    kernels.wild[(1,)](x[::-1], -2, debug=True)  # an array that begins in front of its first element
    assert x.tolist() == [0, 0, 0, 0, 0, 1, 0, 0]


def test_a_kernel_that_does_not_end_is_ended() -> None:
    with (
        knobs.scope(RISCV_TIMEOUT=2.0),
        pytest.raises(KernelFault, match="has not ended after 2 s") as late,
    ):
        kernels.forever[(1,)](np.zeros(1, np.int32))
    assert "TRI_RISCV_TIMEOUT" in str(late.value.remedy)


def test_a_wild_store_is_a_fault_and_the_next_launch_works() -> None:
    x = np.zeros(8, np.int32)
    with pytest.raises(KernelFault, match="SIGSEGV") as fault:
        kernels.wild[(1,)](x, 1 << 40)
    assert "mask" in str(fault.value.remedy)
    kernels.wild[(1,)](x, 3)
    assert x.tolist() == [0, 0, 0, 1, 0, 0, 0, 0]


def test_a_launch_gives_its_memory_back(tmp_path: Path) -> None:
    from tri_runtime import runtime

    free = list(runtime("riscv").shared._free)  # type: ignore[attr-defined]
    test_add(1000)
    assert runtime("riscv").shared._free == free  # type: ignore[attr-defined]
