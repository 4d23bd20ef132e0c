"""Block-scaled dots of ``tcgen05`` as machine ops: against exact accumulators, and what the simulator refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from machine_cases import Kernel
from machine_runs import ptx_text, simulated
from nvidia_support import assembled
from tcgen05_cases import ARCH, THREADS, TensorKernel, unpacked
from tcgen05_scaled_cases import E2M1, SCALED, SCALED_MATMULS, WIDTH, ScaledMatmul
from tri_backend_nvidia.machine import BarrierWaitOp, FenceOp, ScaledDescriptor, TensorMemoryStoreOp
from tri_core.errors import SimulationError
from tri_core.mlir import ir


def _operand(matmul: ScaledMatmul, index: int, raw: np.ndarray) -> np.ndarray:
    """Operand ``index`` as (m or n, k): rows of 128 bytes, the pieces of 16 moved by the row's number modulo 8."""
    lines = raw.reshape(-1, WIDTH // 16, 16)
    straight = np.stack([line[np.arange(8) ^ i % 8] for i, line in enumerate(lines)])
    kind = matmul.kinds[index]
    if kind in ("e4m3", "e5m2"):
        return unpacked(kind, straight.reshape(len(lines), -1).view("i4")).reshape(len(lines), -1)
    used = straight[:, :, :8] if kind == "e2m1p" else straight
    bytes_ = used.reshape(len(lines), -1)
    return E2M1[np.stack([bytes_ & 15, bytes_ >> 4], axis=2)].reshape(len(lines), -1)


def _scales(matmul: ScaledMatmul, index: int, raw: np.ndarray) -> np.ndarray:
    """Operands of all elements of operand ``index``: blocks of 512 bytes, of row ``i`` 4 bytes at 16 (i % 32) + 4 (i / 32)."""
    extent = matmul.extents[index]
    blocks = raw.reshape(matmul.words, -1, 32, 4, 4)  # words, blocks of 128 rows, lane, column, byte
    found = np.stack([blocks[:, i // 128, i % 32, i % 128 // 32, :].reshape(-1) for i in range(extent)])
    if matmul.shape.scale == "ue4m3":
        factors = unpacked("e4m3", np.ascontiguousarray(found).view("i4")).reshape(found.shape)
    else:
        factors = 2.0 ** (found.astype("f8") - 127)
    return np.repeat(factors, matmul.kind.group, axis=1)


@pytest.mark.parametrize("name", SCALED)
def test_matmuls_are_exact(name: str) -> None:
    matmul = SCALED_MATMULS[name]
    case = matmul.case(name, "nvm.tcgen05_mma_scaled")
    (words, before), _ = case.arguments()
    (got,) = simulated(case)
    for program, memory in enumerate(words.reshape(2, -1)):
        parts = np.split(memory.view("u1")[: sum(matmul.sizes)], np.cumsum(matmul.sizes)[:-1])
        a, b = (_operand(matmul, i, parts[i]) * _scales(matmul, i, parts[2 + i]) for i in (0, 1))
        rows = slice(program * THREADS, (program + 1) * THREADS)
        expected = a @ b.T + (before[rows].astype("f8") if program == 0 else 0)
        assert np.abs(got[rows] - expected).max() <= 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize("name", SCALED)
def test_every_form_assembles(name: str) -> None:
    case = SCALED_MATMULS[name].case(name, "nvm.tcgen05_mma_scaled")
    assert assembled(ptx_text(case), ARCH).usage.spill_stores == 0


def test_instruction_descriptors_are_the_manuals() -> None:
    """The fields of PTX ISA's tables one by one."""
    mixed = ScaledDescriptor("mxf8f6f4", 128, 256, "e5m2", "e2m1p", "ue8m0", True, True)
    assert mixed.word == (1 << 7) | (5 << 10) | (32 << 17) | (1 << 23) | (1 << 27)
    across = replace(mixed, b="e4m3", b_rows=False)
    assert across.word == (1 << 7) | (1 << 16) | (32 << 17) | (1 << 23) | (1 << 27)
    narrow = ScaledDescriptor("mxf4nvf4", 128, 64, "e2m1", "e2m1", "ue4m3")
    assert narrow.word == (1 << 7) | (1 << 10) | (8 << 17) | (1 << 27)


@pytest.mark.parametrize("name", SCALED)
def test_instruction_descriptors_are_parsed(name: str) -> None:
    shape = SCALED_MATMULS[name].shape
    assert ScaledDescriptor.parse(shape.kind, shape.word) == shape


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("mxf4", 1 << 7 | 1 << 10 | 8 << 17 | 1 << 27),  # scales of ue4m3
        ("mxf4", 1 << 7 | 1 << 10 | 1 << 15 | 8 << 17 | 1 << 23 | 1 << 27),  # transposed
        ("mxf8f6f4", 2 << 7 | 8 << 17 | 1 << 23 | 1 << 27),  # no type
        ("mxf8f6f4", 1 << 4 | 8 << 17 | 1 << 23 | 1 << 27),  # a byte of the scales, which steps say
    ],
)
def test_what_is_no_descriptor(kind: str, word: int) -> None:
    with pytest.raises(ValueError, match="0x"):
        ScaledDescriptor.parse(kind, word)


# --- what the simulator sees ------------------------------------------------------------------------------

MATMUL = SCALED_MATMULS[SCALED[0]]


def refused(body, check: str, message: str, matmul: ScaledMatmul = MATMUL) -> None:
    case = replace(matmul.case("other", "nvm.tcgen05_mma_scaled"), body=body)
    with pytest.raises(SimulationError, match=message) as caught:
        simulated(case)
    assert caught.value.check == check


def _no(k: Kernel) -> ir.Value:
    return k.b.const(k.b.i1, 0)


def _waited(t: TensorKernel) -> None:
    BarrierWaitOp.build([t.done, t.k.b.int_(0)], (), t.number(polls=0))
    t.fence("after_thread_sync")


def test_scales_that_nobody_copied() -> None:
    def body(k: Kernel) -> None:
        MATMUL.start(MATMUL.kernel(k), _no(k), copies=False)

    refused(body, "uninitialised", "takes for scales tensor memory that nobody has written")


def test_scales_that_are_copied_while_a_matmul_reads_the_old_ones() -> None:
    """Dots follow copies in order; copies do not follow dots."""

    def body(k: Kernel) -> None:
        t = MATMUL.kernel(k)
        MATMUL.start(t, _no(k))
        MATMUL.start(t, _no(k))

    refused(body, "asynchronous", "copies to tensor memory in which a dot is under way")


def test_scales_that_other_warps_store_in_one_quarter_only() -> None:
    def body(k: Kernel) -> None:
        t = MATMUL.kernel(k)
        MATMUL.start(t, _no(k))
        _waited(t)
        first = k.b.add(t.own(), k.b.int_(MATMUL.columns()[0]))
        TensorMemoryStoreOp.build([first, k.thread])
        t.wait("st", [k.thread])
        t.synchronize()
        MATMUL.start(t, _no(k), copies=False)

    refused(body, "tensor-memory", "the quarters of tensor memory have different scales")


def test_scales_that_are_stored_over_while_a_matmul_reads_them() -> None:
    def body(k: Kernel) -> None:
        t = MATMUL.kernel(k)
        MATMUL.start(t, _no(k))
        TensorMemoryStoreOp.build([k.b.add(t.own(), k.b.int_(MATMUL.columns()[0])), k.thread])

    refused(body, "asynchronous", "a dot is under way")


def test_scales_that_were_written_without_a_fence() -> None:
    def body(k: Kernel) -> None:
        t = MATMUL.kernel(k)
        place = k.b.gep(k.shared(), k.b.int_(MATMUL.starts[2]), k.b.i8)
        k.b.if_(t.first, lambda: k.b.store(k.b.int_(0x7F7F7F7F), place) or [])
        t.synchronize()
        MATMUL.start(t, _no(k))

    refused(body, "asynchronous", "no fence is between them")


def test_negative_scales() -> None:
    matmul = SCALED_MATMULS["tcgen05-mxf4nvf4-n32-e2m1-e2m1-ue4m3"]

    def body(k: Kernel) -> None:
        t = matmul.kernel(k)
        place = k.b.gep(k.shared(), k.b.int_(matmul.starts[2]), k.b.i8)
        k.b.if_(t.first, lambda: k.b.store(k.b.int_(-1), place) or [])
        FenceOp.build([], (), {"kind": ir.StringAttr.get("proxy.async.shared::cta")})
        t.synchronize()
        matmul.start(t, _no(k))

    refused(body, "tensor-memory", "ue4m3 is negative", matmul)


def test_bytes_of_scales_are_aligned() -> None:
    matmul = ScaledMatmul(SCALED_MATMULS["tcgen05-mxf4-n64-e2m1-e2m1-ue8m0"].shape)
    matmul.plan = lambda: [replace(step, a_id=1) for step in ScaledMatmul.plan(matmul)]  # type: ignore[method-assign]
    with pytest.raises(SimulationError, match="2 scales of each row"):
        simulated(matmul.case("other", "nvm.tcgen05_mma_scaled"))
