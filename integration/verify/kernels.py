"""Kernels with launches that are verified: right ones, in which faults are planted."""

from __future__ import annotations

from typing import Any

import tri
import tri.language as tl
from tri.verifying import Trial, trial_of

__all__ = ["TRIALS"]


@tri.jit
def add(x: Any, y: Any, out: Any, BLOCK: tl.constexpr) -> None:
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) + tl.load(y + i))


@tri.jit
def integers(x: Any, y: Any, out: Any, BLOCK: tl.constexpr) -> None:
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, (a * 7 - b) % 5 + (a ^ b) + tl.where(a > b, a // b, b))


@tri.jit
def gather(x: Any, places: Any, out: Any, n: Any, BLOCK: tl.constexpr) -> None:
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(places + i, mask=i < n, other=0)
    tl.store(out + i, tl.load(x + at), mask=i < n)


@tri.jit
def largest(x: Any, out: Any, n: Any, BLOCK: tl.constexpr) -> None:
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    tl.store(out + row, tl.max(values, 0) - tl.sum(tl.where(at < n, values, 0.0), 0))


@tri.jit
def running(x: Any, out: Any, ROWS: tl.constexpr, BLOCK: tl.constexpr) -> None:
    at = tl.arange(0, ROWS)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(out + at, tl.cumsum(tl.load(x + at), 1))


@tri.jit
def softmax(x: Any, out: Any, n: Any, BLOCK: tl.constexpr) -> None:
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * n + at, powers / tl.sum(powers, 0), mask=at < n)


@tri.jit
def transposed(x: Any, out: Any, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    tl.store(
        out + i[:, None] * BLOCK + i[None, :], tl.trans(tl.load(x + i[:, None] * BLOCK + i[None, :])) * 3
    )


@tri.jit
def matmul(a: Any, b: Any, c: Any, n: Any, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    rows, columns = tl.program_id(0) * BLOCK + i, tl.program_id(1) * BLOCK + i
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, n, BLOCK):
        left = tl.load(a + rows[:, None] * n + (k + i)[None, :])
        total = tl.dot(left, tl.load(b + (k + i)[:, None] * n + columns[None, :]), total)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


@tri.jit
def attention(q: Any, k: Any, v: Any, out: Any, n: Any, WIDTH: tl.constexpr, BLOCK: tl.constexpr) -> None:
    rows, i, w = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, BLOCK), tl.arange(0, WIDTH)
    queries = tl.load(q + rows[:, None] * WIDTH + w[None, :])
    acc, total = tl.zeros((BLOCK, WIDTH), tl.float32), tl.zeros((BLOCK,), tl.float32)
    top = tl.zeros((BLOCK,), tl.float32) - float("inf")
    for start in range(0, n, BLOCK):
        at = (start + i)[:, None] * WIDTH + w[None, :]
        scores = tl.dot(queries, tl.trans(tl.load(k + at))) * 0.0625
        higher = tl.maximum(top, tl.max(scores, 1))
        weights, shrink = tl.exp2(scores - higher[:, None]), tl.exp2(top - higher)
        total = total * shrink + tl.sum(weights, 1)
        acc = tl.dot(weights.to(tl.float16), tl.load(v + at), acc * shrink[:, None])
        top = higher
    tl.store(out + rows[:, None] * WIDTH + w[None, :], acc / total[:, None])


_F, _H, _I = "*fp32:16", "*fp16:16", "*i32:16"
#: kernels and launches, by name
TRIALS: dict[str, Trial] = {
    "add": trial_of(add, f"{_F}, {_F}, {_F}, BLOCK=256", grid=(3,)),
    "integers": trial_of(integers, f"{_I}, {_I}, {_I}, BLOCK=256", grid=(2,)),
    "gather": trial_of(gather, f"{_F}, {_I}, {_F}, i32, BLOCK=256", values={"n": 400}, grid=(2,)),
    "largest": trial_of(largest, f"{_F}, {_F}, i32, BLOCK=512", values={"n": 300}, grid=(3,)),
    "running": trial_of(running, f"{_F}, {_F}, ROWS=8, BLOCK=64"),
    "softmax": trial_of(softmax, f"{_F}, {_F}, i32, BLOCK=512", values={"n": 500}, grid=(3,)),
    "transposed": trial_of(transposed, f"{_H}, {_H}, BLOCK=64"),
    "matmul": trial_of(matmul, f"{_H}, {_H}, {_F}, i32:16, BLOCK=32", values={"n": 64}, grid=(2, 2)),
    "attention": trial_of(
        attention, f"{_H}, {_H}, {_H}, {_F}, i32:16, WIDTH=32, BLOCK=32", values={"n": 128}, grid=(2,)
    ),
}
