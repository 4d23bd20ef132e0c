"""The peeled iteration and the loop with masks are one loop: products of ragged depths, on loops that alternate as well."""

from __future__ import annotations

import re

import pytest

import mfma_kernels

BLOCK = (64, 64, 64)


@pytest.mark.parametrize(
    ("chip", "kind"),
    [
        ("gfx942", "f16"),
        ("gfx942", "bf16"),
        ("gfx942", "i8"),
        ("gfx942", "f8E4M3FNUZ"),
        ("gfx90a", "f16"),
        ("gfx950", "f16"),
        ("gfx950", "i8"),
        ("gfx950", "f8E4M3FN"),
    ],
)
@pytest.mark.parametrize(
    "shape",
    [
        (64, 64, 128),
        (64, 64, 64),
        (48, 40, 192 + 16),
        # no whole iteration; nothing to add up
        (64, 48, 32),
        (64, 64, 0),
    ],
    ids=str,
)
def test_products_are_right_with_two_dots(chip: str, kind: str, shape: tuple[int, int, int]) -> None:
    total = "i32" if kind == "i8" else "f32"
    error, text = mfma_kernels.run(chip, (kind, kind), total, shape, BLOCK, warps=4)
    assert len(re.findall(r"= tt\.dot ", text)) == 2
    assert error < 1e-6


@pytest.mark.parametrize(("chip", "kind"), [("gfx942", "f16"), ("gfx942", "i8"), ("gfx950", "f16")])
def test_alternating_wavefronts_go_on_in_it(chip: str, kind: str) -> None:
    total = "i32" if kind == "i8" else "f32"
    error, text = mfma_kernels.run(chip, (kind, kind), total, (256, 256, 208), (256, 256, 64), warps=8)
    assert "amdg.cond_barrier" in text
    # four slices of the loop without masks, and the one with them
    assert len(re.findall(r"= tt\.dot ", text)) == 5
    assert error < 1e-6
