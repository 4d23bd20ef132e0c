"""Random operands in formats with block scales, and their exact products."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

import tri
from scaled_kernels import scaled_product, scaled_tiles

__all__ = ["FORMATS", "Operand", "product", "tiled"]

FORMATS = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


@dataclass(frozen=True)
class Operand:
    """``held`` as a kernel takes it (rows along k), ``scales``, and the numbers: ``plain``, and ``exact`` with their scales."""

    held: np.ndarray
    scales: np.ndarray
    plain: np.ndarray
    exact: np.ndarray

    @classmethod
    def random(
        cls, rng: np.random.Generator, rows: int, depth: int, kind: str, group: int = 32, scale: str = "ue8m0"
    ) -> Operand:
        """Any numbers of a format, and scales around 1."""
        if kind == "e2m1":
            nibbles = rng.integers(0, 16, (rows, depth)).astype(np.uint8)
            held, exact = nibbles[:, ::2] | nibbles[:, 1::2] << 4, _E2M1[nibbles]
        else:
            numbers = rng.standard_normal((rows, depth)).astype(FORMATS[kind])
            held, exact = numbers.view(np.uint8), numbers.astype(np.float64)
        if scale == "ue8m0":
            scales = rng.integers(118, 137, (rows, depth // group)).astype(np.uint8)
            factors = 2.0 ** (scales.astype(int) - 127)
        else:
            scales = np.abs(rng.standard_normal((rows, depth // group))).astype(FORMATS["e4m3"])
            factors = scales.astype(np.float64)
        return cls(np.ascontiguousarray(held), scales, exact, exact * np.repeat(factors, group, 1))

    @classmethod
    def of_bytes(
        cls,
        rng: np.random.Generator,
        rows: int,
        depth: int,
        kind: str,
        group: int,
        scale: str,
        scales: tuple[int, int],
    ) -> Operand:
        """Any finite numbers of a format, and any scales: e8m0 with exponents of a range, e4m3 that are not negative."""
        made = cls.random(rng, rows, depth, kind, group, scale)
        held, plain = made.held, made.plain
        if kind in FORMATS:
            numbers = rng.integers(0, 256, (rows, depth)).astype(np.uint8).view(FORMATS[kind])
            numbers[~np.isfinite(numbers.astype(np.float64))] = 0
            held, plain = numbers.view(np.uint8), numbers.astype(np.float64)
        shape = (rows, depth // group)
        if scale == "ue8m0":
            given = rng.integers(*scales, shape).astype(np.uint8)
            factors = 2.0 ** (given.astype(int) - 127)
        else:
            given = rng.integers(0, 127, shape).astype(np.uint8).view(FORMATS["e4m3"])
            factors = given.astype(np.float64)
        return cls(held, given, plain, plain * np.repeat(factors, group, 1))


def product(
    shape,
    left,
    right,
    group=32,
    scale="ue8m0",
    *,
    where,
    adds=False,
    turned=True,
    scaled=(True, True),
    warps=4,
):
    """The kernel, what it gives, and what it should."""
    m, n, k = shape
    rng = np.random.default_rng([m, n, k])
    a, b = (Operand.random(rng, rows, k, kind, group, scale) for rows, kind in ((m, left), (n, right)))
    c = rng.standard_normal((m, n)).astype(np.float32)
    left_, right_ = (x.exact if by_scale else x.plain for x, by_scale in zip((a, b), scaled, strict=True))
    exact = left_ @ right_.T + (c if adds else 0)
    scales = [x.scales if by_scale else None for x, by_scale in zip((a, b), scaled, strict=True)]
    held = b.held if turned else np.ascontiguousarray(b.held.T)
    with tri.target(where):
        kernel = scaled_product[(1,)](
            c, a.held, held, *scales, left, right, adds, m, n,
            a.held.shape[1], b.held.shape[1], k // group, turned, num_warps=warps,
        )  # fmt: skip
    return kernel, c, exact


def tiled(shape, block, left, right, group=32, scale="ue8m0", *, where, stages=1, warps=4):
    """The same of a kernel with a loop."""
    (m, n, k), (bm, bn, bk) = shape, block
    rng = np.random.default_rng([m, n, k])
    a, b = (Operand.random(rng, rows, k, kind, group, scale) for rows, kind in ((m, left), (n, right)))
    c = np.full((m, n), np.nan, np.float32)
    with tri.target(where):
        kernel = scaled_tiles[(m // bm, n // bn)](
            c, a.held, b.held, a.scales, b.scales, n, k // bk, left, right, bm, bn,
            a.held.shape[1] * bk // k, b.held.shape[1] * bk // k, bk // group, stages, num_warps=warps,
        )  # fmt: skip
    return kernel, c, a.exact @ b.exact.T
