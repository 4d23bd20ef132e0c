"""Trials of kernels at each level, on the CPU target, and what ``tri verify`` says of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from integration.verify.command import verified
from tri_core.errors import OptionError

KERNELS = """
import tri
import tri.language as tl

@tri.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

@tri.jit
def race(x):
    tl.store(x, tl.program_id(0))

@tri.jit
def outside(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)

@tri.jit
def waits(flag, out):
    while tl.load(flag) < 100:
        pass
    tl.store(out, 1)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kernels_to_verify.py"
    path.write_text(KERNELS)
    return path


def test_a_right_kernel_is_equal(file: Path) -> None:
    status, said = verified(file, "scale", "-s", "*fp32:16, *fp32:16, i32, 64", "-v", "n=100", "-g", "2")
    assert status == 0
    assert said.startswith("cpu:")
    assert said.endswith("seed 0: equal\n")


@pytest.mark.parametrize("seeds", [1, 3])
def test_each_seed_is_a_finding_in_json(file: Path, seeds: int) -> None:
    status, said = verified(file, "scale", "-s", "*bf16, *bf16, i32, 64", "--seeds", str(seeds), "--json")
    assert status == 0
    assert [(each["seed"], each["verdict"]) for each in json.loads(said)] == [
        (seed, "equal") for seed in range(seeds)
    ]


@pytest.mark.parametrize(
    ("name", "signature", "error"),
    [
        ("race", "*i32", "KernelDataRace"),
        ("outside", "*fp32, BLOCK=8192", "OutOfBounds"),
        ("waits", "*i32, *i32", "KernelDeadlock"),
    ],
)
def test_what_means_nothing_is_never_right(file: Path, name: str, signature: str, error: str) -> None:
    status, said = verified(file, name, "-s", signature, "-g", "2")
    assert status == 2
    assert said.startswith(f"interpreter, seed 0: undefined\n  {error}: ")
    assert "cpu" not in said


def test_values_are_those_of_scalars(file: Path) -> None:
    with pytest.raises(OptionError, match="no scalar parameter 'x'"):
        verified(file, "scale", "-s", "*fp32, *fp32, i32, 64", "-v", "x=3")
    with pytest.raises(OptionError, match="no grid"):
        verified(file, "scale", "-s", "*fp32, *fp32, i32, 64", "-g", "many")
