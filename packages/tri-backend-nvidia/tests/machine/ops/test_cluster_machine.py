"""What CTAs of a cluster see of each other in the simulator, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cluster_cases import SIZE, peer, ring, start_together, synchronize
from machine_cases import Column, Kernel, MachineCase, any_bits, build, each
from machine_runs import ptx_text, simulated
from tma_cases import CASES, THREADS, _at
from tri_backend_nvidia.machine import (
    ClusterBarrierOp,
    PeerArriveOp,
    PeerLoadOp,
    PeerStoreOp,
    PeerWaitOp,
)
from tri_core.errors import SimulationError


def by_cta(words: np.ndarray) -> np.ndarray:
    """Rows by (program, CTA of the cluster, thread)."""
    return words.reshape(-1, SIZE, THREADS, words.shape[-1])


def elsewhere(words: np.ndarray, distance: int, partner: int) -> np.ndarray:
    """For each thread the row of the thread that differs so in CTA and number."""
    rows = by_cta(words)[:, np.arange(SIZE) ^ distance]
    return rows[:, :, np.arange(THREADS) ^ partner].reshape(words.shape)


@pytest.mark.parametrize(
    ("name", "distance"),
    [("load_cluster-v2", 3), ("load_cluster-v4", 3), ("load_cluster-byte", 1), ("barrier_cluster", 3)],
)
def test_threads_read_what_others_wrote(name: str, distance: int) -> None:
    case = CASES[name]
    (words,), _ = case.arguments()
    np.testing.assert_array_equal(simulated(case)[0], elsewhere(words, distance, 37))


def test_threads_write_where_they_say() -> None:
    case = CASES["store_cluster"]
    (words,), _ = case.arguments()
    sent = elsewhere(words, 2, 21)
    np.testing.assert_array_equal(simulated(case)[0], np.where(sent[:, :1] > 0, sent, [7, 8]))


def test_arrivals_release_what_was_written() -> None:
    case = CASES["mbarrier_arrive_cluster"]
    (words,), _ = case.arguments()
    expected = [elsewhere(words[:, i : i + 1], distance, 37) for i, distance in enumerate((1, 3))]
    np.testing.assert_array_equal(simulated(case)[0], np.concatenate(expected, axis=1))


def test_a_box_goes_to_the_ctas_of_the_mask() -> None:
    case = CASES["tma_load-multicast"]
    (words,), _ = case.arguments()
    tensor = words.reshape(-1, 16)[:64]
    got = by_cta(simulated(case)[0])[0].reshape(SIZE, 8, 16)
    for rank, row in enumerate((32, 8, 32, 8)):
        np.testing.assert_array_equal(got[rank], tensor[row : row + 8])


def test_slots_are_filled_again_when_all_have_read_them() -> None:
    case = CASES["tma_load-ring"]
    (words,), _ = case.arguments()
    boxes = words.reshape(-1)[: 64 * 16].reshape(8, 128)[:4]
    got = simulated(case)[0].reshape(2, THREADS, 4)
    for cta in got:
        np.testing.assert_array_equal(cta.T, boxes[:, np.arange(THREADS) ^ 37])


def test_a_slot_that_another_cta_still_reads_is_found() -> None:
    case = replace(CASES["tma_load-ring"], name="wrong", body=lambda k: ring(k, everyone=False))
    with pytest.raises(SimulationError) as caught:
        simulated(case)
    assert caught.value.check in ("race", "asynchronous")


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("tma_load")])
def test_no_case_compares_maps(name: str) -> None:
    """What a kernel leaves of a map is another thing on each device."""
    assert not simulated(CASES[name])[1].any()


def test_registers_of_a_cluster() -> None:
    rows = 8 * 2 * THREADS
    ctas = np.repeat(np.arange(16), THREADS)
    expected = {"cluster.ctarank": ctas % SIZE, "ctaid.x": ctas % 8, "clusterid.x": ctas % 8 // SIZE}
    for name, numbers in expected.items():
        got = simulated(CASES[f"read_register-{name}-in_cluster"])[0]
        np.testing.assert_array_equal(got.reshape(rows), numbers)


def test_the_kernel_says_the_size_of_its_cluster() -> None:
    text = ptx_text(CASES["mapa"])
    assert ".explicitcluster" in text
    assert ".reqnctapercluster 4" in text
    assert "cluster" not in ptx_text(CASES["barrier"])


# --- what is wrong ----------------------------------------------------------------------------------------


def run(body) -> None:
    columns = ((Column("i4"),), (Column("i4"),))
    given = {"shared": 2048, "grid": (SIZE, 1, 1), "cluster": SIZE}
    simulated(MachineCase("wrong", "", *columns, body, each(any_bits("i4")), **given))


def exchange(k: Kernel, before, after) -> None:
    own = k.b.gep(k.shared(), k.thread, k.b.i32)
    k.b.store(k.read(0)[0], own)
    before()
    k.write(1, *build(PeerLoadOp, [peer(k, own, 1)], [k.b.i32]))
    after()


def unordered(k: Kernel) -> None:
    exchange(k, lambda: build(ClusterBarrierOp, [], step="arrive"), meet_end)


def meet_end() -> None:
    build(ClusterBarrierOp, [], step="wait")


def overwritten(k: Kernel) -> None:
    own = k.b.gep(k.shared(), k.thread, k.b.i32)
    exchange(k, synchronize, lambda: k.b.store(k.b.int_(5), own) and None)
    synchronize()


def gone(k: Kernel) -> None:
    """CTA 0 leaves; CTA 1 takes a way through its own barrier and then writes there."""
    b = k.b
    barrier = start_together(k, THREADS)
    own = b.gep(k.shared(), k.thread, b.i32)

    def late() -> None:
        build(PeerArriveOp, [peer(k, barrier, 0), b.true()], scope="cluster")
        build(PeerWaitOp, [barrier, b.int_(0)], polls=0)
        build(PeerStoreOp, [peer(k, own, 1), b.int_(1), b.true()])

    b.if_(b.cmp("eq", k.hw.cta_rank(b), b.int_(1)), late)


def alone(k: Kernel) -> None:
    k.b.if_(
        k.b.cmp("eq", k.hw.cta_rank(k.b), k.b.int_(2)),
        lambda: build(ClusterBarrierOp, [], step="wait") and None,
    )


def never(k: Kernel) -> None:
    """Nobody arrives where CTA 3 waits, and the others wait for it."""
    barrier = start_together(k, THREADS)
    last = k.b.cmp("eq", k.hw.cta_rank(k.b), k.b.int_(3))
    k.b.if_(last, lambda: build(PeerWaitOp, [barrier, k.b.int_(0)], polls=0) and None)
    synchronize()


def twice(k: Kernel) -> None:
    last = k.b.cmp("ne", k.hw.cta_rank(k.b), k.b.int_(3))
    build(ClusterBarrierOp, [], step="arrive")
    k.b.if_(last, lambda: build(ClusterBarrierOp, [], step="arrive") and None)


def nobody(k: Kernel) -> None:
    build(PeerStoreOp, [peer(k, _at(k, 0), SIZE), k.b.int_(1), k.b.true()])


def beyond(k: Kernel) -> None:
    build(PeerStoreOp, [peer(k, _at(k, 2048), 1), k.b.int_(1), k.b.true()])


@pytest.mark.parametrize(
    ("body", "check", "text"),
    [
        (unordered, "uninitialised", "nobody has written"),
        (overwritten, "race", "reads what thread 0 wrote"),
        (gone, "asynchronous", "CTA 1 uses the shared memory of CTA 0 of its cluster, which has left"),
        (alone, "deadlock", "not arrived"),
        (never, "deadlock", "in CTA 3 threads 0-63 wait for the barrier at .* .phase 0"),
        (twice, "deadlock", "arrives twice"),
        (nobody, "out-of-bounds", "of a cluster of 4"),
        (beyond, "out-of-bounds", "shared memory of CTA"),
    ],
)
def test_what_hardware_would_do_wrong_is_an_error(body, check: str, text: str) -> None:
    with pytest.raises(SimulationError, match=text) as caught:
        run(body)
    assert caught.value.check == check
