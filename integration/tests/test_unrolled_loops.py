"""``tl.range(loop_unroll_factor=)``: the same iterations in the same order, whatever the bounds."""

from __future__ import annotations

import numpy as np
import pytest

import tri
import tri.language as tl

_LOW, _HIGH = -(2**31), 2**31 - 1
BOUNDS = [
    (0, 0, 1), (0, 1, 1), (0, 2, 1), (0, 3, 1), (0, 7, 1), (5, 2, 1), (-7, 6, 2), (-3, 9, 5), (1, 100, 33),
    (_LOW, _LOW + 7, 3), (_LOW, _HIGH - 2**29, 2**29), (_HIGH - 40, _HIGH - 3, 4),
]  # fmt: skip


@tri.jit
def signed(out, low, high, step, FACTOR: tl.constexpr):
    value = 17
    count = 0
    for i in tl.range(low, high, step, loop_unroll_factor=FACTOR):
        value = value * 31 + i
        count += 1
    tl.store(out, value)
    tl.store(out + 1, count)


@tri.jit
def known(out, LOW: tl.constexpr, HIGH: tl.constexpr, STEP: tl.constexpr, FACTOR: tl.constexpr):
    value = 17
    count = 0
    for i in tl.range(LOW, HIGH, STEP, loop_unroll_factor=FACTOR):
        value = value * 31 + i
        count += 1
    tl.store(out, value)
    tl.store(out + 1, count)


def _expected(low: int, high: int, step: int) -> list[int]:
    value, count = 17, 0
    for i in range(low, high, step):
        value, count = (value * 31 + i) & 0xFFFFFFFF, count + 1
    return [value - (1 << 32) if value >> 31 else value, count]


@pytest.mark.parametrize("factor", [1, 2, 3, 4])
def test_bounds_of_a_launch(factor: int) -> None:
    for low, high, step in BOUNDS:
        out = np.zeros(2, np.int32)
        with tri.target("cpu"):
            signed[(1,)](out, low, high, step, FACTOR=factor)
        assert out.tolist() == _expected(low, high, step), (low, high, step)


@pytest.mark.parametrize(("low", "high", "step"), BOUNDS[:9])
def test_bounds_that_are_known(low: int, high: int, step: int) -> None:
    out = np.zeros(2, np.int32)
    with tri.target("cpu"):
        known[(1,)](out, LOW=low, HIGH=high, STEP=step, FACTOR=3)
    assert out.tolist() == _expected(low, high, step)


def test_the_body_is_repeated() -> None:
    """No silent ignoring of the factor."""
    source = tri.ASTSource(
        signed,
        {"out": "*i32", "low": "i32", "high": "i32", "step": "i32", "FACTOR": "constexpr"},
        {"FACTOR": 4},
    )
    text = tri.compile(source, target="cpu").asm["ttir"]
    assert text.count("scf.for") == 2
    assert text.count("arith.muli") >= 5
    assert "loop_unroll_factor" not in text
