"""Assertions and prints."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_support import Kernel
from tri_core.api import DeviceError


def asserting(wide: bool) -> Kernel:
    """Every element (or the first) of x is below 100."""
    k = Kernel({"x": "*i32", "o": "*i32"})
    start = k.mul(k.program_id(), k.constant(64, "i32"))
    if wide:
        index = k.add(k.splat(start, (64,)), k.range(64))
        limit = k.constant(100, "i32", (64,))
    else:
        index, limit = start, k.constant(100, "i32")
    value = k.load(k.offsets("x", index))
    k.op("tt.assert", [k.compare(2, value, limit)], attributes='message = "x is below 100"')
    k.store(k.offsets("o", index), value)
    return k


@pytest.mark.parametrize("wide", [True, False])
def test_assertions(wide: bool, rng: np.random.Generator) -> None:
    x = rng.integers(0, 100, 64 * 8).astype(np.int32)
    o = np.zeros_like(x)
    launch = asserting(wide).launch()
    addresses = [x.ctypes.data, o.ctypes.data]
    launch((2, 2, 2), None, addresses)
    x[64] = 100
    with pytest.raises(DeviceError, match=r"(?s)x is below 100.*failed in kernel.*program \(1, 0, 0\)"):
        launch((8, 1, 1), None, addresses)
    x[64] = 0
    launch((8, 1, 1), None, addresses)  # a failure is not remembered
    np.testing.assert_array_equal(o if wide else o[::64], x if wide else x[::64])


def printing(k: Kernel, prefix: str, *values: object, hexadecimal: bool = False, signed: str = "") -> None:
    operands = list(values)
    attributes = (
        f'prefix = "{prefix}", hex = {str(hexadecimal).lower()}, '
        f"isSigned = array<i32{': ' if signed else ''}{signed}>"
    )
    k.op("tt.print", operands, attributes=attributes)  # type: ignore[arg-type]


def test_print_of_scalars(capfd: pytest.CaptureFixture[str]) -> None:
    k = Kernel({"x": "*f32", "n": "i32"})
    printing(k, " x: ", k.load(k["x"]), k["n"], signed="1, 0")
    printing(k, " done")
    k.run(np.array([2.5], np.float32), -1, grid=(1,))
    out = capfd.readouterr().out.splitlines()
    assert out == [
        "pid (0, 0, 0) idx () x: (operand 0) 2.500000",
        "pid (0, 0, 0) idx () x: (operand 1) 4294967295",
        "pid (0, 0, 0) done",
    ]


def test_print_of_tensors(capfd: pytest.CaptureFixture[str], rng: np.random.Generator) -> None:
    """Every element of every program, with its place; stores before and after keep their order."""
    k = Kernel({"x": "*i8"})
    value = k.read("x", 2, 4)
    printing(k, " v = ", value, hexadecimal=True, signed="1")
    x = rng.integers(-128, 128, (2, 4)).astype(np.int8)
    k.run(x, grid=(3,))
    out = capfd.readouterr().out.splitlines()
    expected = [
        f"pid ({p}, 0, 0) idx ({i}, {j}) v = 0x{int(x[i, j]) & 0xFF:02x}"
        for p in range(3)
        for i in range(2)
        for j in range(4)
    ]
    assert sorted(out) == sorted(expected)
    mine = [line for line in out if line.startswith("pid (1,")]
    assert mine == [line for line in expected if line.startswith("pid (1,")]


def test_print_of_narrow_floats(capfd: pytest.CaptureFixture[str]) -> None:
    k = Kernel({"x": "*bf16"})
    printing(k, " ", k.read("x", 2), signed="1")
    k.run(np.array([0x3FC0, 0xC000], np.uint16))
    assert [line.split()[-1] for line in capfd.readouterr().out.splitlines()] == ["1.500000", "-2.000000"]
