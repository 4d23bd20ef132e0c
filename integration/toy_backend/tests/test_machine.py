"""Each machine op does what it says, and is emitted as a call that the device's compiler knows."""

from __future__ import annotations

import numpy as np
import pytest

from by_hand import Body, emitted, simulated

THREADS = np.arange(64)

BUILTINS: dict[str, Body] = {
    "thread_id": lambda b, words: words.thread_id(b),
    "program_id": lambda b, words: words.program_id(b, 1),
    "num_programs": lambda b, words: words.num_programs(b, 2),
    "shuffle": lambda b, words: words.shuffle_idx(b, words.thread_id(b), b.int_(3)),
}


def test_threads_are_numbered() -> None:
    np.testing.assert_array_equal(simulated(BUILTINS["thread_id"]), THREADS)


def test_programs_are_numbered_along_each_axis() -> None:
    # blocks run one after the other here: what stays is the last one's
    for axis in range(3):
        out = simulated(lambda b, words, axis=axis: words.program_id(b, axis), grid=(2, 3, 4))  # type: ignore[misc]
        assert set(out) == {(2, 3, 4)[axis] - 1}
    assert set(simulated(BUILTINS["num_programs"], grid=(2, 3, 4))) == {4}


@pytest.mark.parametrize("lane", [0, 5, 31])
def test_a_shuffle_reads_a_lane_of_its_own_warp(lane: int) -> None:
    out = simulated(lambda b, words: words.shuffle_idx(b, words.thread_id(b), b.int_(lane)))
    np.testing.assert_array_equal(out, THREADS // 32 * 32 + lane)


@pytest.mark.parametrize("name", BUILTINS)
def test_a_machine_op_becomes_a_call(name: str) -> None:
    made = emitted(BUILTINS[name])
    assert f"@__toy_{name}" in made
    assert '"toy.' not in made


def test_a_barrier_stays_where_it_is() -> None:
    def body(b, words):  # type: ignore[no-untyped-def]
        words.barrier(b)
        return b.int_(0)

    (call,) = [line for line in emitted(body).splitlines() if "llvm.call" in line and "barrier" in line]
    assert "convergent" in call
