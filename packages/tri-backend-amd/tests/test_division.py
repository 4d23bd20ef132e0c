"""Quotients by a divisor that elements share: exact where they can be, within 1 ulp, special values included.

Dividends whose remainders are denormal have 2 ulp.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tri
import tri.language as tl

RNG = np.random.default_rng(17)
SPECIAL = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-38, 3e38, 1.0, -3.0], np.float32)


@tri.jit
def share(out, x, divisor, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) / tl.load(divisor))


@functools.cache
def compiled(target: str) -> Any:
    types = {**dict.fromkeys(("out", "x", "divisor"), "*fp32"), "BLOCK": "constexpr"}
    return tri.compile(tri.ASTSource(share, types, {"BLOCK": 512}), target=target, options={"num_warps": 1})


def quotients(x: npt.NDArray[Any], divisor: float) -> npt.NDArray[Any]:
    out = np.zeros(512, np.float32)
    compiled("sim:amd:gfx942")[(1, 1, 1)](out, x, np.array([divisor], np.float32))
    return out


@settings(max_examples=60, deadline=None)
@given(
    divisor=st.floats(width=32) | st.sampled_from([float(v) for v in SPECIAL]),
    seed=st.integers(0, 1 << 32),
    small=st.booleans(),
)
def test_the_error_is_below_one_unit(divisor: float, seed: int, small: bool) -> None:
    bits = np.random.default_rng(seed).integers(0, 1 << 32, 512, dtype=np.uint32)
    x = (bits & 0x80FFFFFF if small else bits).view(np.float32)  # denormal or nearly so
    x[: len(SPECIAL)] = SPECIAL
    with np.errstate(all="ignore"):
        exact = x.astype(np.float64) / np.float64(divisor)
        wanted = exact.astype(np.float32)
    found = quotients(x, divisor)
    regular = np.isfinite(wanted)
    # at the edge of the range one unit is the difference to infinity
    edge = ~regular & np.isfinite(exact) | ~np.isfinite(found) & regular & (np.abs(wanted) > 3.4e38)
    np.testing.assert_array_equal(found[~regular & ~edge], wanted[~regular & ~edge])
    kept = regular & ~edge
    unit = np.maximum(np.spacing(np.abs(wanted[kept])), np.float32(1e-45)).astype(np.float64)
    # the last bit of a remainder is 2**-48 of its dividend or more; scaling down leaves no quotient but 0 here
    units = np.where(np.abs(x[kept]) < 2.0**-100, 2, 1)
    assert (np.abs(found[kept].astype(np.float64) - exact[kept]) <= unit * units).all()


@settings(max_examples=40, deadline=None)
@given(divisor=st.integers(1, 4095), scale=st.integers(-40, 40))
def test_quotients_that_are_floats_are_exact(divisor: int, scale: int) -> None:
    whole = RNG.integers(-4095, 4096, 512).astype(np.float32)
    found = quotients(whole * np.float32(divisor), float(divisor) * 2.0**scale)
    np.testing.assert_array_equal(found, whole * np.float32(2.0**-scale))


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100"])
def test_one_reciprocal_is_computed(arch: str) -> None:
    text = str(compiled(f"amd:{arch}").asm["amdgcn"])
    assert text.count("v_rcp_f32") == 1
    assert "v_div_scale_f32" not in text
