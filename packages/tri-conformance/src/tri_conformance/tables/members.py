"""Methods and operators of blocks, makers of blocks, order, atomic loads and stores, waiting, random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tri_conformance.contracts import Close, Contract, Exact, Ulp
from tri_conformance.dtypes import FLOATS, FP8, INTEGERS, Array
from tri_conformance.features import Feature, Point, Trial
from tri_conformance.kernels import members as k
from tri_conformance.tables.philox import normals_of, uniforms_of, words, words_of
from tri_conformance.tables.promotion import mixture

__all__ = ["FEATURES"]

_SEED = 0x1234567890ABCDE
_KEY = (_SEED & 0xFFFFFFFF, _SEED >> 32)


def _rows(rows: Sequence[Any], dtype: Any) -> tuple[Array, Array]:
    """Memory for the results and what it must hold, row after row."""
    exact = np.concatenate([np.asarray(row).ravel() for row in rows])
    return np.full(exact.size, 77).astype(dtype), exact


def _small(point: Point, low: int = 1, high: int = 60) -> Array:
    return point.rng.integers(low, high, point.shape).astype(point.numpy)


# --- functions and operators --------------------------------------------------------------------------------


def _shared(v: Array) -> list[Array]:
    return [
        np.abs(v), np.ceil(v), np.floor(v), np.sin(v), np.cos(v), np.exp(v), np.exp2(v), np.log(v), np.log2(v), np.sqrt(v),
        np.sqrt(v), 1 / np.sqrt(v), np.vectorize(math.erf)(v),
    ]  # fmt: skip


def _mathematics(point: Point) -> Trial:
    x = point.rng.uniform(0.2, 3, point.count).astype(np.float32)
    v = x.astype(np.float64)
    soft = np.exp(v - v.max()) / np.exp(v - v.max()).sum()
    out, exact = _rows([*_shared(v), 1 / (1 + np.exp(-v)), soft, soft], np.float32)
    return Trial(arguments=[out, x], exact={0: exact}, constants={"N": point.count})


def _functions(point: Point) -> Trial:
    x = point.rng.uniform(0.2, 3, point.count).astype(np.float32)
    v, bits = x.astype(np.float64), x.view(np.uint32).astype(np.uint64)
    high = (bits * bits >> np.uint64(32)).astype(np.float64)
    out, exact = _rows([*_shared(v), v * v + v, v / (v + 1), v / (v + 1), high], np.float32)
    return Trial(arguments=[out, x], exact={0: exact}, constants={"N": point.count})


def _softmaxes(point: Point) -> Trial:
    x = point.rng.uniform(-9, 9, point.shape).astype(point.numpy)
    v = x.astype(np.float64)
    rows = []
    for axis in (0, 1, 1):
        e = np.exp(v - v.max(axis, keepdims=True))
        rows.append(e / e.sum(axis, keepdims=True))
    out, exact = _rows(rows, point.numpy)
    m, n = point.shape
    return Trial(arguments=[out, x.ravel()], exact={0: exact}, constants={"M": m, "N": n})


def _reflected(point: Point) -> Trial:
    v = 2 ** point.rng.integers(0, 4, point.count).astype(np.int32)  # exact quotients of floats
    v[::3] = point.rng.integers(1, 9, v[::3].size) * 8
    three = (v + 2) // 3
    rows = [
        5 + v, 5 - v, 5 * v, 500 // v, 500 % v, 5 & v, 5 | v, 5 ^ v, 5 << (v & 7), 500 >> (v & 7),
        (8 / v * 16).astype(int), v + 3, v - 3, v * 3, three, (v + 3) // 4, (v > 3) & (v < 9), (v > 9) | (v < 3), v,
        np.full_like(v, v[0] <= 3),
    ]  # fmt: skip
    out, exact = _rows(rows, np.int32)
    return Trial(arguments=[out, v], exact={0: exact}, constants={"N": point.count})


def _reduced(point: Point) -> Trial:
    m, n = point.shape
    v = point.rng.permutation(m * n).reshape(m, n).astype(np.int32) - m * n // 2
    total, top, least = v.sum(1), v.max(1), v.min(1)
    rows = [
        total, top, least, v.argmax(1), v.argmin(1), np.bitwise_xor.reduce(v, 1), np.bitwise_or.reduce(v, 1), total,
        np.bitwise_or.reduce(v, 1), total, top, v.argmax(1), least, v.argmin(1), v.cumsum(1), v.cumsum(1), (v & 1).cumprod(1),
        np.sort(v, 1), v[:, ::-1], v[:, ::-1], v.sum(), v.max(), v.min(),
    ]  # fmt: skip
    out, exact = _rows(rows, np.int32)
    return Trial(arguments=[out, v.ravel()], exact={0: exact}, constants={"M": m, "N": n})


def _regrouped(m: int, n: int, height: int) -> Array:
    """Destination of each place of a matrix traversed in groups of ``height`` rows, column by column."""
    ij = np.arange(m * n)
    group = ij // (height * n)
    rows = np.minimum(m - group * height, height)
    rest = ij % (height * n)
    return (group * height + rest % rows) * n + rest // rows


def _shaped(point: Point) -> Trial:
    m, n = point.shape
    v = _small(point)
    flat, size = v.ravel(), m * n
    rows = [
        v.T, v.T, v.T, v.T, v, v, v, np.concatenate([flat[::2], flat[1::2]]), np.full(size, flat[0]), np.full(size, flat[1]),
        np.full(size, 5), flat + 7, flat, flat * flat[3], flat, _regrouped(m, n, 2), flat,
    ]  # fmt: skip
    out, exact = _rows(rows, np.int32)
    return Trial(arguments=[out, flat.copy()], exact={0: exact}, constants={"M": m, "N": n})


def _places(point: Point) -> Trial:
    m, n = point.shape
    exact = _regrouped(m, n, 2).astype(point.numpy)
    x = np.arange(m * n).astype(point.numpy)
    out = np.full(m * n, 77).astype(point.numpy)
    return Trial(arguments=[out, x, m, n], exact={0: exact}, constants={"S": m * n})


def _typed(point: Point) -> Trial:
    v = _small(point, 0, 128)
    rows = [v, v, v + 4, v, v + 4, v, v + (v != 0)]
    out, exact = _rows(rows, np.int32)
    return Trial(arguments=[out, v], exact={0: exact}, constants={"N": point.count})


# --- order and counts ---------------------------------------------------------------------------------------


def _best(count: int, down: bool) -> Callable[[Point], Trial]:
    def make(point: Point) -> Trial:
        m, n = point.shape
        x = point.rng.integers(-50, 50, (m, n)).astype(point.numpy)
        ordered = np.sort(x.astype(np.float64), 1)
        exact = ordered[:, ::-1][:, :count] if down else ordered[:, :count]
        out = np.full(m * count, 77).astype(point.numpy)
        constants = {"K": count, "DOWN": down, "M": m, "N": n}
        return Trial(arguments=[out, x.ravel()], exact={0: exact.ravel()}, constants=constants)

    return make


def _merged(down: bool) -> Callable[[Point], Trial]:
    def make(point: Point) -> Trial:
        m, n = point.shape
        x = np.sort(point.rng.integers(-50, 50, (m, n)).astype(point.numpy), 1)
        x[:, n // 2 :] = x[:, n // 2 :][:, ::-1]  # up, then down
        exact = np.sort(x, 1)[:, :: -1 if down else 1]
        constants = {"DOWN": int(down), "M": m, "N": n}
        return Trial(
            arguments=[np.full(m * n, 77).astype(point.numpy), x.ravel()],
            exact={0: np.ascontiguousarray(exact).ravel()},
            constants=constants,
        )

    return make


def _counted(point: Point) -> Trial:
    x = point.rng.integers(0, 16, point.count).astype(np.int32)
    exact = np.concatenate([np.bincount(x[::2], minlength=16), np.bincount(x, minlength=16)])
    constants = {"BINS": 16, "N": point.count}
    return Trial(arguments=[np.full(32, -1, np.int32), x], exact={0: exact}, constants=constants)


# --- atomics ------------------------------------------------------------------------------------------------


def _atomics(point: Point) -> Trial:
    n = point.count
    x = point.rng.integers(-99, 99, n).astype(np.int32)
    before = point.rng.integers(-99, 99, (9, n)).astype(np.int32)
    before[7, ::2] = x[::2]  # so that half of the exchanges happen
    updates = [
        before[0] + x, np.maximum(before[1], x), np.minimum(before[2], x), before[3] & x, before[4] | x, before[5] ^ x, x,
        np.where(before[7] == x, x + 1, before[7]), x,
    ]  # fmt: skip
    old = before.copy()
    old[8] = x
    return Trial(
        arguments=[before.ravel(), np.full(9 * n, 77, np.int32), x],
        exact={0: np.stack(updates).ravel(), 1: old.ravel()},
        constants={"N": n},
    )


def _atomic_memory(load: str, store: str) -> Callable[[Point], Trial]:
    def make(point: Point) -> Trial:
        n, block = point.count - 5, 128
        x = point.rng.integers(0, 100, point.count).astype(point.numpy)
        exact = np.full(point.count, 77).astype(point.numpy)
        exact[:n] = x[:n]
        constants = {"SEM": load, "ORDER": store, "B": block}
        return Trial(
            arguments=[np.full(point.count, 77).astype(point.numpy), x, n],
            exact={0: exact},
            constants=constants,
            grid=(-(-point.count // block),),
        )

    return make


def _polled(point: Point) -> Trial:
    x = point.rng.integers(0, 100, point.count).astype(point.numpy)
    expected = np.where(point.rng.random(point.count) < 0.7, x, x + 1).astype(point.numpy)
    return Trial(
        arguments=[np.zeros(point.count, np.bool_), x, expected],
        exact={0: x == expected},
        constants={"B": point.count},
    )


def _polled_at_once(point: Point) -> Trial:
    x = point.rng.integers(0, 100, point.count).astype(point.numpy)
    return Trial(
        arguments=[np.zeros(point.count, np.bool_), x],
        exact={0: np.ones(point.count, np.bool_)},
        constants={"B": point.count},
    )


def _passed_on(point: Point) -> Trial:
    x = point.rng.integers(0, 100, point.count).astype(np.int32)
    out, box = np.full(point.count, 77, np.int32), np.zeros(point.count, np.int32)
    one = np.zeros(1, np.int32)
    return Trial(
        arguments=[out, one, one.copy(), box, x],
        exact={0: 2 * x + 1, 1: one + 2, 2: one + 1, 3: 2 * x},
        constants={"B": point.count},
        grid=(2,),
    )


# --- random numbers -----------------------------------------------------------------------------------------


def _random(rows: Callable[[Array], list[Any]], dtype: Any) -> Callable[[Point], Trial]:
    def make(point: Point) -> Trial:
        out, exact = _rows(rows(words(point.count, _KEY)), dtype)
        return Trial(arguments=[out, _SEED], exact={0: exact}, constants={"N": point.count})

    return make


def _words(made: Array) -> list[Any]:
    e, f, g, h = words(made.shape[1], _KEY, 7)
    p, q, _, _ = words(made.shape[1], (5, 5))
    return [row.view(np.int32) for row in (*made, e ^ f, g ^ h, p ^ q)]


def _uniforms(made: Array) -> list[Any]:
    floats = [uniforms_of(row) for row in made]
    return [floats[0], *floats, floats[0]]


def _normals(made: Array) -> list[Any]:
    a, b, c, d = (uniforms_of(row) for row in made)
    first, second = normals_of(a, b), normals_of(c, d)
    return [first[0], *first, *second, *first]


def _random_wide(point: Point) -> Trial:
    """Offsets of every size: of those of 64 bits the high half counts too."""
    offsets = mixture(point.rng, point.dtype, point.count)
    numbers = [int(offset) % 2 ** (8 * offsets.itemsize) for offset in offsets]
    made = np.array([words_of(n & 0xFFFFFFFF, n >> 32, _KEY) for n in numbers], np.uint32)
    out, exact = _rows(list(made.view(np.int32).T), np.int32)
    floats, numbers_exact = _rows([*_uniforms(made.T.copy())[:5], *_normals(made.T.copy())[:5]], np.float32)
    return Trial(
        arguments=[out, floats, offsets, _SEED],
        exact={0: exact, 1: numbers_exact},
        constants={"N": point.count},
    )


def _random_of_64_bits(point: Point) -> Trial:
    counters = mixture(point.rng, point.dtype, point.count)
    made = np.array([words_of(int(c), 0, (_SEED, 0), bits=64) for c in counters], np.uint64)
    low = (made[:, 0] ^ made[:, 1] ^ made[:, 2] ^ made[:, 3]).view(np.int64)
    size = np.where(low < 0, ~low, low).astype(np.float32) * np.float32(2.0**-63)
    return Trial(
        arguments=[np.zeros(4 * point.count, np.uint64), np.zeros(point.count, np.float32), counters, _SEED],
        exact={0: made.T.ravel(), 1: size},
        constants={"N": point.count},
    )


# --- the table ----------------------------------------------------------------------------------------------


def _row(
    name: str,
    kernel: Any,
    make: Callable[[Point], Trial],
    dtypes: tuple[str, ...] = ("int32",),
    shapes: tuple[tuple[int, ...], ...] = ((64,), (256,)),
    contract: Contract | None = None,
    **more: Any,
) -> Feature:
    return Feature(
        name=name,
        kernel=kernel,
        make=make,
        dtypes=dtypes,
        shapes=shapes,
        contract=contract or Exact(),
        **more,
    )


def _features() -> Iterator[Feature]:
    yield _row("methods-mathematics", k.mathematics, _mathematics, ("fp32",), contract=Ulp(16))
    yield _row("math-functions", k.functions, _functions, ("fp32",), contract=Ulp(16))
    yield _row(
        "softmax",
        k.softmaxes,
        _softmaxes,
        ("fp32", "fp64"),
        ((8, 16),),
        Ulp(16),
        contracts={"fp32": Close(5e-6)},
    )
    yield _row("operators-reflected", k.reflected, _reflected)
    yield _row("methods-reductions", k.reduced, _reduced, shapes=((8, 16), (16, 32)))
    yield _row("methods-shapes", k.shaped, _shaped, shapes=((8, 16), (32, 8)))
    yield _row("swizzle2d", k.places, _places, ("int32", "int64", "uint32", "uint64"), ((8, 16),))
    yield _row("types-in-kernels", k.typed, _typed, also=("fp16", "bf16", "fp64"))
    for count, down in ((1, True), (4, True), (8, False), (64, True)):
        name = f"topk-{count}{'' if down else '-smallest'}"
        yield _row(name, k.ordered, _best(count, down), ("int32", "uint32", "fp32"), ((4, 64),))
    for down in (False, True):
        name = f"bitonic_merge{'-descending' if down else ''}"
        yield _row(name, k.merged, _merged(down), ("int32", "fp32"), ((8, 32),))
    yield _row("histogram-masked", k.counted, _counted, shapes=((64,), (1024,)))
    yield _row("methods-atomics", k.atomics, _atomics, shapes=((16,), (128,)))
    for load, store in (("acquire", "release"), ("relaxed", "relaxed")):
        types = ("int1", *INTEGERS, *FLOATS, *FP8) if load == "acquire" else ("uint32",)
        yield _row(
            f"atomic_load-store-{load}", k.atomic_memory, _atomic_memory(load, store), types, ((300,),)
        )
    yield _row(
        "atomic_poll",
        k.polled,
        _polled,
        ("int16", "uint16", "int32", "int64", "uint32", "uint64"),
        ((16,), (128,)),
    )
    yield _row("atomic_poll-at-once", k.polled_at_once, _polled_at_once, ("int32", "int64"), ((64,),))
    yield _row("message-between-programs", k.passed_on, _passed_on, shapes=((64,),))
    yield _row("random-words", k.random_words, _random(_words, np.int32))
    yield _row("random-uniform", k.random_floats, _random(_uniforms, np.float32), contract=Close(1e-6))
    yield _row("random-normal", k.random_normals, _random(_normals, np.float32), contract=Close(1e-4, 2e-6))
    wide = ("int32", "uint32", "int64", "uint64")
    yield _row(
        "random-of-wide-offsets", k.random_wide, _random_wide, wide, ((64,),), contract=Close(1e-4, 2e-6)
    )
    yield _row(
        "random-words-of-64-bits",
        k.random_of_64_bits,
        _random_of_64_bits,
        ("uint64",),
        ((64,),),
        contract=Close(1e-6),
    )


FEATURES = tuple(_features())
