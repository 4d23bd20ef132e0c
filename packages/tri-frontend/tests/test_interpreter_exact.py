"""The interpreter where floats are integers modulo a power of two."""

from __future__ import annotations

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_core import ring
from tri_core.errors import Unsupported


@tri.jit
def computed(x, y, out, B: tl.constexpr):
    i = tl.arange(0, B)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, a * b + 0.1)
    tl.store(out + B + i, tl.exp(a) / b)
    tl.store(out + 2 * B + i, a.to(tl.float16).to(tl.float32))
    tl.store(out + 3 * B + i, tl.maximum(a, b))
    tl.store(out + 4 * B + i, tl.sum(a, 0) + i.to(tl.float32))


def test_what_ops_compute() -> None:
    random = np.random.default_rng(1)
    x, y = (random.integers(-(2**31), 2**31, 16).astype(np.int32) for _ in range(2))
    out = np.zeros(5 * 16, np.float32)
    with tri.interpret(exact=True):
        computed[(1,)](x.view(np.float32), y.view(np.float32), out, B=16)
    rows = out.view(np.int32).reshape(5, 16)
    tenth = np.int32(ring.literal(float(np.float32(0.1)), 32))
    assert (rows[0] == x * y + tenth).all()
    assert (rows[1] == ring.function("div")(ring.function("exp")(x), y)).all()
    assert (rows[2] == x.astype(np.int16)).all()
    assert (rows[3] == np.maximum(x, y)).all()
    assert (rows[4] == x.sum(dtype=np.int32) + np.arange(16, dtype=np.int32)).all()


@tri.jit
def split(x, out, B: tl.constexpr):
    i = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    a = tl.load(x + i)
    tl.store(out + i, tl.dot(a, a, input_precision="tf32x3"))


def test_split_operands_are_refused() -> None:
    x = np.ones(256, np.float32)
    with tri.interpret(exact=True), pytest.raises(Unsupported, match="no exact arithmetic"):
        split[(1,)](x, np.zeros_like(x), B=16)
