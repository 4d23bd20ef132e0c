"""``python -m integration.assemblers.on_card [--runs 50] [--target sim:nvidia:sm_90a]``: kernels that ptxas got wrong, and one that waits, against NumPy.

On an NVIDIA GPU through PyTorch by default; every output is poisoned before every run.  ``--target`` runs the first kernels on another target, with
NumPy's arrays: what waits needs programs that run beside each other, so it is for a card.  Exit status 1 where a number is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import tri
import tri.language as tl

__all__ = ["main"]

_N = 1024
_POISON = -0x5A5A5A5B
Array = npt.NDArray[Any]


@tri.jit
def least_of_negated(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.min(-tl.load(x + i[:, None] * 4 + tl.arange(0, 4)[None, :]), axis=1))


@tri.jit
def greatest_with_negated(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c = tl.load(x + i), tl.load(x + N + i), tl.load(x + 2 * N + i)
    tl.store(out + i, tl.maximum(tl.maximum(a, -b), c))


@tri.jit
def least_of_negated_halves(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c = tl.load(y + i), tl.load(y + N + i), tl.load(y + 2 * N + i)
    tl.store(out + i, tl.minimum(tl.minimum(a, -b), c).to(tl.int32))


@tri.jit
def negated_halves(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    h = -tl.load(y + i)
    tl.store(out + i, h.to(tl.int32) * 4 + (h < 5).to(tl.int32) * 2 + (h >> 3).to(tl.int32))


@tri.jit
def absolute_halves(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    h = tl.abs(tl.load(y + i))
    f = h.to(tl.uint16, bitcast=True).to(tl.float32)
    tl.store(out + i, h.to(tl.int32) + (h > 5).to(tl.int32) + f.to(tl.int32) * 3)


@tri.jit
def absolute_words(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    w = tl.abs(tl.load(x + i))
    tl.store(out + i, tl.where(w < 0, 3, i) + tl.where(-w > -1, 1000, 2000))


@tri.jit
def absolute_quads(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    w = tl.abs(tl.load(x + i).to(tl.int64) << 32)
    tl.store(out + i, tl.where(w < 0, 3, i) + tl.where(-w > -1, 1000, 2000))


@tri.jit
def waiting(flags, x, out, N: tl.constexpr, HOW: tl.constexpr):
    pid, half, i = tl.program_id(0), tl.num_programs(0) // 2, tl.arange(0, N)
    if pid >= half:
        tl.store(x + pid * N + i, i.to(tl.float32) + pid, cache_modifier=".wt")
        tl.debug_barrier()
        tl.store(flags + pid, 1, cache_modifier=".wt")
    else:
        if HOW == 0:
            while tl.load(flags + pid + half, cache_modifier=".cv", volatile=True) != 1:
                pass
        elif HOW == 1:
            while tl.load(flags + pid + half, volatile=True) != 1:
                pass
        else:
            while tl.load(flags + pid + half, cache_modifier=".cv") != 1:
                pass
        tl.store(out + pid * N + i, tl.load(x + (pid + half) * N + i, cache_modifier=".cv"))


def _halves(y: Array, op: Callable[[Array], Array]) -> Array:
    with np.errstate(over="ignore"):
        return op(y[:_N])


def _absolute_halves(x: Array, y: Array) -> Array:
    del x
    h = _halves(y, np.abs)
    return h.astype(np.int32) + (h > 5) + h.view(np.uint16).astype(np.int32) * 3


def _negated_halves(x: Array, y: Array) -> Array:
    del x
    h = _halves(y, np.negative)
    return h.astype(np.int32) * 4 + (h < 5) * 2 + (h >> 3)


def _signs(w: Array) -> Array:
    w = np.abs(w)
    return np.where(w < 0, 3, np.arange(_N)) + np.where(-w > -1, 1000, 2000)


#: what NumPy says of the same numbers
CASES: list[tuple[Any, Callable[[Array, Array], Array]]] = [
    (least_of_negated, lambda x, y: (-x[: 4 * _N].reshape(_N, 4)).min(1)),
    (greatest_with_negated, lambda x, y: np.maximum(np.maximum(x[:_N], -x[_N : 2 * _N]), x[2 * _N : 3 * _N])),
    (least_of_negated_halves, lambda x, y: np.minimum(np.minimum(y[:_N], -y[_N : 2 * _N]), y[2 * _N : 3 * _N])),
    (negated_halves, _negated_halves),
    (absolute_halves, _absolute_halves),
    (absolute_words, lambda x, y: _signs(x[:_N])),
    (absolute_quads, lambda x, y: _signs(x[:_N].astype(np.int64) << 32)),
]  # fmt: skip


def _inputs(run: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(run)
    words = rng.integers(-(2**31), 2**31, 4 * _N, dtype=np.int64).astype(np.int32)
    halves = rng.integers(-(2**15), 2**15, 4 * _N, dtype=np.int64).astype(np.int16)
    for array, least in ((words, -(2**31)), (halves, -(2**15))):
        array[rng.integers(0, _N, 32)] = least
        array[:4] = (least, 0, -1, 1)
    return words, halves


def _numbers(runs: int, device: bool) -> int:
    wrong = 0
    for kernel, expected in CASES:
        bad = 0
        for run in range(runs):
            x, y = _inputs(run)
            out = np.full(_N, _POISON, np.int32)
            given: list[Any] = [x, y, out]
            if device:
                import torch

                given = [torch.from_numpy(each.copy()).cuda() for each in given]
            kernel[(1,)](*given, _N)
            got = given[2].cpu().numpy() if device else given[2]
            with np.errstate(over="ignore"):
                bad += not np.array_equal(got, expected(x, y).astype(np.int32))
        print(f"{kernel.fn.__name__}: {runs - bad} of {runs} right", flush=True)
        wrong += bad
    return wrong


def _waits(runs: int, programs: int = 128) -> int:
    """Consumers that wait for producers by each of three loads; all programs are resident at once on a card of 64 multiprocessors and more."""
    import torch

    half, wrong = programs // 2, 0
    ids = torch.arange(half, programs, device="cuda")[:, None]
    expected = torch.arange(_N, device="cuda").float()[None, :] + ids
    for how in range(3):
        bad = 0
        for _ in range(runs):
            flags = torch.zeros(programs, dtype=torch.int32, device="cuda")
            x, out = (torch.full((programs, _N), float("nan"), device="cuda") for _ in range(2))
            waiting[(programs,)](flags, x, out, _N, how)
            bad += not bool((out[:half] == expected).all())
        print(f"waiting {how}: {runs - bad} of {runs} right", flush=True)
        wrong += bad
    return wrong


def main() -> int:
    """Run all; 1 where something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m integration.assemblers.on_card", description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--target", default="")
    arguments = parser.parse_args()
    with tri.target(arguments.target) if arguments.target else contextlib.nullcontext():
        wrong = _numbers(arguments.runs, device=not arguments.target)
    if not arguments.target:
        wrong += _waits(arguments.runs)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
