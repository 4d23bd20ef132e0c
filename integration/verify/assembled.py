"""Kernels that ptxas gets wrong where nothing is rewritten for it, and right ones: judged by ``tri verify --assemblers``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import tri
import tri.language as tl
from integration.assemblers.on_card import CASES
from integration.verify.faults import fresh
from tri.verifying import Trial, trial_of
from tri_backend_nvidia.ptxas import Sound
from tri_backend_nvidia.sass import levels

__all__ = ["FAULTY", "RIGHT", "as_ptxas_is"]


@contextmanager
def as_ptxas_is() -> Iterator[None]:
    """The compiler without its rewritings for faults of ptxas, with a cache of its own."""
    with fresh(), mock.patch.object(levels, "sound", return_value=Sound(None, ())):
        yield


@tri.jit
def sums(x: Any, y: Any, out: Any, N: tl.constexpr) -> None:
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + i, tl.load(x + i) + tl.load(y + i))


@tri.jit
def products(x: Any, y: Any, out: Any, N: tl.constexpr) -> None:
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i) * tl.load(y + i) - 7 * tl.load(x + i))


@tri.jit
def bits(x: Any, y: Any, out: Any, N: tl.constexpr) -> None:
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, (a & b) ^ (a | ~b))


@tri.jit
def shifts(x: Any, y: Any, out: Any, N: tl.constexpr) -> None:
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i) & 7
    tl.store(out + i, (a << b) + (a >> b))


@tri.jit
def chosen(x: Any, y: Any, out: Any, N: tl.constexpr) -> None:
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, tl.where(a > b, a, tl.where(b == 0, 1, b)))


@tri.jit
def extremes(x: Any, y: Any, out: Any, N: tl.constexpr) -> None:
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, tl.minimum(tl.maximum(a, b), 1000) - tl.minimum(a, b))


@tri.jit
def absolutes(x: Any, y: Any, out: Any, N: tl.constexpr) -> None:
    i = tl.arange(0, N)
    tl.store(out + i, tl.abs(tl.load(x + i)) + -tl.load(y + i))


@tri.jit
def masked(x: Any, y: Any, out: Any, N: tl.constexpr) -> None:
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i, mask=i < N - 9, other=5), mask=tl.load(y + i) > 0)


@tri.jit
def swapped(x: Any, y: Any, out: Any, N: tl.constexpr) -> None:
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + (i ^ 5)) - tl.load(y + (N - 1 - i)))


@tri.jit
def totals(x: Any, y: Any, out: Any, N: tl.constexpr) -> None:
    i = tl.arange(0, N)
    tl.store(out + i, tl.sum(tl.load(x + i), 0) + tl.max(tl.load(y + i), 0))


@tri.jit
def running(x: Any, y: Any, out: Any, N: tl.constexpr) -> None:
    i = tl.arange(0, N)
    tl.store(out + i, tl.cumsum(tl.load(x + i), 0))


@tri.jit
def looped(x: Any, y: Any, out: Any, N: tl.constexpr) -> None:
    i = tl.arange(0, N)
    total = tl.load(y + i)
    for k in range(5):
        total = total * 3 + tl.load(x + k * N + i)
    tl.store(out + i, total)


@tri.jit
def transposed(x: Any, y: Any, out: Any, N: tl.constexpr) -> None:
    i, j = tl.arange(0, 16)[:, None], tl.arange(0, 16)[None, :]
    tl.store(out + i * 16 + j, tl.trans(tl.load(x + i * 16 + j)) + tl.load(y + i * 16 + j))


@tri.jit
def wide(x: Any, y: Any, out: Any, N: tl.constexpr) -> None:
    i = tl.arange(0, N)
    a = tl.load(x + i).to(tl.int64) * tl.load(y + i)
    tl.store(out + i, (a >> 16).to(tl.int32) ^ a.to(tl.int32))


@tri.jit
def narrow(x: Any, y: Any, out: Any, N: tl.constexpr) -> None:
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(tl.int8).to(tl.int32) + tl.load(y + i).to(tl.uint16).to(tl.int32))


_TYPES = ("i32", "i16")
_KERNELS = (sums, products, bits, shifts, chosen, extremes, absolutes, masked, swapped, totals, running, looped, transposed, wide, narrow)  # fmt: skip
_BOTH = frozenset((sums, products, bits, chosen, extremes, absolutes, masked))


def _right() -> Iterator[tuple[str, Trial]]:
    for kernel in _KERNELS:
        for type_ in _TYPES if kernel in _BOTH else _TYPES[:1]:
            signature = f"*{type_}:16, *{type_}:16, *{type_}:16, N=256"
            yield (
                f"{kernel.__name__} {type_}",
                trial_of(kernel, signature, grid=(2 if kernel is sums else 1,)),
            )


#: small kernels of integers that are right, and those that ptxas got wrong on a card, by name
RIGHT: dict[str, Trial] = dict(_right())
FAULTY: dict[str, Trial] = {
    kernel.__name__: trial_of(kernel, "*i32:16, *i16:16, *i32:16, N=1024") for kernel, _ in CASES
}
