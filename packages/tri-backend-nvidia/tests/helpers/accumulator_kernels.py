"""A kernel whose accumulator starts anew."""

from __future__ import annotations

import pytest

import tri
import tri.language as tl

torch = pytest.importorskip("torch")


@tri.jit
def restarted(
    a, b, c, TILES, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, HOW: tl.constexpr
):  # fmt: skip
    """Dots of ``TILES`` blocks of rows in one loop, whose sum starts anew at each of them.

    At the ``end`` of one, that is: the first has what was there before the loop in it, and what is left is stored below.
    """
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    steps = tl.cdiv(K, BK)
    acc = tl.full((BM, BN), 7.0, tl.float32)
    for i in range(TILES * steps):
        rows, step = i // steps * BM + m, i % steps
        x = tl.load(a + rows[:, None] * K + step * BK + k[None, :])
        y = tl.load(b + (step * BK + k[:, None]) * BN + n[None, :])
        if HOW == "where":
            acc = tl.where(step == 0, 0.0, acc)
        elif HOW == "otherwise":
            acc = tl.where(step > 0, acc, 0.0)
        elif HOW == "if" and step == 0:
            acc = tl.zeros((BM, BN), tl.float32)
        acc = tl.dot(x, y, acc)
        if step == steps - 1:
            tl.store(c + rows[:, None] * BN + n[None, :], acc)
            if HOW == "end":
                acc = tl.zeros((BM, BN), tl.float32)
    if HOW == "end":
        tl.store(c + (TILES * BM + m[:, None]) * BN + n[None, :], acc)
