from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from machine_cases import Column, Kernel, MachineCase, any_bits, build, each
from machine_runs import simulated
from tma_cases import BARRIER, CASES, LOADS, STORES, Tensor, _at, _first, _made, _start
from tma_limits import LIMITS
from tri_backend_nvidia.machine import (
    BarrierArriveOp,
    BarrierExpectOp,
    BarrierInitOp,
    BarrierOp,
    BarrierWaitOp,
    FenceOp,
    TmaCommitOp,
    TmaLoadOp,
    TmaStoreOp,
    TmaWaitOp,
)
from tri_backend_nvidia.machine.simulation.tma import swizzled_places
from tri_core.errors import LaunchError, SimulationError
from tri_runtime.simulator.tensor_map import ELEMENT_TYPES, TensorMap

_DTYPES = {"u8": "u1", "u16": "u2", "s32": "i4", "u32": "u4", "u64": "u8", "bf16": "u2"}


def whole(tensor: Tensor, words: np.ndarray) -> np.ndarray:
    """The words as the tensor, dimensions from the outermost one on."""
    dtype = _DTYPES.get(tensor.element) or f"f{ELEMENT_TYPES[tensor.element][1]}"
    count = int(np.prod(tensor.dims))
    return words.reshape(-1).view(dtype)[:count].reshape(tensor.dims[::-1])


def window(tensor: Tensor, at: tuple[int, ...]) -> tuple[list[slice], list[slice]]:
    """Slices of the tensor and of the box that are the same elements."""
    inside, box = [], []
    for start, size, dim in zip(at[::-1], tensor.box[::-1], tensor.dims[::-1], strict=True):
        low, high = min(max(start, 0), dim), min(max(start + size, 0), dim)
        inside.append(slice(low, high))
        box.append(slice(low - start, high - start) if high > low else slice(0, 0))
    return inside, box


@pytest.mark.parametrize("name", LOADS)
def test_loads_bring_the_box(name: str) -> None:
    tensor, case = LOADS[name], CASES[f"tma_load-{name}"]
    inputs, _ = case.arguments()
    got = simulated(case)[0].reshape(2, -1)
    source = whole(tensor, inputs[0])
    expected = np.full(tensor.box[::-1], np.nan if tensor.nan else 0).astype(source.dtype)
    inside, box = window(tensor, tensor.at)
    expected[tuple(box)] = source[tuple(inside)]
    for program in got:
        flat = program.view(np.uint8)[swizzled_places(0, program.nbytes, tensor.swizzle)]
        np.testing.assert_array_equal(flat.view(source.dtype).reshape(expected.shape), expected)


