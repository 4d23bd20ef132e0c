"""Launches that last, for the tests of signals; run as a program with the name of one."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import numpy as np

import tri
import tri.language as tl


@tri.jit
def many_programs(o, B: tl.constexpr):
    """Every program writes the same block."""
    i = tl.arange(0, B)
    tl.store(o + i, i + tl.program_id(1))


@tri.jit
def endless(flag, o, B: tl.constexpr):
    """Waits for a flag that nobody sets, and must not come to the store."""
    seen = tl.load(flag, volatile=True)
    while seen == 0:
        seen = tl.load(flag, volatile=True)
    i = tl.arange(0, B)
    tl.store(o + i, i)


@tri.jit
def long_loop(x, o, n, B: tl.constexpr):
    """One program that counts for a long time."""
    i = tl.arange(0, B)
    acc = tl.load(x + i)
    for step in range(n):
        acc = acc * 3 + step
        tl.store(o + i, acc)


@tri.jit
def last_one_endless(flag, o, B: tl.constexpr):
    """Only one program does not end: the launching thread waits for a helper, or is it."""
    if tl.program_id(0) == 1:
        seen = tl.load(flag, volatile=True)
        while seen == 0:
            seen = tl.load(flag, volatile=True)
    i = tl.arange(0, B)
    tl.store(o + tl.program_id(0) * B + i, i + 1)


@tri.jit
def one_more(o, B: tl.constexpr):
    """What runs afterwards."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(o + i) + 1)


def launches() -> dict[str, object]:
    """By name."""
    flag, o = np.ones(1, np.int32), np.zeros(128, np.int32)
    x = np.ones(64, np.int32)
    # compiled and loaded now: an interrupt is to meet them running
    many_programs[(1, 1)](o, B=64)
    endless[(1,)](flag, o, B=64)
    long_loop[(1,)](x, o, 3, B=64)
    last_one_endless[(2,)](flag, o, B=64)
    flag[0], o[:] = 0, -1
    return {
        "many": (lambda: many_programs[(2**31 - 1, 50)](o, B=64), o),
        "endless": (lambda: endless[(1,)](flag, o, B=64), o),
        "endless everywhere": (lambda: endless[(64,)](flag, o, B=64), o),
        "loop": (lambda: long_loop[(1,)](x, o, 2**31 - 1, B=64), o),
        "helper": (lambda: last_one_endless[(2,)](flag, np.zeros(128, np.int32), B=64), o),
    }


def again() -> None:
    """Launches work as before: many, of any size, with every program once."""
    o = np.zeros(64 * 500, np.int32)
    for _ in range(20):
        one_more[(500,)](o, B=64)
    assert (o == 20).all(), o


def interrupted(name: str) -> None:
    """A launch, and Ctrl-C soon afterwards."""
    launch, written = launches()[name]
    again()
    threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    try:
        launch()
    except KeyboardInterrupt:
        seconds = time.monotonic() - begin
        before = written.copy()
        time.sleep(0.2)
        assert (written == before).all(), "a thread still writes"
        if name.startswith("endless"):
            assert (written == -1).all(), "a program ran on"
        again()
        print(f"interrupted after {seconds:.1f} s")
    else:
        print("not interrupted")


def handled() -> None:
    """A handler that raises nothing: the launch goes on; one that launches: both are right."""
    o, flag, seen = np.full(64, -1, np.int32), np.zeros(1, np.int32), []

    def handler(number: int, frame: object) -> None:
        seen.append(number)
        again()
        if len(seen) < 3:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
        else:
            flag[0] = 1

    again()  # imports and compiles are not to be interrupted by what needs them
    flag[0] = 1
    endless[(3,)](flag, o, B=64)
    flag[0], o[:] = 0, -1
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    endless[(3,)](flag, o, B=64)
    assert (o == np.arange(64)).all(), o
    again()
    print(f"handled {len(seen) >= 3}")


if __name__ == "__main__":
    if sys.argv[1] == "handled":
        handled()
    else:
        interrupted(sys.argv[1])
