"""Attention and its gradients by pointers, of which machine code is counted: right in the simulator, for every chip with MFMA that is counted."""

from __future__ import annotations

import numpy as np
import pytest

import tri
from integration.kernels.by_pointers import attention_by_pointers, gradients_of_keys, gradients_of_queries

CHIPS = ("gfx90a", "gfx942", "gfx950")
LENGTH, WIDTH, HEADS, SCALE = 192, 64, 1, 0.125
#: largest error over the largest value: operands of f16, products of f32
BOUND = 2e-3


def _drawn(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(11)
    return [rng.standard_normal((HEADS * LENGTH, WIDTH)).astype(np.float16) for _ in range(count)]


def _weights(q: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights, and the logarithm (base 2) of what they were divided by."""
    scores = q @ k.T * SCALE / np.log(2)
    lse = np.log2(np.exp2(scores).sum(1))
    return np.exp2(scores - lse[:, None]), lse


def _error(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.abs(found.astype(np.float64) - wanted).max() / np.abs(wanted).max())


@pytest.mark.parametrize("chip", CHIPS)
def test_attention_is_right(chip: str) -> None:
    q, k, v = _drawn(3)
    out = np.zeros_like(q)
    with tri.target(f"sim:amd:{chip}"):
        attention_by_pointers[LENGTH // 64, HEADS](
            q, k, v, out, SCALE, LENGTH, WIDTH, WIDTH=WIDTH, BLOCK_M=64, BLOCK_N=64, num_warps=2
        )
    left, middle, right = (each.astype(np.float64) for each in (q, k, v))
    assert _error(out, _weights(left, middle)[0] @ right) <= BOUND


@pytest.mark.parametrize("chip", CHIPS)
def test_gradients_are_right(chip: str) -> None:
    arrays = _drawn(4)
    q, k, v, grad = (each.astype(np.float64) for each in arrays)
    weights, lse = _weights(q, k)
    delta = (weights @ v * grad).sum(1)
    change = weights * (grad @ v.T - delta[:, None])
    facts = [lse.astype(np.float32), delta.astype(np.float32), SCALE, LENGTH, WIDTH]
    sizes = {"WIDTH": WIDTH, "BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 2}
    dq, dk, dv = (np.zeros((LENGTH, WIDTH), np.float16) for _ in range(3))
    with tri.target(f"sim:amd:{chip}"):
        gradients_of_keys[LENGTH // 64, HEADS](*arrays, dk, dv, *facts, **sizes)
        gradients_of_queries[LENGTH // 64, HEADS](*arrays, dq, *facts, **sizes)
    assert _error(dv, weights.T @ grad) <= BOUND
    assert _error(dk, change.T @ q * SCALE) <= BOUND
    assert _error(dq, change @ k * SCALE) <= BOUND