@pytest.mark.parametrize("name", [n for n in CASES if n.startswith("tma_store-") and n[10:] in STORES])
def test_stores_write_the_box(name: str) -> None:
    tensor, case = STORES[name[10:]], CASES[name]
    inputs, _ = case.arguments()
    got = simulated(case)[0]
    expected = inputs[0].copy()
    target, values = whole(tensor, expected), inputs[1].reshape(2, -1)
    for program in range(2):
        at = (*tensor.at[:-1], tensor.at[-1] + program * tensor.box[-1])
        data = values[program].view(np.uint8)[swizzled_places(0, 512, tensor.swizzle)]
        inside, box = window(tensor, at)
        target[tuple(inside)] = data.view(target.dtype).reshape(tensor.box[::-1])[tuple(box)]
    np.testing.assert_array_equal(got.view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize(
    ("combine", "element", "function"),
    [
        ("add", "f32", np.add),
        ("min", "s64", np.minimum),
        ("max", "f16", np.maximum),
        ("xor", "u32", np.bitwise_xor),
    ],
)
def test_stores_combine(combine: str, element: str, function) -> None:
    case = CASES[f"tma_store-{combine}-{element}"]
    inputs, _ = case.arguments()
    got = simulated(case)[0]
    dtype = {"s64": "i8", "u32": "u4"}.get(element) or f"f{ELEMENT_TYPES[element][1]}"
    width = 64 // np.dtype(dtype).itemsize
    expected = inputs[0].copy().reshape(-1).view(dtype).reshape(128, width)
    values = inputs[1].reshape(2, -1).view(dtype).reshape(2, 8, width)
    left = max(16 // np.dtype(dtype).itemsize, 4)
    for program in range(2):
        first = 117 + 8 * program
        rows = slice(first, min(first + 8, 128))
        count = rows.stop - rows.start
        expected[rows, left:] = function(expected[rows, left:], values[program][:count, : width - left])
    assert got.tobytes() == expected.tobytes()


# --- what is wrong ----------------------------------------------------------------------------------------

TENSOR = Tensor("f32", (16, 64), (16, 8), (0, 32))


def run(body) -> None:
    columns = ((Column("i4", 16), Column("i4", 2)), (Column("i4"),))
    values = each(any_bits("i4", 16), any_bits("i4", 2))
    simulated(MachineCase("wrong", "", *columns, body, values, shared=2048, grid=(1, 1, 1)))


def fill(k: Kernel) -> None:
    k.b.store(k.read(1)[0], k.b.gep(k.shared(), k.thread, k.b.i32))


def copy_in(
    k: Kernel, barrier, *, offset: int = 0, thread=None, tensor: Tensor = TENSOR, size: int = 512
) -> None:
    source = _made(k, tensor, k.pointers[0], 2)
    chosen = _first(k) if thread is None else thread
    build(BarrierExpectOp, [barrier, _first(k)], size=size)
    place = [k.b.int_(c) for c in tensor.at]
    build(TmaLoadOp, [_at(k, offset), source, barrier, chosen, k.b.const(k.b.i16, 0), *place], multicast=0)


def wait(k: Kernel, barrier) -> None:
    build(BarrierWaitOp, [barrier, k.b.int_(0)], polls=0)


def read_early(k: Kernel) -> None:
    barrier = _start(k, 1)
    copy_in(k, barrier)
    build(BarrierOp, [])
    k.write(2, k.b.load(k.shared(), k.b.i32))


def never_waits(k: Kernel) -> None:
    copy_in(k, _start(k, 1))


def no_barrier(k: Kernel) -> None:
    build(BarrierInitOp, [_at(k, BARRIER), _first(k)], count=1)
    wait(k, _at(k, BARRIER))


def too_few_bytes(k: Kernel) -> None:
    barrier = _start(k, 1)
    copy_in(k, barrier, size=1024)
    wait(k, barrier)


def misaligned(k: Kernel) -> None:
    copy_in(k, _start(k, 1), offset=64)


def by_all(k: Kernel) -> None:
    copy_in(k, _start(k, 1), thread=k.b.true())


def unfenced(k: Kernel) -> None:
    barrier = _start(k, 1)
    fill(k)
    build(BarrierOp, [])
    copy_in(k, barrier)


def _fence() -> None:
    build(FenceOp, [], kind="proxy.async.shared::cta")


def over_what_is_read(k: Kernel, *, fenced: bool = False, by: int = 64) -> None:
    barrier = _start(k, 1)
    copy_in(k, barrier)
    wait(k, barrier)
    k.write(2, k.b.load(k.shared(), k.b.i32))
    if fenced:
        k.b.if_(k.b.cmp("ult", k.thread, k.b.int_(by)), _fence)
    build(BarrierOp, [])
    copy_in(k, barrier)
    build(BarrierWaitOp, [barrier, k.b.int_(1)], polls=0)


def bad_stride(k: Kernel) -> None:
    copy_in(k, _start(k, 1), tensor=replace(TENSOR, dims=(15, 64), box=(12, 8)))


def too_wide(k: Kernel) -> None:
    copy_in(k, _start(k, 1), tensor=replace(TENSOR, swizzle=32))


def too_many(k: Kernel) -> None:
    build(BarrierArriveOp, [_start(k, 63), k.b.true()])


def beside_a_piece(k: Kernel) -> None:
    copy_in(k, _start(k, 1), tensor=replace(TENSOR, at=(2, 32)))


def copy_out(
    k: Kernel, *, fenced: bool = True, waits: bool = True, writes: bool = False, at: tuple[int, int] = (0, 32)
) -> None:
    target = _made(k, TENSOR, k.pointers[0], 2)
    for i, word in enumerate(k.read(1)):
        k.b.store(word, k.b.gep(k.shared(), k.b.add(k.b.mul(k.thread, k.b.int_(2)), k.b.int_(i)), k.b.i32))
    if fenced:
        build(FenceOp, [], kind="proxy.async.shared::cta")
    build(BarrierOp, [])
    build(TmaStoreOp, [_at(k, 0), target, _first(k), *map(k.b.int_, at)], combine="")
    build(TmaCommitOp, [])
    if writes:
        build(BarrierOp, [])
        fill(k)
    if waits:
        build(TmaWaitOp, [], groups=0, read=1)


def map_of_a_load_again(k: Kernel) -> None:
    copy_in(k, _start(k, 1))
    _made(k, TENSOR, k.pointers[0], 2)


def map_of_a_store_again(k: Kernel) -> None:
    copy_out(k, waits=False)
    _made(k, TENSOR, k.pointers[0], 2)


@pytest.mark.parametrize(
    ("body", "check", "text"),
    [
        (map_of_a_load_again, "asynchronous", "a tensor map is written while copies read it"),
        (map_of_a_store_again, "asynchronous", "a tensor map is written while copies read it"),
        (read_early, "asynchronous", "has not been waited for"),
        (never_waits, "asynchronous", "nobody waits for a copy"),
        (no_barrier, "race", "race in shared memory|no barrier was initialised"),
        (too_few_bytes, "deadlock", "512 bytes to come"),
        (misaligned, "misaligned", "no multiple of 128"),
        (by_all, "asynchronous", "64 threads start the same TMA copy"),
        (unfenced, "asynchronous", "no fence is between them"),
        (over_what_is_read, "asynchronous", "may overtake loads of warp 1"),
        (lambda k: over_what_is_read(k, fenced=True, by=32), "asynchronous", "may overtake loads of warp 1"),
        (bad_stride, "asynchronous", "multiple of 16 bytes"),
        (too_wide, "asynchronous", "more than the swizzle"),
        (beside_a_piece, "misaligned", "at 2 along rows of f32, which is no multiple of 16 bytes"),
        (lambda k: copy_out(k, at=(-4, 0)), "asynchronous", "to the negative coordinates"),
        (lambda k: copy_out(k, at=(0, -1)), "asynchronous", "to the negative coordinates"),
        (lambda k: copy_out(k, at=(3, 0)), "misaligned", "no multiple of 16 bytes"),
        (too_many, "asynchronous", "64 threads arrive"),
        (lambda k: copy_out(k, fenced=False), "asynchronous", "no fence is between them"),
        (lambda k: copy_out(k, waits=False), "asynchronous", "never waits for"),
        (lambda k: copy_out(k, writes=True), "asynchronous", "reads, which has not been waited for"),
    ],
)
def test_what_hardware_would_do_wrong_is_an_error(body, check: str, text: str) -> None:
    with pytest.raises(SimulationError, match=text) as caught:
        run(body)
    assert caught.value.check == check


def test_a_copy_follows_loads_that_are_fenced() -> None:
    run(lambda k: over_what_is_read(k, fenced=True))


def test_a_map_is_written_again_after_its_copies() -> None:
    def body(k: Kernel) -> None:
        barrier = _start(k, 1)
        copy_in(k, barrier)
        wait(k, barrier)
        copy_out(k)
        _made(k, TENSOR, k.pointers[0], 2)

    run(body)


@pytest.mark.parametrize("name", LIMITS)
def test_the_simulator_has_the_limits_of_the_gpu(name: str) -> None:
    case, works = LIMITS[name]
    if works:
        simulated(case)
    else:
        with pytest.raises(SimulationError, match=r"16 bytes|negative"):
            simulated(case)


def test_maps_go_there_and_back() -> None:
    made = TensorMap(
        address=1 << 40, element="bf16", dims=(1 << 32, 7, 9), strides=(1 << 33, 1 << 39), box=(64, 7, 3),
        steps=(1, 2, 1), swizzle=128, nan=True,
    )  # fmt: skip
    assert TensorMap.decode(made.encode()) == made
    with pytest.raises(LaunchError, match="multiple of 16 bytes"):
        replace(made, address=8).encode()
    with pytest.raises(ValueError, match="no tensor map"):
        TensorMap.decode(b"\xff" * 128)
