"""Bits of operands as numbers, against ml_dtypes."""

from __future__ import annotations

import numpy as np
import pytest

from mfma_kernels import DTYPES
from tri_backend_amd.mfma.numbers import values


@pytest.mark.parametrize("kind", [k for k in DTYPES if k.startswith("f8")])
def test_8_bit_floats(kind: str) -> None:
    bits = np.arange(256, dtype=np.uint8)
    with np.errstate(invalid="ignore"):
        expected = bits.view(DTYPES[kind]).astype(np.float64)
    np.testing.assert_array_equal(values(bits.reshape(32, 8), kind).ravel(), expected)


def test_wider_ones() -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        for kind in ("f16", "bf16"):
            expected = bits.view(DTYPES[kind]).astype(np.float64)
            np.testing.assert_array_equal(values(bits.reshape(-1, 4), kind).ravel(), expected)
    words = np.array([[0x3F801FFF, 0x3F803FFF]], np.uint32)
    assert list(values(words, "xf32")[0]) == [1.0, 1.0 + 2**-10]
