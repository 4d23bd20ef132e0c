"""Weak memory, access by access."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from tri_runtime.simulator.allocation import Allocation
from tri_runtime.simulator.weak import WeakMemory


class Two:
    """Two CTAs, ``a`` and ``b``, with 512 bytes."""

    def __init__(self) -> None:
        self.memory = WeakMemory(Random(0))
        self.bytes = Allocation("x", 4096, np.zeros(512, np.uint8))
        self.a: Any = object()
        self.b: Any = object()

    def store(self, cta: Any, offset: int, value: int, *, strong: bool = False) -> None:
        self.memory.enter(cta)
        rows = np.full((1, 1), value, np.uint8)
        if strong:
            with self.memory.strong():
                self.memory.store(self.bytes, np.array([offset]), rows)
        else:
            self.memory.store(self.bytes, np.array([offset]), rows)

    def load(self, cta: Any, offset: int, *, strong: bool = False) -> int:
        self.memory.enter(cta)
        places = np.array([[offset]])
        if strong:
            with self.memory.strong():
                return int(self.memory.load(self.bytes, places)[0, 0])
        return int(self.memory.load(self.bytes, places)[0, 0])


def test_a_store_is_seen_by_its_cta_at_once_and_by_others_after_a_release() -> None:
    two = Two()
    two.store(two.a, 0, 1)
    assert (two.load(two.a, 0), two.load(two.b, 256)) == (1, 0)
    assert two.bytes.data[0] == 0
    two.memory.enter(two.a)
    two.memory.release()
    assert two.load(two.b, 0) == 1


def test_a_line_that_was_loaded_stays_as_it_was_until_an_acquire() -> None:
    two = Two()
    assert two.load(two.b, 5) == 0
    two.store(two.a, 0, 1, strong=True)
    assert two.load(two.b, 0) == 0
    assert two.memory.old_loads(two.b) == 1
    two.memory.acquire()
    assert two.load(two.b, 0) == 1
    assert two.memory.old_loads(two.b) == 0


def test_a_line_that_was_not_loaded_is_loaded_from_memory() -> None:
    two = Two()
    two.load(two.b, 128)
    two.store(two.a, 0, 1, strong=True)
    assert two.load(two.b, 0) == 1


def test_strong_accesses_of_a_word_are_in_order_with_plain_ones() -> None:
    two = Two()
    two.load(two.b, 0)
    two.store(two.a, 0, 1, strong=True)
    assert two.load(two.b, 0, strong=True) == 1
    assert two.load(two.b, 0) == 1, "a word does not go back"
    two.store(two.b, 0, 2)
    assert two.load(two.b, 0, strong=True) == 2
    assert two.bytes.data[0] == 2


def test_stores_to_common_bytes_drain_in_order() -> None:
    two = Two()
    for value in range(1, 9):
        two.store(two.a, 0, value)
    two.memory.enter(two.a)
    for expected in range(1, 9):
        two.memory.drain_one()
        assert two.bytes.data[0] <= expected + 8
    two.memory.release()
    assert two.bytes.data[0] == 8


def test_a_cta_that_ends_leaves_nothing_behind() -> None:
    two = Two()
    two.store(two.a, 0, 1)
    two.store(two.b, 1, 2)
    two.memory.leave(two.a)
    assert two.bytes.data[:2].tolist() == [1, 0]
    assert two.memory.settle()
    assert not two.memory.settle()
    assert two.bytes.data[:2].tolist() == [1, 2]
