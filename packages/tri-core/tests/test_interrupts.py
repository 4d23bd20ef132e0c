"""Signals that wait until code that cannot be left half done has ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from tri_core.interrupts import deferred

#: the first function of Python that the bindings run while they define themselves is interrupted
INTERRUPTED = """
import os, signal, sys

def profile(frame, event, argument):
    if event == "call" and frame.f_code.co_filename == "<internal>":
        sys.setprofile(None)
        os.kill(os.getpid(), signal.SIGINT)

sys.setprofile(profile)
try:
    import tri_core.bindings
except KeyboardInterrupt:
    print("interrupted")
assert sys.getprofile() is None, "nothing was interrupted"
from tri_core.mlir import context
print(context().is_registered_operation("func.func"))
"""


@pytest.fixture
def seen() -> Iterator[list[int]]:
    """The signals that reached the handlers of SIGUSR1, which returns, and of SIGUSR2, which raises."""
    arrived: list[int] = []

    def stays(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    def raises(number: int, frame: FrameType | None) -> None:
        arrived.append(number)
        raise InterruptedError(number)

    before = signal.signal(signal.SIGUSR1, stays), signal.signal(signal.SIGUSR2, raises)
    yield arrived
    signal.signal(signal.SIGUSR1, before[0])
    signal.signal(signal.SIGUSR2, before[1])


def test_handlers_run_when_the_block_has_ended(seen: list[int]) -> None:
    handler = signal.getsignal(signal.SIGUSR1)
    with deferred():
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGUSR1)
        assert not seen
    assert seen == [signal.SIGUSR1]
    assert signal.getsignal(signal.SIGUSR1) is handler


def test_what_a_handler_raises_comes_out_and_the_others_run(seen: list[int]) -> None:
    def block() -> None:
        with deferred():
            os.kill(os.getpid(), signal.SIGUSR2)
            os.kill(os.getpid(), signal.SIGUSR1)

    with pytest.raises(InterruptedError):
        block()
    assert seen == [signal.SIGUSR2, signal.SIGUSR1]


def test_blocks_nest(seen: list[int]) -> None:
    with deferred():
        with deferred():
            os.kill(os.getpid(), signal.SIGUSR1)
        assert not seen
    assert seen == [signal.SIGUSR1]


def test_no_handler_runs_in_another_thread() -> None:
    before = signal.getsignal(signal.SIGINT)
    during: list[object] = []

    def block() -> None:
        with deferred():
            during.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=block)
    thread.start()
    thread.join()
    assert during == [before]


def test_bindings_that_are_interrupted_while_they_load() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["interrupted", "True"], "")
