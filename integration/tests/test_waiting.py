"""Kernels that wait for memory that others write, on the CPU target."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

import tri
import tri.language as tl


@tri.jit
def wait(flag_ptr: Any, out_ptr: Any) -> None:
    seen: Any = tl.load(flag_ptr, volatile=True)
    rounds = 0
    while seen == 0:
        seen = tl.load(flag_ptr, volatile=True)
        rounds += 1
    tl.store(out_ptr, seen)
    tl.store(out_ptr + 1, rounds)


def test_a_volatile_load_sees_what_another_thread_writes() -> None:
    flag, out = np.zeros(1, np.int32), np.zeros(2, np.int32)

    def launch() -> None:
        with tri.target("cpu"):
            wait[(1,)](flag, out)

    flag[0] = 1
    launch()  # compiled
    assert out.tolist() == [1, 0]
    flag[0] = 0
    thread = threading.Thread(target=launch, daemon=True)
    thread.start()
    time.sleep(0.05)
    flag[0] = 7
    thread.join(timeout=20)
    assert not thread.is_alive()
    assert out[0] == 7
    assert out[1] > 0
