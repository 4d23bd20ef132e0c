"""Attention, forward and backward; shapes are (heads, length, width, causal or not), blocks (queries, keys)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from integration.kernels.attention import attention, gradients_of_keys, gradients_of_queries
from integration.programs.program import Case, Data, Numbers, Program, Sizes, Start, poisoned, values
from tri.tools.tensor_descriptor import TensorDescriptor

__all__ = ["ATTENTION"]

_SMALL = Sizes(shapes=((2, 32, 16, 0), (1, 64, 16, 1)), blocks=((16, 32), (32, 16), (32, 32)))
_LARGE = Sizes(shapes=((3, 512, 64, 0), (2, 1024, 128, 1)), blocks=((64, 64), (32, 64), (128, 64)))
_FEW = Sizes(shapes=((2, 128, 64, 1), (1, 384, 128, 0)), blocks=_LARGE.blocks)
_FEW_BACKWARD = Sizes(shapes=((1, 128, 64, 1), (1, 256, 128, 0)), blocks=_LARGE.blocks)
#: of the type of the output, and of the weights, which are rounded before the second dot; f32 dots are of TF32,
#: which has f16's bits, and 5.3e-3 of a gradient, of which large parts cancel, are seen on cards and in simulators alike
_BOUNDS = {"float16": 5e-3, "bfloat16": 3e-2, "float32": 8e-3}


def _scale(case: Case) -> float:
    return 1 / math.sqrt(case.shape[2])


def _constants(case: Case) -> dict[str, Any]:
    m, n = case.block
    _, _, width, causal = case.shape
    return {"WIDTH": width, "BLOCK_M": m, "BLOCK_N": n, "CAUSAL": bool(causal), **case.options}


def _blocks(case: Case, *pairs: tuple[Any, int]) -> list[TensorDescriptor]:
    return [TensorDescriptor.from_tensor(x, [rows, case.shape[2]]) for x, rows in pairs]


def _heads(case: Case, array: Any) -> Numbers:
    """As [heads, length, width] in float64."""
    heads, length, width, _ = case.shape
    made: Numbers = array.astype(np.float64).reshape(heads, length, width)
    return made


def _scores(case: Case, q: Numbers, k: Numbers) -> Numbers:
    """Scaled, infinitely low where a query may not look."""
    made: Numbers = q @ k.swapaxes(1, 2) * _scale(case)
    if case.shape[3]:
        made[:, ~np.tri(case.shape[1], dtype=bool)] = -np.inf
    return made


def _lse(scores: Numbers) -> Numbers:
    """The natural logarithm of the sums of the exponentials of rows."""
    top = scores.max(2, keepdims=True)
    made: Numbers = top + np.log(np.exp(scores - top).sum(2, keepdims=True))
    return made


def _forward_data(case: Case, random: np.random.Generator) -> Data:
    heads, length, width, _ = case.shape
    inputs = [values(random, (heads * length, width), case.dtype) for _ in range(3)]
    return Data(
        inputs, (poisoned((heads * length, width), case.dtype), poisoned((heads * length,), "float32"))
    )


def _forward(data: Data, case: Case, start: Start) -> None:
    (q, k, v), (out, lse) = data.inputs, data.outputs
    heads, length, _, _ = case.shape
    m, n = case.block
    given = _blocks(case, (q, m), (k, n), (v, n), (out, m))
    start(attention, (length // m, heads))(*given, lse, _scale(case), length, **_constants(case))


def _forward_oracle(data: Data, case: Case) -> list[Numbers]:
    q, k, v = (_heads(case, x) for x in data.inputs)
    scores = _scores(case, q, k)
    lse = _lse(scores)
    out = np.exp(scores - lse) @ v
    return [out.reshape(data.outputs[0].shape), lse.reshape(-1) / math.log(2)]


def _backward_data(case: Case, random: np.random.Generator) -> Data:
    """q, k, v, the gradient of the result, and what the forward pass leaves: lse, delta."""
    heads, length, width, _ = case.shape
    arrays = [values(random, (heads * length, width), case.dtype) for _ in range(4)]
    q, k, v, grad = (_heads(case, x) for x in arrays)
    scores = _scores(case, q, k)
    lse = _lse(scores)
    delta = (grad * (np.exp(scores - lse) @ v)).sum(2)
    forward = [x.reshape(-1).astype(np.float32) for x in (lse / math.log(2), delta)]
    return Data((*arrays, *forward), [poisoned((heads * length, width), case.dtype) for _ in range(3)])


def _backward(data: Data, case: Case, start: Start) -> None:
    q, k, v, grad, lse, delta = data.inputs
    dq, dk, dv = data.outputs
    heads, length, _, _ = case.shape
    m, n = case.block
    inputs = _blocks(case, (q, m), (k, n), (v, n), (grad, m))
    after = (lse, delta, _scale(case), length)
    of_keys, of_queries = _blocks(case, (dk, n), (dv, n)), _blocks(case, (dq, m))
    start(gradients_of_keys, (length // n, heads))(*inputs, *of_keys, *after, **_constants(case))
    start(gradients_of_queries, (length // m, heads))(*inputs, *of_queries, *after, **_constants(case))


def _backward_oracle(data: Data, case: Case) -> list[Numbers]:
    q, k, v, grad = (_heads(case, x) for x in data.inputs[:4])
    scores = _scores(case, q, k)
    weights = np.exp(scores - _lse(scores))
    inner = grad @ v.swapaxes(1, 2)
    transposed = weights * (inner - (weights * inner).sum(2, keepdims=True)) * _scale(case)
    made = (transposed @ k, transposed.swapaxes(1, 2) @ q, weights.swapaxes(1, 2) @ grad)
    return [x.reshape(data.outputs[0].shape) for x in made]


ATTENTION = (
    Program(
        name="attention", bounds=_BOUNDS, small=_SMALL, few=_FEW, large=_LARGE,
        make=_forward_data, launch=_forward, oracle=_forward_oracle,
    ),
    Program(
        name="attention backward", bounds=_BOUNDS, small=_SMALL, few=_FEW_BACKWARD, large=_LARGE,
        make=_backward_data, launch=_backward, oracle=_backward_oracle,
    ),
)  # fmt: skip
