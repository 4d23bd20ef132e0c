"""The kernels that benchmarks add to the examples, small, on the CPU target, against float64."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from integration.kernels.attention import (
    attention,
    gradients_of_keys,
    gradients_of_queries,
    products_of_outputs,
)
from integration.kernels.grouped_matmul import grouped_matmul
from integration.kernels.matmul_descriptor import matmul_descriptor
from tri.tools.tensor_descriptor import TensorDescriptor


def values(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float16)


def poisoned(*shape: int, dtype: type = np.float16) -> np.ndarray:
    return np.full(shape, np.nan, dtype)


def close(got: np.ndarray, expected: np.ndarray, bound: float) -> None:
    error = np.abs(got.astype(np.float64) - expected).max()
    assert error <= bound * np.abs(expected).max(), error


def test_a_matmul_through_descriptors() -> None:
    a, b, c = values(70, 40), values(40, 50), poisoned(70, 64)
    padded = np.zeros((40, 64), np.float16)
    padded[:, :50] = b
    given = [
        TensorDescriptor.from_tensor(x, block)
        for x, block in ((a, [32, 16]), (padded, [16, 32]), (c, [32, 32]))
    ]
    matmul_descriptor[(6,)](*given, 70, 64, 40, BLOCK_M=32, BLOCK_N=32, BLOCK_K=16, GROUP_M=2)
    close(c, a.astype(float) @ padded.astype(float), 2e-3)


@pytest.mark.parametrize("rows", [[40, 7, 33], [16, 0, 80]])
def test_matmuls_of_groups(rows: list[int]) -> None:
    n, k, starts = 48, 40, np.cumsum([0, *rows]).astype(np.int32)
    a, b, c = values(starts[-1], k), values(len(rows), k, n), poisoned(starts[-1], n)
    grouped_matmul[(5,)](
        a, b, c, starts, len(rows), n, k, k, k * n, n, n, PROGRAMS=5, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16
    )
    parts = [a[i:j].astype(float) @ b[g].astype(float) for g, (i, j) in enumerate(pairwise(starts))]
    close(c, np.concatenate(parts), 2e-3)


def weights_of(q: np.ndarray, k: np.ndarray, causal: bool) -> np.ndarray:
    scores = q.astype(float) @ k.astype(float).T / math.sqrt(q.shape[-1])
    if causal:
        scores[~np.tri(len(q), dtype=bool)] = -np.inf
    made = np.exp(scores - scores.max(1, keepdims=True))
    return made / made.sum(1, keepdims=True)


@pytest.mark.parametrize(("m", "n"), [(32, 16), (16, 32)])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_forward_and_backward(causal: bool, m: int, n: int) -> None:
    heads, length, width = 2, 64, 16
    q, k, v, grad = (values(heads * length, width, seed=i) for i in range(4))
    out, dq, dk, dv = (poisoned(heads * length, width) for _ in range(4))
    lse, delta = (poisoned(heads * length, dtype=np.float32) for _ in range(2))
    scale = 1 / math.sqrt(width)

    def blocks(*pairs: tuple[np.ndarray, int]) -> list[TensorDescriptor]:
        return [TensorDescriptor.from_tensor(x, [rows, width]) for x, rows in pairs]

    shape = {"WIDTH": width, "BLOCK_M": m, "BLOCK_N": n, "CAUSAL": causal}
    attention[(length // m, heads)](*blocks((q, m), (k, n), (v, n), (out, m)), lse, scale, length, **shape)
    products_of_outputs[(heads * length // 16,)](out, grad, delta, WIDTH=width, BLOCK=16)
    inputs = blocks((q, m), (k, n), (v, n), (grad, m))
    after = (lse, delta, scale, length)
    gradients_of_keys[(length // n, heads)](*inputs, *blocks((dk, n), (dv, n)), *after, **shape)
    gradients_of_queries[(length // m, heads)](*inputs, *blocks((dq, m)), *after, **shape)
    for head in range(heads):
        part = slice(head * length, (head + 1) * length)
        weights, change = weights_of(q[part], k[part], causal), grad[part].astype(float)
        close(out[part], weights @ v[part].astype(float), 2e-3)
        inner = change @ v[part].astype(float).T
        transposed = weights * (inner - (weights * inner).sum(1, keepdims=True))
        close(dq[part], transposed @ k[part].astype(float) * scale, 5e-3)
        close(dk[part], transposed.T @ q[part].astype(float) * scale, 5e-3)
        close(dv[part], weights.T @ change, 5e-3)
