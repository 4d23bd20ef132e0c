"""Whole programs, of one kernel or two, against NumPy in float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tri_conformance.case import Case, Needs, asked
from tri_conformance.contracts import Close, Exact
from tri_conformance.dtypes import NUMPY, Array
from tri_conformance.features import Feature, Point, Trial, cases_of
from tri_conformance.kernels import programs as k
from tri_conformance.subject import Subject

__all__ = ["FEATURES", "cases"]

#: results are rounded to these types at the end; sums are in fp32
ROUNDED = {"fp16": Close(2e-3, 1e-3), "bf16": Close(1.6e-2, 8e-3), "fp32": Close(2e-5, 1e-5)}
FLOATS = ("fp16", "bf16", "fp32")


def cases() -> Iterator[Case]:
    """The cases of this level."""
    yield from cases_of(FEATURES)
    for n in (700, 4096):
        yield Case("programs", "prefix-sums", str(n), asked(_prefix, n), Needs(warps=4))
        yield Case("programs", "histogram", str(n), asked(_counts, n), Needs(warps=4))


def _power(n: int) -> int:
    return 1 << (n - 1).bit_length()


def _normal(point: Point, *shape: int) -> Array:
    return point.rng.standard_normal(shape).astype(point.numpy)


def _like(x: Array) -> Array:
    return np.full(x.size, 77).astype(x.dtype)


def _wide(*arrays: Array) -> Any:
    return [a.astype(np.float64) for a in arrays]


def _vector_add(point: Point) -> Trial:
    x, y = _normal(point, point.count), _normal(point, point.count)
    return Trial(
        arguments=[_like(x), x, y, point.count],
        exact={0: np.add(*_wide(x, y))},
        constants={"B": 256},
        grid=(-(-point.count // 256),),
    )


def _softmax(point: Point) -> Trial:
    rows, columns = point.shape
    x = (4 * _normal(point, rows, columns)).astype(point.numpy)
    (wide,) = _wide(x)
    e = np.exp(wide - wide.max(1, keepdims=True))
    exact = (e / e.sum(1, keepdims=True)).ravel()
    return Trial(
        arguments=[_like(x), x.ravel(), columns],
        exact={0: exact},
        constants={"B": _power(columns)},
        grid=(rows,),
    )


def _layer_norm(point: Point) -> Trial:
    rows, columns = point.shape
    x, w, b = _normal(point, rows, columns), _normal(point, columns), _normal(point, columns)
    wide, weight, bias = _wide(x, w, b)
    centred = wide - wide.mean(1, keepdims=True)
    exact = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * weight + bias
    return Trial(
        arguments=[_like(x), x.ravel(), w, b, columns],
        exact={0: exact.ravel()},
        constants={"B": _power(columns)},
        grid=(rows,),
    )


def _matmul(point: Point) -> Trial:
    m, n, depth = point.shape
    a, b = _normal(point, m, depth), _normal(point, depth, n)
    exact = np.matmul(*_wide(a, b)).ravel()
    out = np.full(m * n, 77, np.float32)
    block = {"BM": 32, "BN": 32, "BK": 32}
    return Trial(
        arguments=[out, a.ravel(), b.ravel(), m, n, depth],
        exact={0: exact},
        constants=block,
        grid=(-(-m // 32), -(-n // 32)),
    )


def _attention(causal: bool) -> Any:
    def make(point: Point) -> Trial:
        length, d = point.shape
        q, key, v = (_normal(point, length, d) for _ in "qkv")
        wide_q, wide_k, wide_v = _wide(q, key, v)
        score = wide_q @ wide_k.T * d**-0.5
        if causal:
            score = np.where(np.tril(np.ones_like(score)) > 0, score, -np.inf)
        e = np.exp(score - score.max(1, keepdims=True))
        exact = (e / e.sum(1, keepdims=True) @ wide_v).ravel()
        constants = {"CAUSAL": causal, "BM": 32, "BN": 32, "D": d}
        arguments = [np.full(length * d, 77, np.float32), q.ravel(), key.ravel(), v.ravel(), length, d**-0.5]
        return Trial(arguments=arguments, exact={0: exact}, constants=constants, grid=(-(-length // 32),))

    return make


def _row(
    name: str,
    kernel: Any,
    make: Any,
    shapes: tuple[tuple[int, ...], ...],
    contracts: Any,
    dtypes: tuple[str, ...] = FLOATS,
) -> Feature:
    return Feature(
        name=name,
        kernel=kernel,
        make=make,
        dtypes=dtypes,
        shapes=shapes,
        contracts=contracts,
        also=("fp32",),
        level="programs",
    )


#: dots are kept in fp32, so their bound is that of sums of exact products
SUMS = dict.fromkeys(FLOATS, Close(2e-5, 4e-5))
#: the weights of attention are rounded to the operands' type before the second dot
WEIGHTS = {"fp16": Close(2e-3, 2e-3), "bf16": Close(1.6e-2, 1.6e-2), "fp32": Close(2e-5, 2e-5)}

FEATURES = (
    _row("vector-add", k.vector_add, _vector_add, ((1000,), (4096,)), {}, (*FLOATS, "fp64")),
    _row("softmax", k.softmax, _softmax, ((3, 781), (5, 64)), ROUNDED),
    _row("layer-norm", k.layer_norm, _layer_norm, ((3, 500), (4, 128)), ROUNDED),
    _row("matmul", k.matmul, _matmul, ((64, 64, 64), (50, 70, 90)), SUMS),
    _row("attention", k.attention, _attention(False), ((64, 32), (80, 64)), WEIGHTS),
    _row("attention-causal", k.attention, _attention(True), ((64, 32), (80, 16)), WEIGHTS),
)


def _prefix(subject: Subject, n: int) -> None:
    """Prefix sums over programs: of blocks, then of their sums."""
    rng = np.random.default_rng(n)
    x = rng.integers(-50, 50, n).astype(np.int32)
    blocks = -(-n // 256)
    out, sums = np.zeros(n, np.int32), np.zeros(blocks, np.int32)
    subject.launch(k.prefix, (blocks,), [out, sums, x, n], {"B": 256})
    subject.launch(k.add_before, (blocks,), [out, sums, n], {"BLOCKS": _power(blocks), "B": 256})
    Exact().check(out, x.cumsum())


def _counts(subject: Subject, n: int) -> None:
    """Atomic counts and the largest element over programs."""
    x = np.random.default_rng(n).integers(0, 1000, n).astype(NUMPY["int32"])
    bins, top = np.zeros(32, np.int32), np.full(1, -5, np.int32)
    subject.launch(k.counts, (-(-n // 256),), [bins, x, n], {"BINS": 32, "B": 256})
    subject.launch(k.best, (-(-n // 256),), [top, x, n], {"B": 256})
    Exact().check(bins, np.bincount(x % 32, minlength=32))
    Exact().check(top, x.max(keepdims=True))
