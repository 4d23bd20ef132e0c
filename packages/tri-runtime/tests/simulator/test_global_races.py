"""Races in simulated global memory, kernel by kernel in the llvm dialect: threads, barriers, releases."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tri_core.errors import DataRace
from tri_core.mlir import ir, session
from tri_runtime.simulator import CTA, External, simulate
from tri_runtime.simulator.global_races import SimulatedDataRace

Array = npt.NDArray[Any]
THREADS = 64


@pytest.fixture(autouse=True)
def _context() -> Iterator[None]:
    with session():
        yield


def thread(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    return [np.arange(cta.num_threads, dtype=np.int32)]


def program(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    return [np.full(cta.num_threads, cta.program_id[0], np.int32)]


def barrier(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    cta.barrier()
    return []


def warp_barrier(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    cta.warp_barrier()
    return []


def named_barrier(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
    """The threads of the first two warps of 16 synchronise."""
    cta.barrier(1, 32)
    return []


EXTERNALS: dict[str, External] = {
    "thread": thread,
    "program": program,
    "barrier": barrier,
    "warp_barrier": warp_barrier,
    "named_barrier": named_barrier,
}
DECLARATIONS = """llvm.func @thread() -> i32
  llvm.func @program() -> i32
  llvm.func @barrier()
  llvm.func @warp_barrier()
  llvm.func @named_barrier()"""


def run(body: str, *arguments: Array, parameters: str = "%p: !llvm.ptr<1>", **options: Any) -> None:
    """``body`` with %t the thread, %g the program, %one 1 and %a the place of the thread in %p."""
    module = ir.Module.parse(
        f"""{DECLARATIONS}
        llvm.func @k({parameters}) {{
          %t = llvm.call @thread() : () -> i32
          %g = llvm.call @program() : () -> i32
          %zero = llvm.mlir.constant(0 : i32) : i32
          %one = llvm.mlir.constant(1 : i32) : i32
          %a = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
          {body}
          llvm.return
        }}"""
    )
    given: dict[str, Any] = {
        "num_threads": THREADS,
        "threads_per_warp": 16,
        "externals": EXTERNALS,
        **options,
    }
    simulate(module, "k", given.pop("grid", (1, 1, 1)), arguments, check_global_races=True, **given)


def numbers() -> Array:
    return np.zeros(THREADS, np.int32)


def exchange(distance: int, between: str, *, loads_first: bool = False) -> str:
    """Every thread stores its number, and loads what the one ``distance`` away (xor) stores."""
    store = "llvm.store %t1, %a : i32, !llvm.ptr<1>"
    load = "%v = llvm.load %b : !llvm.ptr<1> -> i32"
    first, second = (load, store) if loads_first else (store, load)
    return f"""%d = llvm.mlir.constant({distance} : i32) : i32
      %o = llvm.xor %t, %d : i32
      %t1 = llvm.add %t, %one : i32
      %b = llvm.getelementptr %p[%o] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      {first}
      {between}
      {second}"""


@pytest.mark.parametrize("loads_first", [False, True])
def test_a_barrier_orders_threads(loads_first: bool) -> None:
    run(exchange(32, "llvm.call @barrier() : () -> ()", loads_first=loads_first), numbers())
    run(exchange(1, "llvm.call @warp_barrier() : () -> ()", loads_first=loads_first), numbers())
    for distance, between in ((32, ""), (1, ""), (32, "llvm.call @warp_barrier() : () -> ()")):
        with pytest.raises(DataRace, match="not ordered") as caught:
            run(exchange(distance, between, loads_first=loads_first), numbers())
        error = pickle.loads(pickle.dumps(caught.value))
        assert isinstance(error, SimulatedDataRace)
        assert error.check == "race"
        first, second = error.accesses
        assert first.thread is not None
        assert second.thread == first.thread ^ distance
        assert (first.kind, second.kind) == (("load", "store") if loads_first else ("store", "load"))
        assert error.element == (second.thread if loads_first else first.thread)


def test_a_barrier_of_some_threads_orders_those() -> None:
    """Threads below 32 synchronise and exchange; the others stay away."""
    synchronizes = """%few = llvm.mlir.constant(32 : i32) : i32
      %low = llvm.icmp "slt" %t, %few : i32
      llvm.cond_br %low, ^in, ^out
      ^in:
      {body}
      llvm.br ^out
      ^out:"""
    run(synchronizes.format(body=exchange(16, "llvm.call @named_barrier() : () -> ()")), numbers())
    with pytest.raises(DataRace):
        run(synchronizes.format(body=exchange(16, "")), numbers())


def test_an_element_that_its_own_thread_updates() -> None:
    body = """%v = llvm.load %a : !llvm.ptr<1> -> i32
      %w = llvm.add %v, %one : i32
      llvm.store %w, %a : i32, !llvm.ptr<1>"""
    run(body * 1, numbers())
    run(body + body.replace("%v", "%x").replace("%w", "%y"), numbers())


def test_copies_of_an_element() -> None:
    """All threads load it, one of them stores it anew, and all load that: who stores has its own."""
    run(
        """%v = llvm.load %p : !llvm.ptr<1> -> i32
      %w = llvm.add %v, %one : i32
      %first = llvm.icmp "eq" %t, %zero : i32
      llvm.cond_br %first, ^in, ^out
      ^in:
      llvm.store %w, %p : i32, !llvm.ptr<1>
      llvm.br ^out
      ^out:
      %u = llvm.load %p : !llvm.ptr<1> -> i32""",
        numbers(),
    )


def test_threads_of_one_store() -> None:
    with pytest.raises(DataRace) as caught:
        run("llvm.store %t, %p : i32, !llvm.ptr<1>", numbers())
    first, second = caught.value.accesses
    assert first.thread != second.thread
    run("llvm.store %one, %p : i32, !llvm.ptr<1>", numbers())


#: thread 63 stores, thread 0 releases; the next program's thread 0 acquires
MESSAGE = """%last = llvm.mlir.constant(63 : i32) : i32
      %begins = llvm.icmp "eq" %g, %zero : i32
      %first = llvm.icmp "eq" %t, %zero : i32
      llvm.cond_br %begins, ^tells, ^hears
      ^tells:
      %end = llvm.icmp "eq" %t, %last : i32
      llvm.cond_br %end, ^stores, ^barrier
      ^stores:
      llvm.store %one, %p : i32, !llvm.ptr<1>
      llvm.br ^barrier
      ^barrier:
      {between}
      llvm.cond_br %first, ^releases, ^out
      ^releases:
      {release}
      %old = llvm.atomicrmw add %q, %one {order} : !llvm.ptr<1>, i32
      llvm.br ^out
      ^hears:
      llvm.cond_br %first, ^acquires, ^out
      ^acquires:
      %got = {take}
      {acquire}
      %v = llvm.load %p : !llvm.ptr<1> -> i32
      llvm.br ^out
      ^out:"""
TWO = "%p: !llvm.ptr<1>, %q: !llvm.ptr<1>"


BARRIER = "llvm.call @barrier() : () -> ()"
LOAD = "llvm.load %q atomic {} {{alignment = 4 : i64}} : !llvm.ptr<1> -> i32"
RELEASE, ACQUIRE, OF_CTA = "llvm.fence release", "llvm.fence acquire", 'llvm.fence syncscope("block") acq_rel'


@pytest.mark.parametrize(
    ("between", "order", "fences", "take", "is_ordered"),
    [
        (BARRIER, "acq_rel", ("", ""), "", True),
        (BARRIER, "monotonic", ("", ""), "", False),
        ("", "acq_rel", ("", ""), "", False),
        # relaxed atomics between fences, and loads
        (BARRIER, "monotonic", (RELEASE, ACQUIRE), "", True),
        ("", "monotonic", (RELEASE, ACQUIRE), "", False),
        (BARRIER, "monotonic", (RELEASE, ""), "", False),
        (BARRIER, "monotonic", ("", ACQUIRE), "", False),
        (BARRIER, "monotonic", (OF_CTA, OF_CTA), "", False),
        (BARRIER, "release", ("", ""), LOAD.format("acquire"), True),
        (BARRIER, "release", ("", ""), LOAD.format("monotonic"), False),
        (BARRIER, "release", ("", ACQUIRE), LOAD.format("monotonic"), True),
    ],
)
def test_a_release_tells_of_what_a_barrier_ordered_before_it(
    between: str, order: str, fences: tuple[str, str], take: str, is_ordered: bool
) -> None:
    release, acquire = fences
    text = MESSAGE.format(
        between=between, order=order, release=release, acquire=acquire,
        take=take or f"llvm.atomicrmw add %q, %one {order} : !llvm.ptr<1>, i32",
    )  # fmt: skip

    def launch() -> None:
        run(text, numbers(), numbers(), parameters=TWO, grid=(2, 1, 1))

    if is_ordered:
        launch()
        return
    with pytest.raises(DataRace) as caught:
        launch()
    first, second = caught.value.accesses
    assert (first.program, second.program) == ((0, 0, 0), (1, 0, 0))


def test_ctas_of_a_cluster_are_distinguished() -> None:
    """Thread t of either CTA stores to one place: a race between threads of one program."""
    body = """%n = llvm.add %t, %g : i32
      llvm.store %n, %a : i32, !llvm.ptr<1>"""
    ranks: dict[str, External] = {
        **EXTERNALS,
        "program": lambda cta, operands: [np.full(cta.num_threads, cta.rank, np.int32)],
    }
    with pytest.raises(DataRace, match=r"thread 65 .* thread 1 "):
        run(body, numbers(), grid=(2, 1, 1), cluster=2, externals=ranks)
