"""What the simulator refuses, and groups of warps that wait for each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tri_core.errors import SimulationError
from tri_core.mlir import ir, session
from tri_runtime.simulator import CTA, External, simulate

Array = npt.NDArray[Any]
THREADS = 64
SHARED = 1 << 16  # where the simulator's shared memory begins
FLAG = SHARED + 512


@pytest.fixture(autouse=True)
def _context() -> Iterator[None]:
    with session():
        yield


def thread(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    return [np.arange(cta.num_threads, dtype=np.int32)]


def barrier(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    cta.barrier()
    return []


def half_barrier(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    cta.barrier(name=1 + int(np.flatnonzero(cta.active)[0]) // 32, count=32)
    return []


def _own(cta: CTA) -> Array:
    """Each thread's four bytes of shared memory."""
    return SHARED + 4 * np.arange(cta.num_threads)


def copy(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    cta.copies.start(cta.memory(3), _own(cta), np.arange(cta.num_threads, dtype=np.int32), cta.active)
    return []


def commit(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    cta.copies.commit(cta.active)
    return []


def wait(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    cta.copies.wait(0, cta.active)
    return []


def init(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    if cta.active[0]:
        cta.phases.init(FLAG, 32, np.arange(cta.num_threads) == 0)
    return []


def arrive(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    cta.phases.arrive(FLAG, cta.active)
    return []


def expect(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    cta.phases.arrive(FLAG, cta.active, expected_bytes=4 * int(cta.active.sum()))
    return []


def bring(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    values = 100 + np.arange(cta.num_threads, dtype=np.int32)
    cta.copies.start_with_barrier(cta.memory(3), _own(cta), values, cta.active, FLAG)
    return []


def wait_phase(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    cta.phases.wait(FLAG, 0)
    return []


EXTERNALS: dict[str, External] = {
    f.__name__: f
    for f in (thread, barrier, half_barrier, copy, commit, wait, init, arrive, expect, bring, wait_phase)
}
_DECLARED = "\n".join(f"llvm.func @{name}()" for name in EXTERNALS if name != "thread")
_HEAD = """%t = llvm.call @thread() : () -> i32
  %s = llvm.mlir.addressof @shared : !llvm.ptr<3>
  %mine = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %out = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %c32 = llvm.mlir.constant(32 : i32) : i32
  %other = llvm.xor %t, %c32 : i32
  %theirs = llvm.getelementptr %s[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %beside = llvm.xor %t, %one : i32
  %neighbour = llvm.getelementptr %s[%beside] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %low = llvm.icmp "slt" %t, %c32 : i32
"""


def call(name: str) -> str:
    return f"llvm.call @{name}() : () -> ()\n"


#: one thread starts the barrier in memory, and all know
START = call("init") + call("barrier")
STORE = "llvm.store %t, %mine : i32, !llvm.ptr<3>\n"


def load(place: str) -> str:
    return f"""%v = llvm.load %{place} : !llvm.ptr<3> -> i32
    llvm.store %v, %out : i32, !llvm.ptr<1>
    llvm.return"""


def halves(low: str, high: str) -> str:
    """The lower and the upper 32 threads do different things."""
    return f"llvm.cond_br %low, ^low, ^high\n^low:\n{low}\n^high:\n{high}"


def run(body: str, **options: Any) -> Array:
    text = f"""llvm.func @thread() -> i32
      {_DECLARED}
      llvm.mlir.global internal @shared() {{addr_space = 3 : i32}} : !llvm.array<1024 x i8>
      llvm.func @k(%p: !llvm.ptr<1>) {{
      {_HEAD}
      {body}
      }}"""
    x = np.full(THREADS, -1, np.int32)
    given = {"num_threads": THREADS, "threads_per_warp": 32, "shared_bytes": 1024, "externals": EXTERNALS}
    simulate(ir.Module.parse(text), "k", (1, 1, 1), [x], **{**given, **options})
    return x


def refused(check: str, body: str, match: str) -> SimulationError:
    with pytest.raises(SimulationError, match=match) as caught:
        run(body)
    assert caught.value.check == check
    assert caught.value.program == (0, 0, 0)
    return caught.value


# --- memory -----------------------------------------------------------------------------------------------


def test_a_read_of_what_nobody_wrote() -> None:
    error = refused("uninitialised", load("mine"), "thread 0 reads 4 bytes of shared memory at offset 0")
    assert error.thread == 0


def test_a_vector_that_is_not_aligned() -> None:
    body = """%v = llvm.load %out : !llvm.ptr<1> -> vector<4xi32>
      llvm.return"""
    refused("misaligned", body, "thread 1: load of 16 bytes at byte 4 of argument 0, which has 256 bytes")


def test_an_alignment_that_the_op_gives_is_the_one_that_counts() -> None:
    body = """%zero = llvm.mlir.constant(0 : i64) : i64
      %v = llvm.load %p {alignment = 4 : i64} : !llvm.ptr<1> -> vector<4xi32>
      llvm.return"""
    run(body)


def test_both_places_of_a_race_are_reported() -> None:
    body = f"""llvm.store %t, %mine : i32, !llvm.ptr<3> loc("kernel.py":3:5)
    %v = llvm.load %neighbour : !llvm.ptr<3> -> i32 loc("kernel.py":4:9)
    {load("mine").replace("%v", "%w")}"""
    error = refused("race", body, r"thread 0 reads what thread 1 wrote at kernel\.py:3:5")
    assert error.location is not None
    assert error.other is not None
    assert (error.location.line, error.other.line) == (4, 3)


# --- groups of warps --------------------------------------------------------------------------------------


def test_groups_have_barriers_of_their_own() -> None:
    body = STORE + halves(call("half_barrier") + "llvm.br ^join", call("half_barrier") + "llvm.br ^join")
    x = run(f"{body}\n^join:\n{load('neighbour')}")
    np.testing.assert_array_equal(x, np.arange(THREADS) ^ 1)


def test_a_barrier_of_a_group_orders_nothing_for_the_other() -> None:
    body = STORE + halves(call("half_barrier") + "llvm.br ^join", call("half_barrier") + "llvm.br ^join")
    refused("race", f"{body}\n^join:\n{load('theirs')}", "thread 0 reads what thread 32 wrote")


def test_barriers_in_different_places_meet() -> None:
    body = STORE + halves(call("barrier") + "llvm.br ^join", call("barrier") + "llvm.br ^join")
    x = run(f"{body}\n^join:\n{load('theirs')}")
    np.testing.assert_array_equal(x, np.arange(THREADS) ^ 32)


def test_a_deadlock_names_the_waiters() -> None:
    body = halves(
        call("barrier") + "llvm.return", call("half_barrier") * 2 + call("wait_phase") + "llvm.return"
    )
    refused("asynchronous", body, "no barrier was initialised")
    body = START + halves(call("barrier") + "llvm.return", call("wait_phase") + "llvm.return")
    error = refused("deadlock", body, "threads 0-31 wait for a barrier that 32 of 64 threads reach")
    assert "threads 32-63 wait for the barrier at 0x10200 (phase 0, 0 of 32 arrivals" in error.message


PRODUCE = STORE + call("arrive") + "llvm.return"


def test_a_consumer_waits_for_its_producer() -> None:
    x = run(START + halves(call("wait_phase") + load("theirs"), PRODUCE))
    np.testing.assert_array_equal(x[:32], np.arange(32) + 32)


def test_a_consumer_that_does_not_wait_races() -> None:
    body = START + halves(call("half_barrier") * 2 + "llvm.br ^late\n^late:\n" + load("theirs"), PRODUCE)
    # the consumer runs first here, and finds what nobody has written yet
    refused("uninitialised", body, "nobody has written")


def test_a_phase_that_is_never_signalled() -> None:
    body = START + halves(call("wait_phase") + load("theirs"), STORE + "llvm.return")
    error = refused("deadlock", body, "threads 0-31 wait for the barrier at 0x10200 .phase 0")
    assert "threads 32-63 have left the kernel" in error.message


# --- asynchronous copies ----------------------------------------------------------------------------------


def test_a_copy_that_is_waited_for() -> None:
    x = run(call("copy") + call("commit") + call("wait") + call("barrier") + load("theirs"))
    np.testing.assert_array_equal(x, np.arange(THREADS) ^ 32)


def test_a_read_before_its_wait() -> None:
    error = refused("asynchronous", call("copy") + call("commit") + load("mine"), "has not been waited for")
    assert "by llvm.call" in error.message or "at -:" in error.message


def test_a_wait_does_not_cover_what_was_not_committed() -> None:
    refused("asynchronous", call("copy") + call("wait") + load("mine"), "has not been waited for")


def test_a_wait_is_no_barrier() -> None:
    body = call("copy") + call("commit") + call("wait") + load("theirs")
    refused("race", body, "thread 0 reads what thread 32 wrote")


def test_a_copy_that_nobody_waits_for() -> None:
    refused(
        "asynchronous", call("copy") + call("commit") + "llvm.return", "never waits for an asynchronous copy"
    )


def test_a_copy_lands_when_its_phase_is_complete() -> None:
    produce = call("expect") + call("bring") + "llvm.return"
    x = run(START + halves(call("wait_phase") + load("theirs"), produce))
    np.testing.assert_array_equal(x[:32], np.arange(32) + 132)


def test_bytes_that_never_come() -> None:
    body = START + halves(call("wait_phase") + load("theirs"), call("expect") + "llvm.return")
    refused("deadlock", body, r"32 of 32 arrivals, 128 bytes to come")
