"""``device_print``: the same text on all targets, a line for each element, in Triton's words."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_core.errors import Unsupported

TARGETS = (
    "cpu",
    "sim:nvidia:sm_80",
    "sim:nvidia:sm_90a",
    "sim:amd:gfx942",
    "sim:amd:gfx1100",
    "sim:intel:pvc",
)


@tri.jit
def prints(x_ptr, y_ptr, z_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y, z = tl.load(x_ptr + i), tl.load(y_ptr + i), tl.load(z_ptr + i)
    tl.device_print("x", x)
    tl.device_print("half", y)
    tl.device_print("bf16", y.to(tl.bfloat16))
    tl.device_print("double", x.to(tl.float64) * 1e300)
    tl.device_print("signed", z)
    tl.device_print("unsigned", z.to(tl.uint32, bitcast=True))
    tl.device_print("wide", z.to(tl.int64) << 32)
    tl.device_print("bits", z, hex=True)
    tl.device_print("byte", z.to(tl.uint8), hex=True)
    tl.device_print("truth", x > 1)
    tl.device_print("two of 100%", tl.program_id(0), z.to(tl.int8))
    if tl.program_id(0) == 1:
        tl.device_print("{second}")
    tl.device_print("bits of x", x, hex=True)
    tl.device_print("bits of half", y, hex=True)
    tl.device_print("bits of bf16", y.to(tl.bfloat16), hex=True)
    tl.device_print("bits of byte float", x.to(tl.float8e5), hex=True)
    tl.device_print("", tl.program_id(0))
    tl.device_print("scalar:", tl.load(x_ptr + 1))
    tl.device_print("scalar in bits", tl.load(x_ptr), hex=True)
    tl.device_print("one", 1, 2.5)
    tl.device_print("square", tl.arange(0, 4)[:, None] * 100 + tl.arange(0, 16)[None, :])
    tl.device_print("shapes", x, tl.arange(0, 4)[:, None])
    tl.device_print("place", x_ptr.to(tl.int64).to(tl.pointer_type(tl.int8)))


def launch() -> None:
    x, y = np.array([-0.25, 1.5], np.float32), np.array([2.5, np.inf], np.float16)
    prints[(2,)](x, y, np.array([-3, 200], np.int32), N=2)


def expected() -> list[str]:
    lines = []
    for program in range(2):
        for name, values in {
            "x": ("-0.250000", "1.500000"),
            "half": ("2.500000", "inf"),
            "bf16": ("2.500000", "inf"),
            "double": (f"{-0.25e300:f}", f"{1.5e300:f}"),
            "signed": ("-3", "200"),
            "unsigned": ("4294967293", "200"),
            "wide": ("-12884901888", "858993459200"),
            "bits": ("0xfffffffd", "0x000000c8"),
            "byte": ("0xfd", "0xc8"),
            "truth": ("0", "1"),
            "two of 100%": ("-3", "-56"),
        }.items():
            which = "(operand 1) " if name.startswith("two") else ""
            if which:
                lines.append(f"pid ({program}, 0, 0) idx () {name}: (operand 0) {program}")
            lines += [f"pid ({program}, 0, 0) idx ({i}) {name}: {which}{v}" for i, v in enumerate(values)]
        start = f"pid ({program}, 0, 0) idx"
        for name, words in {
            "x": ("-0x1p-2", "0x1.8p+0"),
            "half": ("0x1.4p+1", "inf"),
            "bf16": ("0x1.4p+1", "inf"),
            "byte float": ("0xb4", "0x3e"),
        }.items():
            lines += [f"{start} ({i}) bits of {name}: {word}" for i, word in enumerate(words)]
        lines += [f"{start} ({i}, {j:2}) square: {100 * i + j}" for i in range(4) for j in range(16)]
        lines += [f"{start} ({i}) shapes: (operand 0) {v}" for i, v in enumerate(("-0.250000", "1.500000"))]
        lines += [f"{start} ({i}, 0) shapes: (operand 1) {i}" for i in range(4)]
        lines.append(f"{start} () place: 0x")
        lines.append(f"{start} (): {program}")
        lines += [f"{start} () scalar: 1.500000", f"{start} () scalar in bits: -0x1p-2"]
        lines += [f"{start} () one: (operand 0) 1", f"{start} () one: (operand 1) 2.500000"]
        if program:
            lines.append("pid (1, 0, 0) {second}")
    return lines


@pytest.mark.parametrize("target", TARGETS)
def test_lines_of_targets(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    with tri.target(target):
        launch()
    assert sorted(printed(capsys.readouterr().out)) == sorted(expected())


def test_lines_of_the_interpreter(capsys: pytest.CaptureFixture[str]) -> None:
    with tri.interpret():
        launch()
    assert sorted(printed(capsys.readouterr().out)) == sorted(expected())


def printed(text: str) -> list[str]:
    """The lines, addresses without their digits: those of the launch's own memory are 16."""
    return [re.sub(r"(place: 0x)[0-9a-f]{16}$", r"\1", line) for line in text.splitlines()]


def test_the_device_prints_the_same() -> None:
    """Intel's device is the one that every x86 processor has."""
    try:
        with tri.target("intel"):
            prints.warmup(tl.float32, tl.float16, tl.int32, N=2, grid=(1,))
    except tri.errors.TriError as error:
        pytest.skip(f"no such device here: {error}")
    code = "import integration.tests.test_printing as t, tri\nwith tri.target('intel'): t.launch()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert sorted(printed(done.stdout)) == sorted(expected())


def test_a_gpu_that_cannot_print_says_so() -> None:
    with (
        pytest.raises(Unsupported, match="amd cannot print from a kernel") as error,
        tri.target("amd:gfx942"),
    ):
        prints.warmup(tl.float32, tl.float16, tl.int32, N=2, grid=(1,))
    assert error.value.location is not None
    assert "simulator" in (error.value.remedy or "")
