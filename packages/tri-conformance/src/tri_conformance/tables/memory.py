"""Memory, atomics, control flow, random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tri_conformance.dtypes import FP8, INTEGERS, Array, integers, is_float, normals
from tri_conformance.features import Feature, Point, Trial
from tri_conformance.kernels import memory as k

__all__ = ["FEATURES", "anything", "full"]

BLOCK = 256
_ALL = ("int1", *INTEGERS, "fp16", "bf16", "fp32", "fp64")


def full(count: int, kind: Any, value: int = 77) -> Array:
    """``count`` elements of ``value``, which no kernel writes."""
    return np.full(count, value).astype(kind)


def anything(point: Point, count: int) -> Array:
    """``count`` numbers of the point's type; fp8 without NaN."""
    if point.dtype in FP8:
        return point.rng.integers(0, 0x70, count).astype(np.uint8).view(point.numpy)
    return normals(point.rng, point.dtype, count)


def _copied(point: Point) -> Trial:
    n, m = point.count - 13, point.count - 5
    x = anything(point, point.count)
    exact = full(point.count, point.numpy)
    exact[:n], exact[n:m] = x[:n], np.array(1).astype(point.numpy)
    constants = {"OTHER": 1, "B": BLOCK}
    return Trial(
        arguments=[full(point.count, point.numpy), x, n, m],
        exact={0: exact},
        constants=constants,
        grid=(-(-point.count // BLOCK),),
    )


def _strided(step: int) -> Callable[[Point], Trial]:
    def make(point: Point) -> Trial:
        n = point.count - 3
        x = anything(point, point.count * step)
        exact = full(point.count, point.numpy)
        exact[:n] = x[: n * step : step]
        constants = {"STEP": step, "B": BLOCK}
        return Trial(
            arguments=[full(point.count, point.numpy), x, n],
            exact={0: exact},
            constants=constants,
            grid=(-(-point.count // BLOCK),),
        )

    return make


def _scattered(point: Point) -> Trial:
    x, index = anything(point, point.count), point.rng.permutation(point.count).astype(np.int32)
    return Trial(
        arguments=[full(point.count, point.numpy), x, index],
        exact={0: x[index]},
        constants={"B": point.count},
    )


def _transposed(point: Point) -> Trial:
    m, n = point.shape
    x = anything(point, m * n)
    exact = np.ascontiguousarray(x.reshape(m, n).T).ravel()
    return Trial(arguments=[full(m * n, point.numpy), x], exact={0: exact}, constants={"M": m, "N": n})


def _tiled(point: Point) -> Trial:
    m, n = point.shape
    rows, columns = 2 * m - 3, 2 * n - 1
    x = anything(point, rows * columns)
    constants = {"M": m, "N": n}
    return Trial(
        arguments=[full(rows * columns, point.numpy), x, rows, columns],
        exact={0: x},
        constants=constants,
        grid=(2, 2),
    )


def _described(point: Point) -> Trial:
    m, n = point.shape
    rows, columns = 2 * m - 3, 2 * n - 16  # rows start at multiples of 16 bytes
    x = anything(point, rows * columns)
    constants = {"M": m, "N": n}
    arguments = [full(rows * columns, point.numpy), x, rows, columns]
    return Trial(arguments=arguments, exact={0: x}, constants=constants, grid=(2, 2))


# --- atomics --------------------------------------------------------------------------------------------

_UPDATES: dict[str, Callable[..., Any]] = {
    "add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "xchg": lambda old, new: new,
}  # fmt: skip


def _updated(kind: str, alone: bool) -> Callable[[Point], Trial]:
    """Atomic updates of places of one's own (what was there comes back), or of places shared by eight elements."""

    def make(point: Point) -> Trial:
        count = point.count
        places = count if alone else count // 8
        index = point.rng.permutation(count).astype(np.int32) % places
        whole = kind == "add" or is_float(point.dtype)
        draw = (
            (lambda n: point.rng.integers(0, 9, n).astype(point.numpy))
            if whole
            else (lambda n: integers(point.rng, point.dtype, n))
        )
        out, x = draw(places), draw(count)
        exact, old = out.copy(), full(count, point.numpy)
        for i in range(count):
            if i % 5 != 3:
                old[i] = exact[index[i]]
                exact[index[i]] = _UPDATES[kind](exact[index[i]], x[i])
        # the order of updates of one place is free, so what comes back from it is not compared
        checked = {0: exact, 1: old} if alone else {0: exact}
        constants = {"KIND": kind, "B": count}
        return Trial(arguments=[out, full(count, point.numpy), x, index], exact=checked, constants=constants)

    return make


def _exchanged(point: Point) -> Trial:
    x = point.rng.integers(0, 1000, point.count).astype(point.numpy)
    hit = point.rng.random(point.count) < 0.5
    out = np.where(hit, x, x + x.dtype.type(5)).astype(point.numpy)
    exact = np.where(hit, x + x.dtype.type(1), out).astype(point.numpy)
    return Trial(
        arguments=[out, full(point.count, point.numpy), x],
        exact={0: exact, 1: out.copy()},
        constants={"B": point.count},
    )


def _atomics() -> Iterator[Feature]:
    bits = ("int32", "uint32", "int64", "uint64")
    wide = (*bits, "fp32", "fp64")
    types = {"add": (*bits, "fp16", "bf16", "fp32", "fp64"), "max": wide, "min": wide, "xchg": wide}
    for kind in _UPDATES:
        yield Feature(
            name=f"atomic_{kind}",
            kernel=k.update,
            make=_updated(kind, alone=True),
            dtypes=types.get(kind, bits),
            shapes=((128,), (16,)),
        )
    for kind in ("add", "max", "xor"):
        yield Feature(
            name=f"atomic_{kind}-shared", kernel=k.update, make=_updated(kind, alone=False), scratch=(1,), dtypes=("int32", "fp32") if kind != "xor" else ("int32",),
            shapes=((256,),),
        )  # fmt: skip
    yield Feature(
        name="atomic_cas",
        kernel=k.exchange,
        make=_exchanged,
        dtypes=("int16", "uint16", *bits, "fp16", "bf16", "fp32", "fp64"),
        shapes=((128,), (16,)),
    )


# --- control flow ---------------------------------------------------------------------------------------


def _collatz(start: int) -> int:
    count, value = 0, start
    while value != 1:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        count += 1
    return count


def _steps(point: Point) -> Trial:
    programs, block = 12, point.count
    counts = np.array([_collatz(p + 1) for p in range(programs)], np.int32)
    totals = np.array([sum(range(0, c, 2)) for c in counts], np.int32) + counts
    exact = full(programs * block, np.int32)
    exact[: (programs - 2) * block] = np.repeat(totals, block)[: (programs - 2) * block]
    return Trial(
        arguments=[full(programs * block, np.int32), programs - 2],
        exact={0: exact},
        constants={"B": block},
        grid=(programs,),
    )


def _carried(point: Point) -> Trial:
    m, n = point.shape
    x = point.rng.integers(-3, 4, m * n).astype(point.numpy)
    value, total = x.reshape(m, n).astype(np.int64), np.zeros((m, n), np.int64)
    for step in range(5):
        row = value.sum(1, keepdims=True)
        value = np.where(value > step, value - 1, value + 1)
        total += value + row
    return Trial(
        arguments=[full(m * n, point.numpy), x, 5], exact={0: total.ravel()}, constants={"M": m, "N": n}
    )


def _philox(counter: int, seed: int) -> int:
    """The first word of Philox4x32-10, by its definition."""
    c, key = [counter, 0, 0, 0], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [q >> 32 ^ c[1] ^ key[0], q & 0xFFFFFFFF, p >> 32 ^ c[3] ^ key[1], p & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[0]


def _random(point: Point) -> Trial:
    seed = 0x1234567890ABCDE
    exact = np.array([_philox(i, seed) for i in range(point.count)], np.uint32).view(np.int32)
    return Trial(
        arguments=[full(point.count, np.int32), seed], exact={0: exact}, constants={"B": point.count}
    )


def _features() -> Iterator[Feature]:
    yield Feature(
        name="load-store", kernel=k.copy, make=_copied, dtypes=(*_ALL, *FP8), shapes=((1000,), (37,))
    )
    for step in (2, 3):
        yield Feature(
            name=f"load-step{step}",
            kernel=k.strided,
            make=_strided(step),
            dtypes=("int8", "int32", "fp16", "fp32", "fp64"),
            shapes=((1000,),),
        )
    yield Feature(
        name="scatter",
        kernel=k.scattered,
        make=_scattered,
        dtypes=("int8", "int32", "fp16", "fp64"),
        shapes=((512,),),
    )
    yield Feature(
        name="transpose", kernel=k.transposed, make=_transposed, dtypes=("int8", "int16", "int32", "int64", "fp16", "fp32"),
        shapes=((16, 16), (64, 32), (32, 64)),
    )  # fmt: skip
    yield Feature(
        name="tile",
        kernel=k.tile,
        make=_tiled,
        dtypes=("int8", "fp16", "fp32", "fp64"),
        shapes=((16, 32), (32, 8)),
    )
    for name, kernel in (("descriptor", k.described), ("block-pointer", k.blocked)):
        yield Feature(
            name=name,
            kernel=kernel,
            make=_described,
            dtypes=("int8", "int32", "fp16", "bf16", "fp32"),
            shapes=((16, 32), (32, 64)),
        )
    yield from _atomics()
    yield Feature(
        name="while-and-branch", kernel=k.steps, make=_steps, dtypes=("int32",), shapes=((64,), (256,))
    )
    yield Feature(
        name="carried-blocks",
        kernel=k.carried,
        make=_carried,
        dtypes=("int32", "fp32"),
        shapes=((8, 16), (32, 32)),
    )
    yield Feature(name="random", kernel=k.random, make=_random, dtypes=("int32",), shapes=((256,),))


FEATURES = tuple(_features())
