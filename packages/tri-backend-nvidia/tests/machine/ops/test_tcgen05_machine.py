"""``tcgen05`` as machine ops: against an exact dot in NumPy, and what the simulator refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from machine_cases import Column, Kernel, MachineCase
from machine_runs import ptx_text, simulated
from nvidia_support import assembled
from tcgen05_cases import ARCH, BITS, CASES, MATMULS, TCGEN05, THREADS, Matmul, TensorKernel, unpacked
from tri_backend_nvidia.machine import (
    BarrierOp,
    BarrierWaitOp,
    InstructionDescriptor,
    TensorCommitOp,
    TensorMemoryAllocOp,
    TensorMemoryDeallocOp,
    TensorMemoryLoadOp,
)
from tri_backend_nvidia.machine.simulation.tcgen05 import SharedDescriptor
from tri_core.errors import SimulationError

#: by how many rows a swizzle's pieces are moved, and in how many ways
_PHASES = {128: (1, 8), 64: (2, 4), 32: (4, 2)}


def matrix(matmul: Matmul, index: int, raw: np.ndarray) -> np.ndarray:
    """Operand ``index`` as (m or n, k), from the bytes of its memory, by the manual's figures of swizzles."""
    width, kind, extent = matmul.widths[index], matmul.kinds[index], matmul.extents[index]
    every, phases = _PHASES[width]
    lines = raw.reshape(-1, width // 16, 16)
    order = np.arange(width // 16)
    straight = np.stack([line[order ^ (i // every % phases)] for i, line in enumerate(lines)])
    numbers = unpacked(kind, straight.reshape(len(lines), -1).view("i4")).reshape(len(lines), -1)
    deep = matmul.steps * 256 // BITS[kind]
    if matmul.rows[index]:
        return numbers[:, :deep]
    # panels of lines along k, one after the other
    panels = numbers.reshape(-1, deep, numbers.shape[1])
    return panels.transpose(0, 2, 1).reshape(extent, deep)


@pytest.mark.parametrize("name", TCGEN05)
def test_matmuls_are_exact(name: str) -> None:
    matmul, case = MATMULS[name], CASES[name]
    (words, before), _ = case.arguments()
    (got,) = simulated(case)
    for program, memory in enumerate(words.reshape(2, -1)):
        raw, first = memory.view("u1"), matmul.bytes[0]
        a, b = matrix(matmul, 0, raw[:first]), matrix(matmul, 1, raw[first:])
        rows = slice(program * THREADS, (program + 1) * THREADS)
        expected = a @ b.T + (before[rows].astype("f8") if program == 0 else 0)
        if matmul.held == "i4":
            assert (got[rows] == expected).all()
        else:
            assert np.abs(got[rows] - expected).max() <= 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize("name", TCGEN05)
def test_every_form_assembles(name: str) -> None:
    usage = assembled(ptx_text(CASES[name]), ARCH).usage
    assert usage.spill_stores == 0


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16, 32, 64, 128])
def test_every_width_of_loads_and_stores(count: int) -> None:
    case = moves(lambda t: None, columns=count)
    (given,), _ = case.arguments()
    assert (simulated(case)[0] == given).all()
    assert assembled(ptx_text(case), ARCH).usage.spill_stores == 0


def test_instruction_descriptors_are_the_manuals() -> None:
    """f16 with f32 accumulators, 128 x 256: the fields of PTX ISA's table one by one."""
    shape = InstructionDescriptor("f16", 128, 256, "bf16", "f16", True, False)
    assert shape.word == (1 << 4) | (1 << 7) | (0 << 10) | (1 << 16) | (32 << 17) | (8 << 24)
    assert InstructionDescriptor.parse("f16", shape.word) == shape
    for wrong in (shape.word | 1 << 2, shape.word | 1 << 30, shape.word ^ 1 << 4, shape.word | 2 << 7):
        with pytest.raises(ValueError, match="no instruction descriptor"):
            InstructionDescriptor.parse("f16", wrong)


def test_shared_descriptors_are_the_manuals() -> None:
    found = SharedDescriptor.of(64 | 2 << 16, 64 | 1 << 14 | 2 << 29)
    assert found == SharedDescriptor(1024, 32, 1024, 128)
    for low, high in (
        (64, 64 | 2 << 29),
        (64, 64 | 1 << 14 | 1 << 29),
        (64, 64 | 3 << 14),
        (64, 1 << 14 | 3 << 29),
    ):
        with pytest.raises(ValueError, match="0x"):
            SharedDescriptor.of(low, high)


# --- what the simulator sees ------------------------------------------------------------------------------


def moves(between: Callable[[TensorKernel], None], columns: int = 4, **others) -> MachineCase:
    """Words of each thread to tensor memory and back; ``between`` them."""

    def body(k: Kernel) -> None:
        t = TensorKernel(k, others.get("columns", 128), 0)
        words = k.read(0)
        t.store(words)
        t.wait("st", words[:1])
        between(t)
        k.write(1, *t.load(columns))
        t.end()

    def make(rng: np.random.Generator, rows: int) -> list[np.ndarray]:
        return [rng.integers(-(2**31), 2**31, (rows, columns))]

    column = (Column("i4", columns),)
    return MachineCase("moves", "nvm.tcgen05_ld", column, column, body, make, warps=4, shared=16, arch=ARCH)


def refused(case: MachineCase, check: str, message: str) -> None:
    with pytest.raises(SimulationError, match=message) as caught:
        simulated(case)
    assert caught.value.check == check


def body_of(matmul: Matmul, body: Callable[[TensorKernel], None]) -> MachineCase:
    """A dot's case with another kernel."""

    def emit(k: Kernel) -> None:
        body(TensorKernel(k, max(matmul.shape.n, 32), sum(matmul.bytes)))

    return replace(matmul.case("other", "nvm.tcgen05_mma"), body=emit)


MATMUL = MATMULS[TCGEN05[0]]


def begun(t: TensorKernel, *, add: int = 0) -> None:
    MATMUL.fill(t, 0)
    t.synchronize()
    MATMUL.start(t, t.k.b.const(t.k.b.i1, add))


def waited(t: TensorKernel) -> None:
    BarrierWaitOp.build([t.done, t.k.b.int_(0)], (), t.number(polls=0))


def ended(t: TensorKernel, words) -> None:
    t.k.write(2, *[t.k.b.bitcast(v, t.k.type(t.k.columns[2].type)) for v in words])
    t.end()


def test_a_sum_that_is_read_before_the_matmul_is_done() -> None:
    def body(t: TensorKernel) -> None:
        begun(t)
        t.fence("after_thread_sync")
        ended(t, t.load(MATMUL.shape.n))

    refused(body_of(MATMUL, body), "asynchronous", "a dot is under way")


def test_a_sum_that_is_read_without_a_fence() -> None:
    def body(t: TensorKernel) -> None:
        begun(t)
        waited(t)
        ended(t, t.load(MATMUL.shape.n))

    refused(body_of(MATMUL, body), "asynchronous", "unordered")


def test_operands_that_are_overwritten_before_the_matmul_is_done() -> None:
    def body(t: TensorKernel) -> None:
        begun(t)
        t.synchronize()
        MATMUL.fill(t, 0)
        waited(t)
        t.fence("after_thread_sync")
        ended(t, t.load(MATMUL.shape.n))

    with pytest.raises(SimulationError):
        simulated(body_of(MATMUL, body))


def test_a_sum_that_nobody_wrote() -> None:
    refused(body_of(MATMUL, lambda t: begun(t, add=1)), "uninitialised", "nobody has written")


def test_operands_without_a_fence_of_the_other_proxy() -> None:
    def body(t: TensorKernel) -> None:
        b, own = t.k.b, t.k.b.mul(t.k.thread, t.k.b.int_(4 * MATMUL.words))
        for i, word in enumerate(t.k.read(0)):
            b.store(word, b.gep(b.gep(t.k.shared(), own, b.i8), b.int_(4 * i), b.i8))
        t.synchronize()
        MATMUL.start(t, b.const(b.i1, 0))
        waited(t)

    with pytest.raises(SimulationError, match="fence"):
        simulated(body_of(MATMUL, body))


def test_matmuls_that_all_threads_start() -> None:
    def body(t: TensorKernel) -> None:
        MATMUL.fill(t, 0)
        t.synchronize()
        t.first = t.k.b.true()
        MATMUL.start(t, t.k.b.const(t.k.b.i1, 0))

    refused(body_of(MATMUL, body), "asynchronous", "elect one|start the same dot")


def test_memory_that_is_never_given_back() -> None:
    def body(k: Kernel) -> None:
        k.write(1, *k.read(0))
        TensorKernel(k, 32, 0)

    refused(replace(moves(lambda t: None), body=body), "tensor-memory", "never deallocated")


def test_memory_that_another_warp_gives_back() -> None:
    def body(k: Kernel) -> None:
        t = TensorKernel(k, 32, 0)
        second = k.b.cmp("eq", k.b.lshr(k.thread, 5), k.b.int_(1))
        TensorMemoryDeallocOp.build([t.base, second], (), t.number(columns=32))

    refused(replace(moves(lambda t: None), body=body), "tensor-memory", "by warp 0")


@pytest.mark.parametrize("columns", [16, 48, 1024])
def test_sizes_that_cannot_be_allocated(columns: int) -> None:
    refused(
        replace(moves(lambda t: None), body=lambda k: TensorKernel(k, columns, 0)),
        "tensor-memory",
        "powers of two",
    )


def test_a_second_allocation() -> None:
    def again(t: TensorKernel) -> None:
        TensorMemoryAllocOp.build([t.slot, t.first_warp], (), t.number(columns=32))

    refused(moves(again), "tensor-memory", "relinquished")


def test_columns_outside_of_the_allocation() -> None:
    def beyond(t: TensorKernel) -> None:
        TensorMemoryLoadOp.build([t.k.b.add(t.own(), t.k.b.int_(126))], [t.k.b.i32] * 4)

    refused(moves(beyond), "out-of-bounds", "126 to 129")


def test_lanes_of_other_warps() -> None:
    def others(t: TensorKernel) -> None:
        TensorMemoryLoadOp.build([t.base], [t.k.b.i32])

    refused(moves(others), "tensor-memory", "its own are 32 to 63|warp 1 accesses lanes 0")


def test_stores_that_are_not_waited_for() -> None:
    def store(t: TensorKernel) -> None:
        t.store(t.k.read(0))

    refused(moves(store), "asynchronous", "has yet to reach")


def test_loads_are_undefined_until_they_are_waited_for() -> None:
    def body(k: Kernel) -> None:
        t = TensorKernel(k, 32, 0)
        words = k.read(0)
        t.store(words)
        t.wait("st", words[:1])
        k.write(1, *t.load(4, waits=False))
        t.end()

    case = replace(moves(lambda t: None), body=body)
    (given,), _ = case.arguments()
    assert (simulated(case)[0] != given).mean() > 0.9


def test_half_a_warp() -> None:
    def some(t: TensorKernel) -> None:
        half = t.k.b.cmp("ult", t.k.thread, t.k.b.int_(16))
        t.k.b.if_(half, lambda: TensorMemoryLoadOp.build([t.own()], [t.k.b.i32]) and [])

    refused(moves(some), "tensor-memory", "16 lanes")


def test_a_warp_of_another_group_reads_what_nobody_ordered() -> None:
    """Warps 0 and 4 have the same lanes."""

    def body(k: Kernel) -> None:
        t = TensorKernel(k, 32, 0)
        words = k.read(0)
        group = k.b.cmp("ult", k.thread, k.b.int_(128))

        def write() -> list:
            t.store(words)
            t.wait("st", words[:1])
            return []

        k.b.if_(group, write)
        k.write(1, *t.load(4))
        t.end()

    refused(replace(moves(lambda t: None), body=body, warps=8), "race", "has touched")


def test_a_commit_that_only_the_next_wait_follows() -> None:
    """Two commits, one wait: the second covers what the first did."""

    def body(t: TensorKernel) -> None:
        MATMUL.fill(t, 0)
        t.synchronize()
        MATMUL.start(t, t.k.b.const(t.k.b.i1, 0))
        waited(t)
        BarrierOp.build([])
        TensorCommitOp.build([t.done, t.first])
        BarrierWaitOp.build([t.done, t.k.b.int_(1)], (), t.number(polls=0))
        t.fence("after_thread_sync")
        ended(t, t.load(MATMUL.shape.n))

    (got,) = simulated(body_of(MATMUL, body))
    assert np.isfinite(got).all()
