"""Random operands in formats with block scales, their exact dots, and what dots of every instruction are asked."""

from __future__ import annotations

import re
from dataclasses import dataclass

import ml_dtypes
import numpy as np

import tri
from matrix_machine_code import Compiler
from scaled_kernels import scaled_matmul, scaled_tiles

__all__ = [
    "FORMATS",
    "Operand",
    "check_any_numbers",
    "check_decomposed",
    "check_scales_that_are_no_numbers",
    "close",
    "compiled_tiles",
    "launched",
    "matmul",
    "tiled",
    "tiled_by_warps_that_copy",
]

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


def close(got, exact, bound=1e-6) -> None:
    error = np.abs(got - exact).max()
    assert error <= bound * np.abs(exact).max(), error


def check_any_numbers(c, a: Operand, b: Operand, depth: int) -> None:
    """``c`` is what is added up, ``depth`` elements along k at a time to the float32 before; sums may overflow between.

    Where terms cancel so far that their order decides whether the sum overflows, nothing is known of it.
    """
    largest, exact = np.finfo(np.float32).max, np.zeros(c.shape, np.float32)
    bound, open_ = np.full(c.shape, 2.0**-149), np.zeros(c.shape, bool)
    with np.errstate(over="ignore", invalid="ignore"):
        for part in range(0, a.exact.shape[1], depth):
            own = slice(part, part + depth)
            total = a.exact[:, own] @ b.exact[:, own].T + exact.astype("f8")
            bound += 1e-6 * (np.abs(a.exact[:, own]) @ np.abs(b.exact[:, own]).T)
            open_ |= np.abs(np.abs(total) - largest) <= bound
            exact = total.astype(np.float32)
    assert open_.mean() < 0.1
    finite, settled = np.isfinite(exact), ~open_
    np.testing.assert_array_equal(c[settled & ~finite], exact[settled & ~finite])
    known = settled & finite
    assert (np.abs(c[known].astype("f8") - exact[known]) <= bound[known]).all()


def launched(c, a: Operand, b: Operand, left: str, right: str, *, where: str, warps: int = 4):
    """The kernel that has made ``c`` of two operands."""
    (m, n), (_, groups) = c.shape, a.scales.shape
    with tri.target(where):
        return scaled_matmul[(1,)](
            c, a.held, b.held, a.scales, b.scales, left, right, False, m, n,
            a.held.shape[1], b.held.shape[1], groups, True, num_warps=warps,
        )  # fmt: skip


def matmul(
    shape,
    left,
    right,
    group=32,
    scale="ue8m0",
    *,
    where,
    adds=False,
    transposed=True,
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
    held = b.held if transposed else np.ascontiguousarray(b.held.T)
    with tri.target(where):
        kernel = scaled_matmul[(1,)](
            c, a.held, held, *scales, left, right, adds, m, n,
            a.held.shape[1], b.held.shape[1], k // group, transposed, num_warps=warps,
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


def tiled_by_warps_that_copy(rows: int, *, where: str):
    """A loop of two steps of 128 over a square of ``rows``, with roles: the kernel, what it gives, and what it should."""
    a = Operand.random(np.random.default_rng(2), rows, 256, "e4m3")
    c = np.full((rows, rows), np.nan, np.float32)
    with tri.target(where):
        kernel = scaled_tiles[(1, 1)](
            c, a.held, a.held, a.scales, a.scales, rows, 2, "e4m3", "e4m3", rows, rows, 128, 128, 4, 2,
            num_warps=4, warp_specialize=True,
        )  # fmt: skip
    return kernel, c, a.exact @ a.exact.T


def compiled_tiles(arch: str, formats, group: int, scale: str, *, depth: int, warps: int):
    """The kernel of 128 x 128 x ``depth`` a step, three stages; ``scale`` is its type in a signature."""
    held = [depth // 2 if kind == "e2m1" else depth for kind in formats]
    constants = {
        "LEFT": formats[0], "RIGHT": formats[1], "BM": 128, "BN": 128,
        "AK": held[0], "BK": held[1], "G": depth // group, "STAGES": 3,
    }  # fmt: skip
    types = {"c": "*fp32", "a": "*u8", "b": "*u8", "N": "i32", "steps": "i32"}
    types |= dict.fromkeys(("a_scale", "b_scale"), f"*{scale}")
    return Compiler(f"nvidia:{arch}").compiled(scaled_tiles, constants, types, warps=warps)


def check_scales_that_are_no_numbers(where: str):
    """A scale of e8m0 that is no number makes its row, or its column, no numbers; the kernel."""
    a, b = (Operand.random(np.random.default_rng(1), rows, 128, "e4m3") for rows in (128, 32))
    a.scales[5, 1] = b.scales[7, 2] = 0xFF
    c = np.zeros((128, 32), np.float32)
    kernel = launched(c, a, b, "e4m3", "e4m3", where=where)
    invalid = np.zeros(c.shape, bool)
    invalid[5] = invalid[:, 7] = True
    assert (np.isnan(c) == invalid).all()
    close(c[~invalid], (a.exact @ b.exact.T)[~invalid])
    return kernel


def check_decomposed(kernel, c, exact, reason: str) -> None:
    """It is right, and one remark says why, and of which line."""
    (said,) = kernel.metadata.attrs["remarks"]
    assert reason in said
    assert re.match(r".*scaled_kernels\.py:\d+: ", said)
    close(c, exact)
