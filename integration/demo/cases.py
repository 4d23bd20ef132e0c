"""The demo's cases: inputs, launch and float64 oracle of each kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import tri
from integration.kernels.layernorm import layernorm
from integration.kernels.matmul import matmul
from integration.kernels.softmax import softmax
from integration.kernels.vector_add import vector_add

__all__ = ["CASES", "Case"]

Array = npt.NDArray[np.float32]
EPS = 1e-5


@dataclass(frozen=True)
class Case:
    """A kernel with its sizes; ``launch(out, *inputs)`` works on arrays of any library."""

    name: str
    sizes: str
    inputs: tuple[tuple[int, ...], ...]
    out: tuple[int, ...]
    launch: Callable[..., None]
    oracle: Callable[..., npt.NDArray[np.float64]]
    tolerance: float

    def make_inputs(self, rng: np.random.Generator) -> list[Array]:
        """Random f32 inputs."""
        return [rng.standard_normal(shape, dtype=np.float32) for shape in self.inputs]


def _add(out: Any, x: Any, y: Any) -> None:
    n = x.shape[0]
    vector_add[(tri.cdiv(n, 4096),)](x, y, out, n, BLOCK=4096)


def _softmax(out: Any, x: Any) -> None:
    rows, columns = x.shape
    softmax[(rows,)](out, x, columns, columns, columns, BLOCK=tri.next_power_of_2(columns))


def _layernorm(out: Any, x: Any, w: Any, b: Any) -> None:
    rows, columns = x.shape
    layernorm[(rows,)](out, x, w, b, columns, columns, EPS, BLOCK=tri.next_power_of_2(columns))


def _matmul(out: Any, a: Any, b: Any) -> None:
    (m, k), n = a.shape, b.shape[1]
    blocks = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
    grid = (tri.cdiv(m, blocks["BLOCK_M"]) * tri.cdiv(n, blocks["BLOCK_N"]),)
    matmul[grid](a, b, out, m, n, k, k, 1, n, 1, n, 1, **blocks, GROUP_M=8)


def _softmax_oracle(x: Array) -> npt.NDArray[np.float64]:
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _layernorm_oracle(x: Array, w: Array, b: Array) -> npt.NDArray[np.float64]:
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    variance = (centred**2).mean(axis=1, keepdims=True)
    return np.asarray(centred / np.sqrt(variance + EPS) * w + b)


CASES = (
    Case(
        name="vector add",
        sizes="1,000,003 f32",
        inputs=((1_000_003,), (1_000_003,)),
        out=(1_000_003,),
        launch=_add,
        oracle=lambda x, y: x.astype(np.float64) + y,
        tolerance=1e-6,
    ),
    Case(
        name="softmax",
        sizes="1024 x 1000 f32",
        inputs=((1024, 1000),),
        out=(1024, 1000),
        launch=_softmax,
        oracle=_softmax_oracle,
        tolerance=1e-6,
    ),
    Case(
        name="layernorm",
        sizes="1024 x 1000 f32",
        inputs=((1024, 1000), (1000,), (1000,)),
        out=(1024, 1000),
        launch=_layernorm,
        oracle=_layernorm_oracle,
        tolerance=1e-5,
    ),
    Case(
        name="matmul",
        sizes="500 x 300 x 400 f32",
        inputs=((500, 400), (400, 300)),
        out=(500, 300),
        launch=_matmul,
        oracle=lambda a, b: a.astype(np.float64) @ b.astype(np.float64),
        tolerance=1e-4,
    ),
)
