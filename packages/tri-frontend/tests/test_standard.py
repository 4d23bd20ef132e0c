"""Reductions, scans and sorts of every integer width: dtypes and values of results, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl

N = 16
WIDTHS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


@tri.jit
def functions(x, scans, whole, same, places, SUM: tl.constexpr, TOP: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    up, down = tl.cumsum(v), tl.cumsum(v, reverse=True)
    products, total = tl.cumprod(v), tl.sum(v)
    tl.static_assert(up.dtype == SUM and down.dtype == SUM and products.dtype == SUM and total.dtype == SUM)
    tl.store(scans + i, up)
    tl.store(scans + N + i, down)
    tl.store(scans + 2 * N + i, products)
    tl.store(scans + 3 * N, total)
    tl.store(scans + 3 * N + 1, v.cumsum(0, dtype=SUM).max())
    most, least = tl.max(v), tl.min(v)
    tl.static_assert(most.dtype == TOP and least.dtype == TOP)
    tl.store(whole, most)
    tl.store(whole + 1, least)
    parity, any_bit, sorted_, flipped = tl.xor_sum(v), tl.reduce_or(v, 0), tl.sort(v), tl.flip(v)
    first, at = tl.max(v, 0, return_indices=True)
    tl.static_assert(parity.dtype == v.dtype and any_bit.dtype == v.dtype and first.dtype == v.dtype)
    tl.static_assert(sorted_.dtype == v.dtype and flipped.dtype == v.dtype)
    tl.store(same + i, sorted_)
    tl.store(same + N + i, flipped)
    tl.store(same + 2 * N, parity)
    tl.store(same + 2 * N + 1, any_bit)
    tl.store(same + 2 * N + 2, first)
    tl.store(places, at)
    tl.store(places + 1, tl.argmin(v, 0))
    best = tl.topk(v, 4)
    tl.static_assert(best.dtype == TOP)
    tl.store(whole + 2 + tl.arange(0, 4), best)


def sum_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What narrow integers add up in: 32 bits of their own signedness; truth values count as unsigned."""
    if dtype.itemsize >= 4:
        return dtype
    return np.dtype(np.int32 if dtype.kind == "i" else np.uint32)


def language(dtype: np.dtype[Any]) -> Any:
    return tl.int1 if dtype == np.bool_ else getattr(tl, dtype.name)


def expected(x: Any, wide: np.dtype[Any], top: np.dtype[Any]) -> list[Any]:
    full = x.astype(wide)
    with np.errstate(over="ignore"):
        scans = [
            np.cumsum(full, dtype=wide),
            np.cumsum(full[::-1], dtype=wide)[::-1],
            np.cumprod(full, dtype=wide),
        ]
        sums = [full.sum(dtype=wide), scans[0].astype(top).max()]
    extremes = np.array([x.max(), x.min(), *np.sort(x)[::-1][:4]]).astype(top)
    bits = x.view(np.uint8) if x.dtype == np.bool_ else x
    found = [np.bitwise_xor.reduce(bits), np.bitwise_or.reduce(bits), x.max()]
    same = np.concatenate([np.sort(x), x[::-1], np.array(found).astype(x.dtype)])
    return [
        np.concatenate([*scans, np.array(sums).astype(wide)]),
        extremes,
        same,
        np.array([x.argmax(), x.argmin()]),
    ]


def inputs(dtype: np.dtype[Any]) -> Any:
    rng = np.random.default_rng(3)
    if dtype == np.bool_:
        return rng.integers(0, 2, N).astype(bool)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, N, dtype, endpoint=True)


@pytest.mark.usefixtures("cpu")
@pytest.mark.parametrize("name", WIDTHS)
@pytest.mark.parametrize("interpreted", [False, True], ids=["cpu", "interpreter"])
def test_integers_of_all_widths(name: str, interpreted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    x = inputs(np.dtype(name))
    wide, top = sum_type(x.dtype), x.dtype if x.dtype.itemsize >= 4 else np.dtype(np.int32)
    want = expected(x, wide, top)
    made = [np.zeros_like(w) for w in want]
    made[3] = made[3].astype(np.int32)
    monkeypatch.setattr(functions, "interpreted", interpreted)
    functions[(1,)](x, *made, SUM=language(wide), TOP=language(top), N=N)
    for got, right in zip(made, want, strict=True):
        np.testing.assert_array_equal(got, right)


@pytest.mark.usefixtures("cpu")
@pytest.mark.parametrize("interpreted", [False, True], ids=["cpu", "interpreter"])
def test_a_mask_is_counted(interpreted: bool) -> None:
    @tri.jit
    def kernel(out, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(out + i, tl.cumsum(i % 2 == 0))

    out = np.zeros(8, np.int32)
    kernel.interpreted = interpreted
    kernel[(1,)](out, N=8)
    assert out.tolist() == [1, 1, 2, 2, 3, 3, 4, 4]


@pytest.mark.usefixtures("cpu")
def test_two_scalars_interleave_to_a_block() -> None:
    @tri.jit
    def kernel(out, a, b):
        tl.store(out + tl.arange(0, 2), tl.interleave(a, b))

    out = np.zeros(2, np.int32)
    kernel[(1,)](out, 5, 7)
    assert out.tolist() == [5, 7]
