"""Kernels of models are right in the simulators: narrow weights, causal attention in groups, chunks of states, rows."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import tri
from integration.kernels import inference, rows
from tri_backend_intel.runtime.opencl.installed import opencl_cpu_library

Array = npt.NDArray[Any]
_QUICK = ("amd:gfx942", "amd:gfx950", "amd:gfx1201", "intel:pvc")
_SLOW = ("nvidia:sm_90a", "nvidia:sm_100a")
#: a device that is no simulator's
_DEVICE = "intel:opencl-cpu"
#: of results that are sums in f32, rounded to f16
_NEAR = 4e-3
#: of results that are rounded to bf16
_COARSE = 2e-2
_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])

pytestmark = pytest.mark.parametrize(
    "target", [*_QUICK, *(pytest.param(target, marks=pytest.mark.slow) for target in (*_SLOW, _DEVICE))]
)


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(48)


def launch(target: str, kernel: Any, *arguments: Any, grid: tuple[int, ...] = (1,), **constants: Any) -> None:
    if target == _DEVICE and opencl_cpu_library() is None:
        pytest.skip("no OpenCL for the processor is installed")
    with tri.target(target if target == _DEVICE else f"sim:{target}"):
        kernel[grid](*arguments, num_warps=4, num_stages=3 if target.startswith("nvidia") else 2, **constants)


def near(found: Array, wanted: Array, tolerance: float = _NEAR) -> None:
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=tolerance, atol=tolerance)


def empty(shape: tuple[int, ...], dtype: Any) -> Array:
    """An array of NaN."""
    return np.full(shape, np.nan, dtype)


def test_mxfp4_weights(target: str, random: np.random.Generator) -> None:
    m, n, k = 32, 32, 128
    a = random.integers(-2, 3, (m, k)).astype(ml_dtypes.bfloat16)
    codes = random.integers(0, 16, (n, k))
    packed = (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8)
    scale = random.integers(126, 129, (n, k // 32)).astype(np.uint8)
    c = empty((m, n), ml_dtypes.bfloat16)
    launch(target, inference.mxfp4_weights_matmul, a, packed, scale, c, k, k, k // 2, k // 32, n, BLOCK_M=m, BLOCK_N=n, BLOCK_K=64)  # fmt: skip
    b = _E2M1[codes] * np.repeat(2.0 ** (scale.astype(int) - 127), 32, 1)
    near(c, a.astype(np.float64) @ b.T, _COARSE)


def test_split_int8_weights(target: str, random: np.random.Generator) -> None:
    m, n, k = 16, 32, 128
    a = random.integers(-2, 3, (m, k)).astype(np.float16)
    b = random.integers(-100, 100, (k, n)).astype(np.int8)
    scale, c = random.choice([0.5, 1.0, 2.0], n).astype(np.float32), np.zeros((m, n), np.float32)
    launch(target, inference.split_int8_matmul, a, b, scale, c, k, k, n, n, grid=(1, 2), SPLIT=2, BLOCK_M=m, BLOCK_N=n, BLOCK_K=32)  # fmt: skip
    np.testing.assert_array_equal(c, a.astype(np.float64) @ b * scale)


@pytest.mark.parametrize("capped", [False, True])
@pytest.mark.parametrize("length", [64, 50])
def test_grouped_attention(target: str, random: np.random.Generator, length: int, capped: bool) -> None:
    heads, width, block, cap, scale = 2, 32, 32, 2.0, 0.5
    q, k, v = (random.standard_normal((heads, 64, width)).astype(np.float16) for _ in range(3))
    out = empty((heads, 64, width), np.float16)
    launch(target, inference.grouped_attention, q, k, v, out, scale, cap, length, width, width, 64 * width, grid=(2, heads), GROUP=2, CAPPED=capped, WIDTH=width, BLOCK_M=block, BLOCK_N=block)  # fmt: skip
    for head in range(heads):
        keys, values = (x[0, :length].astype(np.float64) for x in (k, v))
        scores = q[head, :length].astype(np.float64) @ keys.T * scale
        scores = cap * np.tanh(scores / cap) if capped else scores
        weights = np.where(np.tri(length, dtype=bool), np.exp(scores), 0)
        near(out[head, :length], weights @ values / weights.sum(1, keepdims=True))
    assert np.isnan(out[:, length:]).all()


def test_causal_gradients(target: str, random: np.random.Generator) -> None:
    length, width, block, scale = 64, 32, 32, 0.25
    q, k, v, grad = (random.standard_normal((length, width)).astype(np.float16) for _ in range(4))
    q64, k64, v64, grad64 = (x.astype(np.float64) for x in (q, k, v, grad))
    scores = np.where(np.tri(length, dtype=bool), q64 @ k64.T * scale, -np.inf)
    lse = np.logaddexp2.reduce(scores, axis=1)  # weights are powers of 2
    weights = np.exp2(scores - lse[:, None])
    delta = (grad64 * (weights @ v64)).sum(1)
    dk, dv = empty((length, width), np.float16), empty((length, width), np.float16)
    launch(target, inference.causal_gradients, q, k, v, grad, lse.astype(np.float32), delta.astype(np.float32), dk, dv, scale, length, width, grid=(2,), WIDTH=width, BLOCK_M=block, BLOCK_N=block)  # fmt: skip
    near(dv, weights.T @ grad64, _COARSE)
    near(dk, (weights * (grad64 @ v64.T - delta[:, None])).T @ q64 * scale, _COARSE)


@pytest.mark.parametrize("length", [64, 50])
def test_states_of_a_chunk(target: str, random: np.random.Generator, length: int) -> None:
    m, n = 32, 32
    x, b = (random.standard_normal((length, size)).astype(np.float16) for size in (m, n))
    steps = random.uniform(0, 0.2, length).astype(np.float32)
    sums = -np.cumsum(steps).astype(np.float32)
    out = empty((m, n), np.float32)
    launch(target, inference.chunk_states, x, b, steps, sums, out, length, m, n, n, BLOCK_M=m, BLOCK_N=n, BLOCK_K=32)  # fmt: skip
    weights = np.exp(sums[-1].astype(np.float64) - sums) * steps
    near(out, x.astype(np.float64).T @ (b * weights[:, None]), _COARSE)


def test_linear_attention(target: str, random: np.random.Generator) -> None:
    length, width, block = 64, 32, 32
    q, k, v = (random.standard_normal((length, width)).astype(np.float16) / 4 for _ in range(3))
    decay, out = random.uniform(0.5, 1, 2).astype(np.float32), empty((length, width), np.float16)
    launch(target, inference.linear_attention, q, k, v, decay, out, length, width, WIDTH=width, BLOCK=block)
    state = np.zeros((width, width))
    for at in (0, block):
        rows_ = slice(at, at + block)
        q64, k64, v64 = (x[rows_].astype(np.float64) for x in (q, k, v))
        near(out[rows_], np.tril(q64 @ k64.T) @ v64 + q64 @ state)
        state = state * decay[at // block] + k64.T @ v64


def _angles(random: np.random.Generator, tokens: int, half: int) -> tuple[Array, Array]:
    angles = random.uniform(-3, 3, (tokens, half))
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def test_rms_and_rotation(target: str, random: np.random.Generator) -> None:
    tokens, heads, width, eps = 2, 4, 32, 1e-5
    x = random.standard_normal((tokens, heads, width)).astype(ml_dtypes.bfloat16)
    w, (cos, sin) = random.standard_normal(width).astype(np.float32), _angles(random, tokens, width // 2)
    out = empty(x.shape, ml_dtypes.bfloat16)
    launch(target, rows.rms_rope, x, w, cos, sin, out, eps, heads * width, width // 2, grid=(tokens,), HEADS=heads, WIDTH=width)  # fmt: skip
    x64 = x.astype(np.float64)
    normal = x64 / np.sqrt((x64**2).mean(-1, keepdims=True) + eps) * w
    first, second = np.split(normal, 2, axis=-1)
    c, s = cos[:, None].astype(np.float64), sin[:, None].astype(np.float64)
    near(out, np.concatenate([first * c - second * s, second * c + first * s], -1), _COARSE)


def test_interleaved_rotation(target: str, random: np.random.Generator) -> None:
    tokens, heads, width = 2, 4, 32
    x = random.standard_normal((tokens, heads, width)).astype(ml_dtypes.bfloat16)
    angles = np.concatenate(_angles(random, tokens, width // 2), -1)
    out = empty(x.shape, ml_dtypes.bfloat16)
    launch(target, rows.interleaved_rope, x, angles, out, heads * width, width, grid=(tokens,), HEADS=heads, WIDTH=width)  # fmt: skip
    even, odd = x[..., ::2].astype(np.float64), x[..., 1::2].astype(np.float64)
    c, s = np.split(angles[:, None].astype(np.float64), 2, axis=-1)
    near(out, np.stack([even * c - odd * s, odd * c + even * s], -1).reshape(x.shape), _COARSE)


def test_recurrence(target: str, random: np.random.Generator) -> None:
    length, columns = 64, 32
    decay = random.uniform(0, 1, (length, columns)).astype(np.float32)
    x, out = (
        random.standard_normal((length, columns)).astype(np.float32),
        empty((length, columns), np.float32),
    )
    launch(target, rows.recurrence, decay, x, out, length, columns, BLOCK_T=32, BLOCK_D=columns)
    state = np.zeros(columns)
    for t in range(length):
        state = state * decay[t] + x[t]
        near(out[t], state, 1e-5)


def test_local_sums(target: str, random: np.random.Generator) -> None:
    x = random.integers(-8, 9, (128, 16)).astype(np.float32)
    out = empty((128, 16), np.float32)
    launch(target, rows.local_sums, x, out, 16, grid=(2,), BLOCK_T=64, HEADS=16)
    np.testing.assert_array_equal(out, x.reshape(2, 64, 16).cumsum(1).reshape(128, 16))


def test_gate(target: str, random: np.random.Generator) -> None:
    columns = 100
    x = random.standard_normal((2, 2 * columns)).astype(ml_dtypes.bfloat16)
    out = empty((2, columns), ml_dtypes.bfloat16)
    launch(target, rows.gate, x, out, columns, 2 * columns, columns, grid=(2, 2), BLOCK=64)
    first, second = np.split(x.astype(np.float64), 2, axis=1)
    near(out, first / (1 + np.exp(-first)) * second, _COARSE)


def test_groups_in_8_bits(target: str, random: np.random.Generator) -> None:
    groups, group = 4, 32
    x = random.standard_normal((2, groups * group)).astype(ml_dtypes.bfloat16)
    out, scale = np.zeros(x.shape, ml_dtypes.float8_e4m3fn), empty((2, groups), np.float32)
    launch(target, rows.quantize_groups, x, out, scale, groups * group, groups, grid=(2,), LARGEST=448.0, GROUPS=groups, GROUP=group)  # fmt: skip
    x64 = x.astype(np.float64).reshape(2, groups, group)
    near(scale, np.abs(x64).max(-1) / 448, 1e-6)
    found = out.astype(np.float64).reshape(2, groups, group) * scale[..., None]
    np.testing.assert_allclose(found, x64, rtol=0.07, atol=float(scale.max()) * 2**-9)


def test_losses(target: str, random: np.random.Generator) -> None:
    columns = 300
    x = (4 * random.standard_normal((2, columns))).astype(ml_dtypes.bfloat16)
    targets, loss = np.array([7, 299], np.int32), empty((2,), np.float32)
    launch(target, rows.cross_entropy, x, targets, loss, columns, columns, grid=(2,), BLOCK=128)
    x64 = x.astype(np.float64)
    near(loss, np.logaddexp.reduce(x64, axis=1) - x64[[0, 1], targets], 1e-5)
