"""While kernels are compiled the garbage collector is asked less often; afterwards, as often as its owner wants."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tri_core.compiler import compile as compile_kernel
from tri_core.garbage import YOUNG, collected_seldom


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_threshold_is_raised_and_comes_back() -> None:
    with collected_seldom():
        assert gc.get_threshold()[0] == YOUNG
        with collected_seldom():
            assert gc.get_threshold()[0] == YOUNG
        assert gc.get_threshold()[0] == YOUNG
    assert gc.get_threshold()[0] == 700


def test_threshold_comes_back_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), collected_seldom():
        raise ZeroDivisionError
    assert gc.get_threshold()[0] == 700


def test_other_threads_keep_it_raised() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with collected_seldom():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with collected_seldom():
        thread.start()
        assert inside.wait(10)
    assert gc.get_threshold()[0] == YOUNG
    leave.set()
    thread.join()
    assert gc.get_threshold()[0] == 700


@pytest.mark.parametrize("wanted", [(0, 10, 10), (YOUNG * 2, 5, 5)])
def test_who_asks_as_seldom_already_keeps_it(wanted: tuple[int, int, int]) -> None:
    gc.set_threshold(*wanted)
    with collected_seldom():
        assert gc.get_threshold() == wanted
    assert gc.get_threshold() == wanted


def test_what_is_set_meanwhile_stays() -> None:
    with collected_seldom():
        gc.set_threshold(1234, 5, 6)
    assert gc.get_threshold()[0] == 1234


IN_A_PROCESS = """
import gc
from tri_core.garbage import collected_seldom

FROZEN = {frozen}
gc.collect()
if FROZEN:
    gc.freeze()
ages, kept = [], []
for _ in range(2):
    with collected_seldom():
        kept.append(made := [[] for _ in range(5000)])
        gc.callbacks.append(lambda phase, info: ages.append(info["generation"]) if phase == "stop" else None)
    later = [[] for _ in range(10)]
    gc.callbacks.clear()
    old = any(one is made for one in gc.get_objects(generation=2))
    print(old, bool(ages), gc.get_freeze_count() > 0)
    ages.clear()
"""


@pytest.mark.parametrize(
    ("frozen", "printed"),
    [
        # the second compile's cycles are looked for, as everybody's
        (False, ["True False False", "False True False"]),
        (True, ["False True True", "False True True"]),
    ],
    ids=["first", "somebody's own"],
)
def test_what_the_first_compile_made_is_old_without_a_collection(frozen: bool, printed: list[str]) -> None:
    ran = [sys.executable, "-c", IN_A_PROCESS.format(frozen=frozen)]
    assert subprocess.run(ran, capture_output=True, text=True, check=True).stdout.splitlines() == printed


def test_cycles_are_still_collected() -> None:
    class Node:
        alive = 0

        def __init__(self) -> None:
            self.me = self
            Node.alive += 1

        def __del__(self) -> None:
            Node.alive -= 1

    with collected_seldom():
        for _ in range(YOUNG * 3):
            Node()
        assert Node.alive < YOUNG * 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_has_its_own_again() -> None:
    with collected_seldom():
        child = os.fork()
        if child == 0:
            os._exit(gc.get_threshold()[0] != 700)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert gc.get_threshold()[0] == YOUNG


def test_a_compile_collects_seldom(toy: Any, source: Any) -> None:
    seen = list[int]()

    class Watching(type(source())):  # type: ignore[misc]  # a class of the fixture's
        def build(self, target: Any, options: Any) -> Any:
            seen.append(gc.get_threshold()[0])
            return super().build(target, options)

    compile_kernel(Watching(), "toy:one")
    assert seen == [YOUNG]
    assert gc.get_threshold()[0] == 700
