"""Floats of eight bits: every number of each type, rounding to them, saturation; rounding toward zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from tri_conformance.contracts import Close, Exact
from tri_conformance.dtypes import FP8, NUMPY, Array
from tri_conformance.features import Feature, Point, Trial
from tri_conformance.kernels import blocks
from tri_conformance.kernels import elements as k

__all__ = ["FEATURES"]

BLOCK = 256


def _cast(out: Array, x: Array, exact: Array, rounding: str | None = None) -> Trial:
    return Trial(
        arguments=[out, x, x.size],
        exact={0: exact},
        constants={"ROUNDING": rounding, "B": BLOCK},
        grid=(-(-x.size // BLOCK),),
    )


def _every_number(target: str) -> Callable[[Point], Trial]:
    """All 256 bytes, NaN and infinities among them, in any order."""

    def make(point: Point) -> Trial:
        x = point.rng.permutation(256).astype(np.uint8).view(point.numpy)
        out = np.full(x.size, 77).astype(NUMPY[target])
        return _cast(out, x, x.astype(np.float64))

    return make


def _largest(dtype: np.dtype[Any]) -> float:
    finfo: Any = ml_dtypes.finfo
    return float(finfo(dtype).max)


def _widely(point: Point, target: np.dtype[Any]) -> Array:
    """Numbers of every size from below the smallest to above the largest of ``target``; halfway ones too."""
    rng, top = point.rng, np.log2(_largest(target))
    x = rng.choice([-1, 1], point.count) * 2.0 ** rng.uniform(-top - 8, top + 1, point.count)
    bits = rng.integers(1, 0x78, point.count // 4).astype(np.uint8)
    low, high = (b.view(target).astype(np.float64) for b in (bits, bits + np.uint8(1)))
    x[: low.size] = np.where(np.isfinite(low) & np.isfinite(high), (low + high) / 2, 1)
    with np.errstate(over="ignore"):  # to infinity, which saturates too
        return x.astype(point.numpy)


def _saturated(x: Array, target: np.dtype[Any]) -> Array:
    """To nearest even; what is larger than all is the largest."""
    wide = x.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        made = np.clip(wide, -_largest(target), _largest(target)).astype(target)
    return made.astype(np.float64)


def _rounded(target: str, point: Point) -> Trial:
    x = _widely(point, NUMPY[target])
    return _cast(np.full(x.size, 1).astype(NUMPY[target]), x, _saturated(x, NUMPY[target]))


def _toward_zero(target: str, point: Point) -> Trial:
    """The nearest, or its neighbour toward 0 where that is further out."""
    x = point.rng.standard_normal(point.count).astype(point.numpy)
    kind = NUMPY[target]
    near = x.astype(kind)
    wide = np.abs(near.astype(np.float64)) > np.abs(x.astype(np.float64))
    exact = (near.view(f"u{kind.itemsize}") - wide.astype(f"u{kind.itemsize}")).view(kind)
    return _cast(np.full(x.size, 1).astype(kind), x, exact.astype(np.float64), "rtz")


def _e4b15(point: Point) -> Trial:
    """The bits of an fp16 below 2 without the lowest seven: ties away from 0, at most 1.75."""
    x = point.rng.uniform(-2.5, 2.5, point.count).astype(np.float16)
    patterns = np.arange(127, dtype=np.uint16) << 7
    table = patterns.view(np.float16).astype(np.float64)
    size = np.minimum(np.abs(x.astype(np.float64)), table[-1])
    low = np.searchsorted(table, size, side="right") - 1
    high = np.minimum(low + 1, len(table) - 1)
    up = table[high] - size <= size - table[low]
    exact = np.copysign(np.where(up, table[high], table[low]), x)
    return Trial(
        arguments=[np.full(point.count, 77, np.float16), x], exact={0: exact}, constants={"N": point.count}
    )


def _matmul(point: Point) -> Trial:
    m, n, depth = point.shape
    a, b = (point.rng.standard_normal(s).astype(point.numpy) for s in (m * depth, depth * n))
    c = point.rng.integers(-4, 5, m * n).astype(np.float32)
    wide_a, wide_b = (x.astype(np.float64) for x in (a, b))
    exact = wide_a.reshape(m, depth) @ wide_b.reshape(depth, n) + c.reshape(m, n)
    constants = {"M": m, "N": n, "K": depth, "HOW": "ieee"}
    return Trial(
        arguments=[np.full(m * n, 77, np.float32), a, b, c],
        exact={0: exact.ravel()},
        constants=constants,
    )


def _features() -> Iterator[Feature]:
    for target in ("fp32", "fp16", "bf16", "fp64"):
        # an fp16 holds no more than 65504; it and a bf16 hold the numbers of all types here
        yield Feature(
            name=f"every-fp8-to-{target}", kernel=k.cast, make=_every_number(target), dtypes=FP8, shapes=((256,),), also=(target,),
        )  # fmt: skip
    for target in FP8:
        yield Feature(
            name=f"round-to-{target}", kernel=k.cast, make=partial(_rounded, target), dtypes=("fp16", "bf16", "fp32", "fp64"),
            shapes=((1000,),), also=(target,), contract=Exact(),
        )  # fmt: skip
    for target in ("fp16", "bf16", *FP8[:2]):
        yield Feature(
            name=f"toward-zero-to-{target}", kernel=k.cast, make=partial(_toward_zero, target), dtypes=("fp32",),
            shapes=((1000,),), also=(target,),
        )  # fmt: skip
    yield Feature(
        name="through-fp8e4b15", kernel=k.through_e4b15, make=_e4b15, dtypes=("fp16",), shapes=((512,),), also=("fp8e4b15",),
    )  # fmt: skip
    yield Feature(
        name="dot-fp8", kernel=blocks.dot, make=_matmul, dtypes=FP8, also=("fp32", "fp16"), shapes=((16, 16, 32), (32, 64, 64)),
        contract=Close(1e-5, 2e-5),
    )  # fmt: skip


FEATURES = tuple(_features())
