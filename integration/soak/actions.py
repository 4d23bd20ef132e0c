"""Actions of a soaked process, one after the other: each action ends right, or the process fails."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from integration.soak.kernels import CHECKS, endless, runs_new_code
from integration.soak.mixing import mix
from tri_core import knobs
from tri_core.compiler import forget

__all__ = ["ACTIONS", "State"]

#: seconds that a child, or a launch that is interrupted, may take
_PATIENCE = 60.0
_PROT_NONE, _NORESERVE = 0, 0x4000
#: reserved address space is given up beyond this
_MOST_RESERVED = 200 << 30


@dataclass
class State:
    """A process's random numbers and what it holds on to."""

    draw: np.random.Generator
    threads: int
    reserved: list[tuple[int, int]] = field(default_factory=list)


def launch(state: State) -> None:
    """Kernels that are known by now, on some number of threads."""
    with knobs.scope(CPU_THREADS=int(state.draw.integers(1, state.threads + 1))):
        for _ in range(int(state.draw.integers(1, 20))):
            CHECKS[int(state.draw.integers(len(CHECKS)))](state.draw)


def compile_new(state: State) -> None:
    """New kernels."""
    for _ in range(int(state.draw.integers(1, 4))):
        runs_new_code(state.draw)


def from_threads(state: State) -> None:
    """Many threads compile and launch at once, each with a heap of its own."""
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        draw = np.random.default_rng(seed)
        try:
            for _ in range(3):
                CHECKS[int(draw.integers(len(CHECKS)))](draw)
            if seed % 4 == 0:
                runs_new_code(draw)
        except BaseException as error:
            failures.append(error)

    seeds = state.draw.integers(2**31, size=max(4, state.threads))
    threads = [threading.Thread(target=work, args=(int(seed),)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def fork_while_compiling(state: State) -> None:
    """Children compile and launch; they are forked while another thread compiles."""
    end = threading.Event()

    def compile_on(seed: int) -> None:
        draw = np.random.default_rng(seed)
        while not end.is_set():
            runs_new_code(draw)

    thread = threading.Thread(target=compile_on, args=(int(state.draw.integers(2**31)),))
    thread.start()
    try:
        for _ in range(int(state.draw.integers(1, 4))):
            time.sleep(float(state.draw.random()) * 0.05)
            _in_a_child(int(state.draw.integers(2**31)))
    finally:
        end.set()
        thread.join()


def _in_a_child(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of forking with threads, which is what is tried here
        child = os.fork()
    if child == 0:
        code = 1
        try:
            draw = np.random.default_rng(seed)
            runs_new_code(draw)
            CHECKS[seed % len(CHECKS)](draw)
            code = 0
        finally:
            os._exit(code)
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            assert status == 0, f"a child ended with {os.waitstatus_to_exitcode(status)}"
            return
        time.sleep(0.005)
    os.kill(child, signal.SIGABRT)
    os.waitpid(child, 0)
    raise AssertionError(f"a child (seed {seed}) was not done after {_PATIENCE:g} s")


def interrupt(state: State) -> None:
    """Ctrl-C during a launch that does not end."""
    flag, o = np.zeros(1, np.int32), np.zeros(64, np.int32)
    timer = threading.Timer(0.05 + float(state.draw.random()) * 0.2, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    try:
        timer.start()
        with knobs.scope(CPU_THREADS=int(state.draw.integers(1, state.threads + 1))):
            endless[(int(state.draw.integers(1, 65)),)](flag, o)
    except KeyboardInterrupt:
        assert not o.any(), "a program ran on"
        assert time.monotonic() - begin < _PATIENCE, "it took too long"
    else:
        raise AssertionError("the interrupt did not reach the launch")


def alarm(state: State) -> None:
    """A handler that launches, during a launch; all kernels are known, since Python's imports are not reentrant."""
    flag, o, seen = np.ones(1, np.int32), np.zeros(8, np.int32), list[int]()
    for check in CHECKS:
        check(state.draw)
    endless[(8,)](flag, o)
    flag[:], o[:] = 0, 0

    def handler(number: int, frame: object) -> None:
        seen.append(number)
        CHECKS[len(seen) % len(CHECKS)](state.draw)
        flag[0] = len(seen) > 1
        if not flag[0]:
            signal.setitimer(signal.ITIMER_REAL, 0.05)

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        endless[(8,)](flag, o)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert o.all(), o


def press(state: State) -> None:
    """Address space is reserved and given up, so that what is mapped next lies far from what there was."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    for _ in range(int(state.draw.integers(1, 6))):
        size = int(state.draw.integers(1, 1 << 20)) * mmap.PAGESIZE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
        address = libc.mmap(None, size, _PROT_NONE, flags, -1, 0)
        if address not in (None, ctypes.c_size_t(-1).value):
            state.reserved.append((address, size))
    while sum(size for _, size in state.reserved) > _MOST_RESERVED or len(state.reserved) > 500:
        libc.munmap(*state.reserved.pop(int(state.draw.integers(len(state.reserved)))))


def let_go(state: State) -> None:
    """Kernels are forgotten: loaded again from the store, or made anew."""
    del state
    forget()
    gc.collect()


def mix_targets(state: State) -> None:
    """Threads that use one kernel on several targets, under a small switch interval."""
    mix(int(state.draw.integers(2**31)))


#: by name, with how often each comes
ACTIONS: dict[str, tuple[Callable[[State], None], int]] = {
    "launch": (launch, 10),
    "compile": (compile_new, 4),
    "threads": (from_threads, 2),
    "fork": (fork_while_compiling, 2),
    "interrupt": (interrupt, 2),
    "alarm": (alarm, 2),
    "mix": (mix_targets, 1),
    "press": (press, 6),
    "let go": (let_go, 1),
}
