"""Scaled dots: every format beside others, with and without scales, packed along either dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

from tri_conformance.contracts import Close
from tri_conformance.dtypes import Array
from tri_conformance.features import Feature, Point, Trial
from tri_conformance.kernels import scaled as k

__all__ = ["FEATURES"]

#: elements that share a scale
GROUP = 32
_HELD: dict[str, Any] = {
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "bf16": ml_dtypes.bfloat16, "fp16": np.float16,
}  # fmt: skip
_NEEDED = {"e4m3": ("fp8e4nv",), "e5m2": ("fp8e5",), "bf16": ("bf16",), "fp16": ("fp16",), "e2m1": ()}
#: the values of the sixteen numbers of four bits
_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
#: every format on both sides, each pair of neighbours once
PAIRS = (
    ("e2m1", "e2m1"), ("e4m3", "e4m3"), ("e5m2", "e5m2"), ("bf16", "bf16"), ("fp16", "fp16"), ("e2m1", "e4m3"),
    ("e4m3", "e5m2"), ("e5m2", "bf16"), ("fp16", "e2m1"), ("bf16", "e2m1"), ("e4m3", "fp16"),
)  # fmt: skip
#: products of exact numbers, added in fp32
_SUMS = Close(1e-5, 1e-3)


def _operand(point: Point, shape: tuple[int, int], kind: str, packed: int) -> tuple[Array, Array]:
    """Random numbers of a format: as a kernel takes them (e2m1 packed along a dimension, 8 bits as bytes), in float64."""
    if kind != "e2m1":
        held = point.rng.standard_normal(shape).astype(_HELD[kind])
        return held.view(np.uint8) if held.itemsize == 1 else held, held.astype(np.float64)
    nibbles = point.rng.integers(0, 16, shape).astype(np.uint8)
    low, high = (nibbles.take(range(i, shape[packed], 2), packed) for i in (0, 1))
    return np.ascontiguousarray(low | high << 4), _E2M1[nibbles]


def _scales(point: Point, rows: int, depth: int) -> tuple[Array, Array]:
    """Exponents near 127 as bytes, and the factors of all elements."""
    bits = point.rng.integers(124, 131, (rows, depth // GROUP)).astype(np.uint8)
    return bits, np.repeat(2.0 ** (bits.astype(int) - 127), GROUP, 1)


def _matmul(
    left: str,
    right: str,
    scaled: tuple[bool, bool] = (True, True),
    packs: tuple[bool, bool] = (True, True),
    invalid: bool = False,
) -> Callable[[Point], Trial]:
    def make(point: Point) -> Trial:
        m, n, depth = point.shape
        a, exact_a = _operand(point, (m, depth), left, 1 if packs[0] else 0)
        b, exact_b = _operand(point, (depth, n), right, 0 if packs[1] else 1)
        (sa, by_a), (sb, by_b) = _scales(point, m, depth), _scales(point, n, depth)
        if invalid:
            sa[3, 1] = sb[5, 0] = 0xFF
            by_a[3], by_b[5] = np.nan, np.nan
        total = point.rng.integers(-4, 5, (m, n)).astype(np.float32)
        exact = total + (exact_a * (by_a if scaled[0] else 1)) @ (exact_b * (by_b.T if scaled[1] else 1))
        arguments: list[Array | None] = [total.ravel(), a.ravel(), b.ravel()]
        arguments += [s.ravel() if given else None for s, given in zip((sa, sb), scaled, strict=True)]
        constants = {
            "LEFT": left, "RIGHT": right, "LEFT_PACK": packs[0], "RIGHT_PACK": packs[1], "FAST": False,
            "AR": a.shape[0], "AC": a.shape[1], "BR": b.shape[0], "BC": b.shape[1], "M": m, "N": n, "GROUPS": depth // GROUP,
        }  # fmt: skip
        return Trial(arguments=arguments, exact={0: exact.ravel()}, constants=constants)

    return make


def _feature(name: str, left: str, right: str, *shapes: tuple[int, ...], **how: Any) -> Feature:
    return Feature(
        name=name,
        group="dot_scaled",
        kernel=k.dot_scaled,
        make=_matmul(left, right, **how),
        dtypes=("fp32",),
        shapes=shapes or ((32, 16, 64),),
        contract=_SUMS,
        also=(*_NEEDED[left], *_NEEDED[right], "bf16"),
    )


def _features() -> Iterator[Feature]:
    for left, right in PAIRS:
        yield _feature(f"{left}-{right}", left, right)
    yield _feature("larger", "e4m3", "e2m1", (32, 32, 128), (16, 64, 64))
    yield _feature("left-unscaled", "e4m3", "e2m1", scaled=(False, True))
    yield _feature("right-unscaled", "e5m2", "e4m3", scaled=(True, False))
    yield _feature("unscaled", "e4m3", "e5m2", scaled=(False, False))
    yield _feature("left-packed-along-m", "e2m1", "e4m3", packs=(False, True))
    yield _feature("right-packed-along-n", "e4m3", "e2m1", packs=(True, False))
    yield _feature("invalid-scale", "e4m3", "e2m1", invalid=True)


FEATURES = tuple(_features())
