"""Outputs whose strides are negative, or leave elements out: what lies between and around them stays."""

from __future__ import annotations

from contextlib import AbstractContextManager

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_core import knobs

TARGETS = ["cpu", "interpreter", "sim:nvidia:sm_80", "sim:amd:gfx942", "sim:intel:pvc"]


@tri.jit
def one_more(x, o, s0, s1, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tl.store(o + i * s0 + j * s1, tl.load(x + i * N + j) + 1)


def on(target: str) -> AbstractContextManager[object]:
    return knobs.scope(INTERPRET=True) if target == "interpreter" else tri.target(target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("rows", "columns"), [(1, -1), (-1, 1), (-1, -1), (2, -3), (-3, 2)])
def test_a_view(target: str, rows: int, columns: int) -> None:
    x = np.random.default_rng(0).random((4, 4), np.float32)
    whole = np.full((4 * abs(rows), 4 * abs(columns)), 7, np.float32)
    expected = whole.copy()
    expected[::rows, ::columns] = x + 1
    view = whole[::rows, ::columns]
    with on(target):
        one_more[(1,)](x, view, *(s // view.itemsize for s in view.strides), N=4)
    np.testing.assert_array_equal(whole, expected)
