"""Threads that use one kernel on several targets at once, and switch between almost any two instructions."""

from __future__ import annotations

import gc
import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

import tri
import tri.language as tl
from tri.launch import dispatcher
from tri_core import compiler, knobs

__all__ = ["mix"]

#: seconds after which a thread gives way: the shortest that Python takes
_SWITCH = 1e-6
_ROUNDS = 12
FACTOR = tl.constexpr(1)


@tri.jit
def scale(x, o, n, B: tl.constexpr, K: tl.constexpr):
    """``x`` times K and a global, 0 behind its end."""
    at = tl.arange(0, B)
    v = tl.load(x + at, mask=at < n, other=0)
    if n > 2:
        v = v + 1
    tl.store(o + at, v * K * FACTOR)


def _contexts() -> dict[str, AbstractContextManager[Any]]:
    return {
        "cpu": tri.target("cpu"),
        "sim:nvidia:sm_80": tri.target("sim:nvidia:sm_80"),
        "sim:amd:gfx942": tri.target("sim:amd:gfx942"),
        "interpreter": tri.interpret(),
        "debug": knobs.scope(DEBUG=True),
        "nothing": nullcontext(),
    }


def mix(seed: int, threads: int = 6) -> None:
    """Launches on ``threads`` threads, each on any target, while versions, globals and plugins' knobs change."""
    failures: list[BaseException] = []
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    try:
        workers = [
            threading.Thread(target=_work, args=((seed, number), failures)) for number in range(threads)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(before)
    if failures:
        raise failures[0]


def _work(seed: tuple[int, int], failures: list[BaseException]) -> None:
    draw = np.random.default_rng(seed)
    try:
        for _ in range(_ROUNDS):
            _disturb(draw)
            _check(draw)
    except BaseException as error:
        failures.append(error)


def _disturb(draw: np.random.Generator) -> None:
    match int(draw.integers(8)):
        case 0:
            dispatcher.forget()
        case 1:
            compiler.forget()
        case 2:  # equal, and another object: whoever looks at the global sees a change
            globals()["FACTOR"] = tl.constexpr(1)
        case 3:
            knobs.register(knobs.KnobGroup(prefix=f"SOAK{int(draw.integers(1 << 20))}"))
        case 4:
            scale._dispatcher.versions()
        case 5:
            gc.collect()


def _check(draw: np.random.Generator) -> None:
    contexts = _contexts()
    name = list(contexts)[int(draw.integers(len(contexts)))]
    n, factor = int(draw.integers(1, 17)), int(draw.integers(1, 6))
    x, o = draw.integers(-9, 9, 16, dtype=np.int32), np.zeros(16, np.int32)
    expected = np.where(np.arange(16) < n, x, 0) + (n > 2)
    with contexts[name]:
        scale[(1,)](x, o, n, B=16, K=factor)
    np.testing.assert_array_equal(o, expected * factor, f"on {name}")
