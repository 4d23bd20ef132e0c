"""One op at a time over types, shapes and numbers of warps, on every simulated target and on devices.

A few of each are run every time; ``-m slow`` runs all, on devices more.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from integration.kernels import sweep
from integration.tests.machines import SIMULATED, execute

Array = npt.NDArray[Any]

BF16 = np.dtype(ml_dtypes.bfloat16)
INTEGERS = [np.dtype(t) for t in ("i1", "i2", "i4", "i8", "u1", "u4")]
FLOATS = [np.dtype(t) for t in ("f2", "f4", "f8")] + [BF16]
SHAPES: list[tuple[int, ...]] = [
    (1,),
    (2,),
    (16,),
    (256,),
    (2048,),
    (1, 64),
    (64, 1),
    (8, 16),
    (64, 32),
    (2, 4, 8),
    (16, 1, 8),
    (4, 2, 4, 2),
    (2, 2, 4, 2, 8),
]
WARPS = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Case:
    """A kernel, how many arrays it writes, its arguments, constants, and what it should give."""

    name: str
    kernel: Any
    make: Callable[[np.random.Generator], tuple[Sequence[Any], Sequence[Array]]]
    constants: Mapping[str, Any]
    warps: int
    tolerance: float = 0.0


def numbers(rng: np.random.Generator, count: int, dtype: Any, high: int = 100) -> Array:
    """Whole numbers below ``high``, which every float type adds exactly while sums are small."""
    low = 0 if np.dtype(dtype).kind == "u" else -high
    return rng.integers(low, high, count).astype(dtype)


def _axes(shape: tuple[int, ...]) -> range:
    return range(len(shape))


def _count(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape))


def reductions() -> Iterator[Case]:
    kinds: dict[str, Any] = {
        "sum": np.sum,
        "max": np.max,
        "argmax": np.argmax,
        "pair": np.max,
        "moments": np.var,
    }
    for kind, shape, dtype, warps in itertools.product(kinds, SHAPES, [*INTEGERS, *FLOATS], WARPS):
        if kind == "moments" and dtype != np.float32:
            continue
        for axis in _axes(shape):
            count = _count(shape)
            constants = {
                "SHAPE": shape, "N": count, "AXIS": axis, "OUT": count // shape[axis], "KIND": kind
            }  # fmt: skip

            def make(rng, kind=kind, shape=shape, dtype=dtype, axis=axis):  # type: ignore[no-untyped-def]
                x = numbers(rng, _count(shape), dtype, 4)
                wide = x.reshape(shape).astype(np.float64 if x.dtype.kind not in "iu" else np.int64)
                if kind == "moments":
                    exact = ((wide - wide.mean(axis, keepdims=True)) ** 2).sum(axis)
                else:
                    exact = kinds[kind](wide, axis)
                made = np.dtype(np.int32) if kind == "argmax" else x.dtype
                return [np.zeros(max(exact.size, 1), made), x], [exact.astype(made).reshape(-1)]

            yield Case(
                f"{kind}-{shape}-{dtype}-{axis}",
                sweep.reduce_any,
                make,
                constants,
                warps,
                1e-5 * (kind == "moments"),
            )


def scans() -> Iterator[Case]:
    for kind, shape, dtype, warps, reverse in itertools.product(
        ("sum", "first"), SHAPES, [*INTEGERS, *FLOATS], WARPS, (False, True)
    ):
        for axis in _axes(shape):
            constants = {"SHAPE": shape, "N": _count(shape), "AXIS": axis, "REVERSE": reverse, "KIND": kind}

            def make(rng, kind=kind, shape=shape, dtype=dtype, axis=axis, reverse=reverse):  # type: ignore[no-untyped-def]
                # sums of at most 2048 of these are exact in every type but bf16, where they are small
                x = (numbers(rng, _count(shape), np.int64, 2) * (rng.random(_count(shape)) < 0.1)).astype(
                    dtype
                )
                wide = x.reshape(shape).astype(np.int64)
                transposed = np.flip(wide, axis) if reverse else wide
                if kind == "sum":
                    transposed = transposed.cumsum(axis)
                else:
                    transposed = np.broadcast_to(transposed.take([0], axis), shape)
                exact = np.flip(transposed, axis) if reverse else transposed
                return [np.zeros_like(x), x], [exact.astype(x.dtype).reshape(-1)]

            yield Case(f"{kind}-{shape}-{dtype}-{axis}-{reverse}", sweep.scan_any, make, constants, warps)


def gathers() -> Iterator[Case]:
    for shape, dtype, warps, narrow in itertools.product(SHAPES, [*INTEGERS, *FLOATS], WARPS, (1, 2)):
        for axis in _axes(shape):
            pick = tuple(n * narrow if d == axis else n for d, n in enumerate(shape))
            constants = {"SHAPE": shape, "N": _count(shape), "PICK": pick, "M": _count(pick), "AXIS": axis}

            def make(rng, shape=shape, pick=pick, dtype=dtype, axis=axis):  # type: ignore[no-untyped-def]
                x = numbers(rng, _count(shape), dtype)
                index = rng.integers(0, shape[axis], pick).astype(np.int32)
                exact = np.take_along_axis(x.reshape(shape), index, axis)
                return [np.zeros(exact.size, dtype), x, index.reshape(-1)], [exact.reshape(-1)]

            yield Case(f"{shape}-{dtype}-{axis}-{narrow}", sweep.gather_any, make, constants, warps)


def histograms() -> Iterator[Case]:
    for count, bins, warps, masked, dtype in itertools.product(
        (1, 16, 256, 2048),
        (2, 16, 512),
        WARPS,
        (False, True),
        [np.dtype("i4"), np.dtype("i8"), np.dtype("u1"), np.dtype("i1"), np.dtype("i2")],
    ):

        def make(rng, count=count, bins=bins, masked=masked, dtype=dtype):  # type: ignore[no-untyped-def]
            x = rng.integers(0, min(bins, 128 * dtype.itemsize), count).astype(dtype)
            if dtype.kind == "i":  # no bin of their own, whatever they are without a sign
                x[rng.integers(0, count, count // 8)] = rng.choice([-1, np.iinfo(dtype).min, -3])
            kept = x[(x >= 0) & (x % 3 != 1 if masked else True)]
            exact = np.bincount(kept, minlength=bins)
            return [np.full(bins, -1, np.int32), x], [exact.astype(np.int32)]

        yield Case(
            f"{count}-{bins}-{masked}-{dtype}",
            sweep.histogram_any,
            make,
            {"N": count, "BINS": bins, "MASKED": masked},
            warps,
        )


def shapes() -> Iterator[Case]:
    for shape, dtype, warps in itertools.product(SHAPES, [*INTEGERS, *FLOATS], WARPS):
        for order in list(itertools.permutations(range(len(shape))))[::7]:

            def make(rng, shape=shape, dtype=dtype, order=order):  # type: ignore[no-untyped-def]
                x = numbers(rng, _count(shape), dtype, 10)
                exact = x.reshape(shape).transpose(order).reshape(-1)
                return [np.zeros_like(x), x], [exact + exact + exact]

            yield Case(
                f"{shape}-{dtype}-{order}",
                sweep.shapes_any,
                make,
                {"SHAPE": shape, "N": _count(shape), "ORDER": order},
                warps,
            )


def orders() -> Iterator[Case]:
    for shape, dtype, warps in itertools.product(SHAPES, [*INTEGERS, *FLOATS], WARPS):
        if _count(shape) > 512:
            continue
        constants = {"SHAPE": shape, "N": _count(shape)}

        def make(rng, shape=shape, dtype=dtype):  # type: ignore[no-untyped-def]
            x = numbers(rng, _count(shape), dtype)
            return [np.zeros_like(x), x], [np.sort(x.reshape(shape), -1)[..., ::-1].reshape(-1)]

        yield Case(f"sort-{shape}-{dtype}", sweep.sort_any, make, {**constants, "DESCENDING": True}, warps)
        for axis in _axes(shape):

            def flipped(rng, shape=shape, dtype=dtype, axis=axis):  # type: ignore[no-untyped-def]
                x = numbers(rng, _count(shape), dtype)
                return [np.zeros_like(x), x], [np.flip(x.reshape(shape), axis).reshape(-1)]

            yield Case(
                f"flip-{shape}-{dtype}-{axis}", sweep.flip_any, flipped, {**constants, "AXIS": axis}, warps
            )


def joined() -> Iterator[Case]:
    for count, dtype, warps in itertools.product((1, 2, 32, 512), [*INTEGERS, *FLOATS], WARPS):

        def make(rng, count=count, dtype=dtype):  # type: ignore[no-untyped-def]
            x = numbers(rng, count, dtype, 20)
            return [np.zeros(2 * count, dtype), x], [np.sort(np.concatenate([x, x + x]))]

        yield Case(f"{count}-{dtype}", sweep.cat_any, make, {"N": count}, warps)


def mapped() -> Iterator[Case]:
    for shape, dtype, warps, pack in itertools.product(SHAPES, [*INTEGERS, *FLOATS], WARPS, (1, 2)):
        if _count(shape) < pack or dtype.kind == "u":
            continue

        def make(rng, shape=shape, dtype=dtype, pack=pack):  # type: ignore[no-untyped-def]
            x = numbers(rng, _count(shape), dtype, 50)
            exact = (
                np.where(x > 0, x + x, x - np.ones((), dtype)) if pack == 1 else np.sort(x.reshape(-1, 2), 1)
            )
            return [np.zeros_like(x), x], [exact.reshape(-1).astype(dtype)]

        yield Case(
            f"{shape}-{dtype}-{pack}",
            sweep.map_any,
            make,
            {"SHAPE": shape, "N": _count(shape), "PACK": pack},
            warps,
        )


_MATMULS = [("f2", "f4"), ("f2", "f2"), ("f4", "f4"), ("f8", "f8"), ("i1", "i4"), (BF16, "f4"), (np.dtype(ml_dtypes.float8_e5m2), "f4"), (np.dtype(ml_dtypes.float8_e4m3fn), "f4")]  # fmt: skip
_SIZES = [(1, 16, 16, 16), (1, 64, 64, 32), (1, 128, 32, 64), (1, 16, 128, 256), (2, 16, 16, 32), (4, 32, 16, 64), (1, 128, 128, 32)]  # fmt: skip


def matmuls() -> Iterator[Case]:
    for (batch, m, n, k), (element, result), warps, how in itertools.product(
        _SIZES, _MATMULS, WARPS, ("ieee", "tf32", "tf32x3")
    ):
        if how != "ieee" and (element, result) != ("f4", "f4"):
            continue

        def make(rng, size=(batch, m, n, k), element=element, result=result):  # type: ignore[no-untyped-def]
            batch, m, n, k = size
            # small whole numbers: exact whatever the order
            a, b = (numbers(rng, batch * s, np.int64, 4).astype(element) for s in (m * k, k * n))
            c = numbers(rng, batch * m * n, np.int64, 9).astype(result)
            left, right = a.reshape(batch, m, k), b.reshape(batch, k, n)
            exact = left.astype(np.float64) @ right.astype(np.float64) + c.reshape(batch, m, n).astype(
                np.float64
            )
            return [np.zeros_like(c), a, b, c], [exact.reshape(-1).astype(result)]

        constants = {"BATCH": batch, "M": m, "N": n, "K": k, "HOW": how}
        yield Case(f"{batch, m, n, k}-{element}-{result}-{how}", sweep.dot_any, make, constants, warps)


_ATOMICS = {
    "add": (np.add, ("i4", "u4", "i8", "f2", "f4", "f8", BF16)),
    "max": (np.maximum, ("i4", "u4", "i8", "u8", "f4", "f8")),
    "min": (np.minimum, ("i4", "u4", "i8", "u8", "f4", "f8")),
    "and": (np.bitwise_and, ("i4", "i8")),
    "or": (np.bitwise_or, ("i4", "i8")),
    "xor": (np.bitwise_xor, ("i4", "u8")),
    "xchg": (None, ("i4", "i8", "f4", "f8")),
}


def atomics() -> Iterator[Case]:
    for kind, (function, dtypes) in _ATOMICS.items():
        for dtype, count, warps, sem, scope in itertools.product(
            map(np.dtype, dtypes),
            (2, 16, 256),
            WARPS,
            ("acq_rel", "relaxed", "acquire", "release"),
            ("gpu", "cta", "sys"),
        ):

            def make(rng, dtype=dtype, count=count, function=function):  # type: ignore[no-untyped-def]
                places = max(count // 8, 2) if function is not None else count
                start, x = numbers(rng, places, dtype, 8), numbers(rng, count, dtype, 8)
                index = (
                    rng.integers(0, places, count) if function is not None else rng.permutation(count)
                ).astype(np.int32)
                active = np.arange(count) % 5 != 3
                exact = start.copy()
                old = np.zeros(count, dtype)
                for i in np.flatnonzero(active):
                    old[i] = exact[index[i]]
                    exact[index[i]] = x[i] if function is None else function(exact[index[i]], x[i])
                # what was there before is told for sure only where nobody else writes
                return [start, np.zeros(count, dtype), x, index], [
                    exact,
                    *([old] if function is None else []),
                ]

            constants = {"N": count, "KIND": kind, "SEM": sem, "SCOPE": scope}
            yield Case(f"{kind}-{dtype}-{count}-{sem}-{scope}", sweep.atomic_any, make, constants, warps)


def swaps() -> Iterator[Case]:
    for dtype, count, warps in itertools.product(
        map(np.dtype, ("i2", "i4", "i8", "u4")), (2, 16, 256), WARPS
    ):

        def make(rng, dtype=dtype, count=count):  # type: ignore[no-untyped-def]
            x = numbers(rng, count, dtype, 8)
            start = np.where(rng.random(count) < 0.5, x, x + 1).astype(dtype)
            exact = np.where(start == x, x + x, start).astype(dtype)
            exact[0] = x[0]
            return [start, np.zeros(count, dtype), x], [exact, start.copy()]

        yield Case(f"{dtype}-{count}", sweep.swap_any, make, {"N": count}, warps)


def polls() -> Iterator[Case]:
    for dtype, count, warps, timed in itertools.product(
        map(np.dtype, ("i4", "i8", "i2")), (2, 16, 256), WARPS, (False, True)
    ):

        def make(rng, dtype=dtype, count=count, timed=timed):  # type: ignore[no-untyped-def]
            x = numbers(rng, count, dtype, 8)
            # without a time limit there is nothing to wait for in vain
            flag = np.where(rng.random(count) < 0.5, x, x + timed).astype(dtype)
            return [np.zeros(count, np.int64), flag, x], [(flag == x).astype(np.int64) + flag, x + 1]

        name = f"{'timed' if timed else 'plain'}-{dtype}-{count}"
        yield Case(name, sweep.order_any, make, {"N": count, "TIMED": timed}, warps)


def casts() -> Iterator[Case]:
    types = [*INTEGERS, *FLOATS, np.dtype(ml_dtypes.float8_e5m2), np.dtype(ml_dtypes.float8_e4m3fn)]
    for source, target, warps in itertools.product(types, types, WARPS):
        small = {source, target} & set(types[-2:])
        if small and (source.kind in "iu" or target.kind in "iu"):
            continue

        def make(rng, source=source, target=target):  # type: ignore[no-untyped-def]
            whole = source.kind in "iu" or target.kind in "iu"
            raw = numbers(rng, 256, np.int64, 60) if whole else rng.standard_normal(256) * 30
            x = np.abs(raw).astype(source)
            # NumPy rounds to nearest even, by way of wider types where it must
            exact = (
                x.astype(np.float64).astype(np.float32).astype(target)
                if target.kind == "V"
                else x.astype(target)
            )
            return [np.zeros(256, target), x], [exact]

        yield Case(f"{source}-{target}", sweep.cast_any, make, {"N": 256}, warps)


def controls() -> Iterator[Case]:
    for shape, n, warps in itertools.product([(4, 8), (16, 2), (1, 32), (32, 1)], (1, 5), WARPS):

        def make(rng, shape=shape, n=n):  # type: ignore[no-untyped-def]
            x = numbers(rng, _count(shape), np.int32, 5)
            value, total = x.reshape(shape).astype(np.int64), np.zeros(shape, np.int64)
            for i in range(n):
                row = value.sum(1)
                best = row.max()
                best = best if best <= 4 else best - 3 * -(-(best - 4) // 3)
                value = (value * 2 if i > 3 else value + 1) - row[:, None] + best
                total = total + value
            return [np.zeros_like(x), x, n], [total.astype(np.int32).reshape(-1)]

        yield Case(f"{shape}-{n}", sweep.control_any, make, {"SHAPE": shape, "N": _count(shape)}, warps)


def columns() -> Iterator[Case]:
    for (m, n), dtype, first, warps in itertools.product(
        [(32, 64), (16, 16), (64, 1), (128, 8)], map(np.dtype, ["i1", "f2", "f4", "f8"]), (0, 1, 3), WARPS
    ):

        def make(rng, m=m, n=n, dtype=dtype, first=first):  # type: ignore[no-untyped-def]
            x = numbers(rng, m * n + first, dtype)
            return [np.zeros(m * n, dtype), x, first], [x[first:].reshape(n, m).T.reshape(-1)]

        yield Case(f"{m, n}-{dtype}-{first}", sweep.transposed_any, make, {"M": m, "N": n}, warps)


FAMILIES = [
    reductions, scans, gathers, histograms, shapes, orders, joined, mapped, matmuls, atomics, swaps, polls, casts,
    controls, columns,
]  # fmt: skip
MACHINES = [*SIMULATED, "intel"]


def check(case: Case, machine: str) -> None:
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    arguments, expected = case.make(rng)
    execute(machine, case.kernel, (1, 1, 1), arguments, case.constants, num_warps=case.warps)
    for made, exact in zip(arguments, expected, strict=False):
        np.testing.assert_allclose(
            made.astype(np.float64),
            exact.astype(np.float64),
            rtol=case.tolerance,
            err_msg=f"{case.name} {case.warps}",
        )


def _chosen(family: Callable[[], Iterator[Case]], machine: str, count: int) -> list[Case]:
    """``count`` of all cases, others for each machine, the same each time."""
    cases = list(family())
    rng = np.random.default_rng(zlib.crc32(f"{family.__name__} {machine}".encode()))
    return [cases[i] for i in rng.permutation(len(cases))[:count]]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_some(family: Callable[[], Iterator[Case]], machine: str) -> None:
    # a device's own compiler takes its time
    for case in _chosen(family, machine, 6 if machine in SIMULATED else 2):
        check(case, machine)


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_all(family: Callable[[], Iterator[Case]], machine: str) -> None:
    cases = list(family()) if machine in SIMULATED else _chosen(family, machine, 60)
    failed = []
    for case in cases:
        try:
            check(case, machine)
        except Exception as error:
            failed.append(f"{case.name} with {case.warps} warps: {type(error).__name__}: {str(error)[:300]}")
    assert not failed, f"{len(failed)} of {len(cases)}:\n" + "\n".join(failed[:20])
