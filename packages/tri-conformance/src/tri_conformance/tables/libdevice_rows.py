"""Rows of libdevice's table, and distributions of their operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tri_conformance.contracts import Contract, Exact
from tri_conformance.dtypes import Array
from tri_conformance.features import Point

__all__ = ["Draw", "Entry", "floats", "mixed", "uniform", "whole"]

#: a point and the operands' types -> operands
Draw = Callable[[Point, Sequence[np.dtype[Any]]], list[Array]]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A function: its operands, an oracle over them, and contracts by the type of the floating-point operand.

    ``integers``: only the signatures whose operands at these positions, and no others, are integers (None: all);
    ``wide``: every target computes it in fp64; ``label``: the feature's name where it is not the function's.
    """

    name: str
    oracle: Callable[..., Any]
    draw: Draw
    contract: Contract = field(default_factory=Exact)
    contracts: Mapping[str, Contract] = field(default_factory=dict)
    integers: tuple[int, ...] | None = None
    wide: bool = False
    label: str = ""


def whole(point: Point, dtype: np.dtype[Any], low: int | None = None, high: int | None = None) -> Array:
    """Integers of all sizes and signs with the ends of the type, or of ``low`` to ``high``."""
    info = np.iinfo(dtype)
    if low is not None and high is not None:
        return point.rng.integers(low, high, point.count, dtype, endpoint=True)
    x = point.rng.integers(info.min, info.max, point.count, dtype, endpoint=True)
    x >>= point.rng.integers(0, info.bits - 2, point.count).astype(dtype)
    x[:4] = [0, 1, info.max, info.min]
    return x


def floats(point: Point, dtype: np.dtype[Any], spread: int) -> Array:
    """Floats of both signs whose exponents lie between ``-spread`` and ``spread``, some zeros and small numbers too."""
    rng, top = point.rng, 120 if dtype == np.float32 else 1020
    with np.errstate(all="ignore"):
        x = np.ldexp(rng.uniform(1, 2, point.count), rng.integers(-spread, min(spread, top), point.count))
    x = (x * rng.choice([-1, 1], point.count)).astype(dtype)
    x[:6] = [0.0, -0.0, 1.0, -1.0, 3.0, 0.5]
    return x


def uniform(*domains: tuple[float, float]) -> Draw:
    """Floats uniform over a domain for each operand; integers between its ends."""

    def draw(point: Point, dtypes: Sequence[np.dtype[Any]]) -> list[Array]:
        return [
            point.rng.uniform(low, high, point.count).astype(dtype)
            if dtype.kind == "f"
            else whole(point, dtype, int(low), int(high))
            for (low, high), dtype in zip(domains, dtypes, strict=True)
        ]

    return draw


def mixed(spread: int | None = None) -> Draw:
    """Floats of all magnitudes of their type, subnormal ones too (or of ``spread``); integers of every size."""

    def draw(point: Point, dtypes: Sequence[np.dtype[Any]]) -> list[Array]:
        limits = [spread or (140 if dtype == np.float32 else 1060) for dtype in dtypes]
        return [
            floats(point, dtype, limit) if dtype.kind == "f" else whole(point, dtype)
            for dtype, limit in zip(dtypes, limits, strict=True)
        ]

    return draw
