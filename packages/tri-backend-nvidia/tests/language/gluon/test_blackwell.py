"""Gluon's tensor memory and ``tcgen05``: kernels on the simulator, planted faults that it finds, what is refused, what ptxas makes."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tri
from tri.experimental import gluon
from tri.experimental.gluon import language as gl
from tri_core.api import CompilationError, OutOfResources, TriError, Unsupported

TARGET = "sim:nvidia:sm_100a"
bw = gl.nvidia.blackwell
mbarrier, tma = bw.mbarrier, bw.tma
ROWS = gl.constexpr(gl.BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0]))
TILE = gl.constexpr(gl.NVMMASharedLayout(128, 16))
WIDE = gl.constexpr(bw.TensorMemoryLayout((128, 64), col_stride=1))
LEFT = gl.constexpr(bw.TensorMemoryLayout((128, 64), col_stride=1))
#: a linear layout's rows of a warp side by side: no instruction of tensor memory has them
FLAT = gl.constexpr(gl.BlockedLayout([1, 4], [2, 16], [4, 1], [1, 0]))


@gluon.jit
def tile(pointer, R: gl.constexpr, C: gl.constexpr, warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [warps, 1], [1, 0])
    row = gl.arange(0, R, layout=gl.SliceLayout(1, layout))
    column = gl.arange(0, C, layout=gl.SliceLayout(0, layout))
    return pointer + row[:, None] * C + column[None, :]


@gluon.jit
def stored(pointer, value, R: gl.constexpr, C: gl.constexpr):
    warps: gl.constexpr = gl.num_warps()
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [warps, 1], [1, 0])
    gl.store(tile(pointer, R, C, warps), gl.convert_layout(value, layout))


# --- dots -------------------------------------------------------------------------------------------------


@gluon.jit
def blocks(a_desc, b_desc, c, K, STAGES: gl.constexpr):
    """A tile of a product: blocks by the TMA STAGES ahead, dots told by barriers, sums from tensor memory."""
    BM: gl.constexpr = a_desc.block_shape[0]
    BK: gl.constexpr = a_desc.block_shape[1]
    BN: gl.constexpr = b_desc.block_shape[1]
    a_ring = gl.allocate_shared_memory(a_desc.dtype, [STAGES, BM, BK], a_desc.layout)
    b_ring = gl.allocate_shared_memory(b_desc.dtype, [STAGES, BK, BN], b_desc.layout)
    acc = bw.allocate_tensor_memory(gl.float32, [BM, BN], bw.TensorMemoryLayout((128, BN), col_stride=1))
    ready = mbarrier.allocate_mbarrier(STAGES)
    done = mbarrier.allocate_mbarrier()
    for stage in gl.static_range(STAGES):
        mbarrier.init(ready.index(stage), count=1)
    mbarrier.init(done, count=1)
    for stage in gl.static_range(STAGES):
        bar = ready.index(stage)
        mbarrier.expect(bar, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta, stage * BK < K)
        tma.async_load(a_desc, [0, stage * BK], bar, a_ring.index(stage), stage * BK < K)
        tma.async_load(b_desc, [stage * BK, 0], bar, b_ring.index(stage), stage * BK < K)
    for k in range(0, K, BK):
        slot = k // BK % STAGES
        full = ready.index(slot)
        mbarrier.wait(full, k // BK // STAGES & 1)
        bw.tcgen05_mma(a_ring.index(slot), b_ring.index(slot), acc, use_acc=k > 0)
        bw.tcgen05_commit(done)
        mbarrier.wait(done, k // BK & 1)
        after = k + STAGES * BK
        mbarrier.expect(full, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta, after < K)
        tma.async_load(a_desc, [0, after], full, a_ring.index(slot), after < K)
        tma.async_load(b_desc, [after, 0], full, b_ring.index(slot), after < K)
    stored(c, acc.load(), BM, BN)


@gluon.jit
def views(a, b, c, N: gl.constexpr, COUNT: gl.constexpr):
    """Two accumulators of one buffer, one begun from registers, the other added to in halves."""
    warps: gl.constexpr = gl.num_warps()
    left = gl.allocate_shared_memory(gl.float16, [128, 64], TILE, gl.load(tile(a, 128, 64, warps)))
    right = gl.allocate_shared_memory(gl.float16, [64, N], TILE, gl.load(tile(b, 64, N, warps)))
    bw.fence_async_shared()
    both = bw.allocate_tensor_memory(gl.float32, [COUNT, 128, N], bw.TensorMemoryLayout((128, N), 1))
    first = both.index(0)
    first.store(gl.full([128, N], 3.0, gl.float32))
    bw.tcgen05_mma(left, right, first)
    again = both.slice(1, 1, 0).index(0)
    for half in gl.static_range(2):
        part = again.slice(half * (N // 2), N // 2)
        bw.tcgen05_mma(left, right.slice(half * (N // 2), N // 2, dim=1), part, use_acc=False)
    bw.tcgen05_mma(left, right, again, pred=first.shape[0] < 0)
    stored(c, first.load() + again.load(again.get_reg_layout()), 128, N)


@gluon.jit
def left_in_tensor_memory(a, b, c):
    warps: gl.constexpr = gl.num_warps()
    right = gl.allocate_shared_memory(gl.float16, [64, 64], TILE, gl.load(tile(b, 64, 64, warps)))
    bw.fence_async_shared()
    place = bw.allocate_tensor_memory(gl.float32, [128, 64], WIDE)
    left = place.reinterpret(gl.float16, [128, 64], LEFT)
    values = gl.load(tile(a, 128, 64, warps))
    left.store(gl.convert_layout(values, left.get_reg_layout()))
    acc = bw.allocate_tensor_memory(gl.float32, [128, 64], WIDE)
    bw.tcgen05_mma(left, right, acc, use_acc=False)
    stored(c, acc.load(), 128, 64)


@gluon.jit
def consumer(a_desc, b_desc, left, right, ready, c):
    acc = bw.allocate_tensor_memory(gl.float32, [128, 64], WIDE)
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(done, count=1)
    mbarrier.wait(ready, 0)
    bw.tcgen05_mma(left, right, acc, use_acc=False, mbarriers=[done], mbarrier_preds=[True])
    mbarrier.wait(done, 0)
    stored(c, acc.load(), 128, 64)


@gluon.jit
def producer(a_desc, b_desc, left, right, ready, c):
    mbarrier.expect(ready, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
    tma.async_load(a_desc, [0, 0], ready, left)
    tma.async_load(b_desc, [0, 0], ready, right)


@gluon.jit
def specialised(a_desc, b_desc, c):
    left = gl.allocate_shared_memory(gl.float16, [128, 64], a_desc.layout)
    right = gl.allocate_shared_memory(gl.float16, [64, 64], b_desc.layout)
    ready = mbarrier.allocate_mbarrier()
    mbarrier.init(ready, count=1)
    given = (a_desc, b_desc, left, right, ready, c)
    gl.warp_specialize([(consumer, given), (producer, given)], [1])


@gluon.jit
def taken(c, acc):
    stored(c, acc.load(), 128, 64)


@gluon.jit
def idle(c, acc):
    pass


@gluon.jit
def outside(c):
    acc = bw.allocate_tensor_memory(gl.float32, [128, 64], WIDE)
    gl.warp_specialize([(taken, (c, acc)), (idle, (c, acc))], [1])


def data(m: int = 128, k: int = 64, n: int = 64):
    made = np.random.default_rng(7)
    a, b = (made.integers(-4, 5, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    return a, b, np.full((m, n), np.nan, np.float32)


def described(array, block):
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    return gluon.nvidia.blackwell.TensorDescriptor.from_tensor(array, block, layout)


@pytest.mark.parametrize(
    ("m", "n", "warps", "schedules"), [(128, 64, 4, 3), (256, 32, 4, 1), (128, 128, 8, 2)]
)
def test_a_tile_of_a_product(m: int, n: int, warps: int, schedules: int) -> None:
    a, b, c = data(m, 192, n)
    with tri.target(TARGET), tri.simulation(schedules=schedules):
        blocks[(1,)](described(a, [m, 64]), described(b, [64, n]), c, 192, STAGES=2, num_warps=warps)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("warps", [4, 8])
def test_parts_of_a_buffer_are_accumulators_of_their_own(warps: int) -> None:
    a, b, c = data()
    with tri.target(TARGET):
        views[(1,)](a, b, c, N=64, COUNT=2, num_warps=warps)
    np.testing.assert_array_equal(c, 3 + 2 * (a.astype(np.float32) @ b.astype(np.float32)))


def test_the_left_operand_may_be_in_tensor_memory() -> None:
    a, b, c = data()
    with tri.target(TARGET):
        left_in_tensor_memory[(1,)](a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_a_partition_copies_for_the_first_function() -> None:
    a, b, c = data()
    with tri.target(TARGET):
        specialised[(1,)](described(a, [128, 64]), described(b, [64, 64]), c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_ptxas_assembles_it() -> None:
    source = gluon.GluonASTSource(
        views,
        {"a": "*fp16", "b": "*fp16", "c": "*fp32", "N": "constexpr", "COUNT": "constexpr"},
        {"N": 64, "COUNT": 2},
    )
    made = tri.compile(source, "nvidia:sm_100a")
    assert made.resources.tensor_memory == 128
    assert re.findall(r"tcgen05\.(?:de)?alloc\.\S+ .*?(\d+);", made.asm["ptx"]) == ["128", "128"]
    assert made.metadata.resources["spills"] == 0


# --- planted faults ---------------------------------------------------------------------------------------


@gluon.jit
def faulty(a, b, c, starts: gl.constexpr, commits: gl.constexpr, waits: gl.constexpr, phase: gl.constexpr):
    left = gl.allocate_shared_memory(gl.float16, [128, 64], TILE, gl.load(tile(a, 128, 64, 4)))
    right = gl.allocate_shared_memory(gl.float16, [64, 64], TILE, gl.load(tile(b, 64, 64, 4)))
    bw.fence_async_shared()
    acc = bw.allocate_tensor_memory(gl.float32, [128, 64], WIDE)
    done, unused = mbarrier.allocate_mbarrier(), mbarrier.allocate_mbarrier()
    mbarrier.init(done, count=1)
    mbarrier.init(unused, count=1)
    if starts:
        bw.tcgen05_mma(left, right, acc, use_acc=False, mbarriers=[unused])
    if commits:
        bw.tcgen05_commit(done)
    if waits:
        mbarrier.wait(done, phase)
    stored(c, acc.load(), 128, 64)


RIGHT = {"starts": True, "commits": True, "waits": True, "phase": 0}
FAULTS = {
    "no wait": ({"waits": False}, "under way|not been waited", "acc.load()"),
    "no commit": ({"commits": False}, "deadlock", "mbarrier.wait(done, phase)"),
    "the phase after": ({"phase": 1}, "deadlock", "mbarrier.wait(done, phase)"),
    "the phase before": ({"commits": False, "phase": 1}, "under way|not been waited", "acc.load()"),
    "no dot": ({"starts": False}, "never been written|nobody|uninitiali", "acc.load()"),
}


def run_faulty(**arguments: object):
    a, b, c = data()
    with tri.target(TARGET):
        faulty[(1,)](a, b, c, **{**RIGHT, **arguments})
    return a, b, c


def test_without_a_fault_it_is_right() -> None:
    a, b, c = run_faulty()
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_with_its_line(name: str) -> None:
    arguments, words, line = FAULTS[name]
    with pytest.raises(TriError, match=words) as caught:
        run_faulty(**arguments)
    assert line in str(caught.value)


# --- what is refused --------------------------------------------------------------------------------------


@gluon.jit
def allocated(out, dtype: gl.constexpr, shape: gl.constexpr, layout: gl.constexpr):
    bw.allocate_tensor_memory(dtype, shape, layout)


@gluon.jit
def several(out):
    for _ in gl.static_range(3):
        bw.allocate_tensor_memory(gl.float32, [128, 256], bw.TensorMemoryLayout((128, 256), 1)).store(
            gl.zeros([128, 256], gl.float32)
        )


@gluon.jit
def loaded(out, layout: gl.constexpr):
    bw.allocate_tensor_memory(gl.float32, [128, 64], WIDE).load(layout)


@gluon.jit
def viewed(out, start: gl.constexpr, length: gl.constexpr, dim: gl.constexpr):
    bw.allocate_tensor_memory(gl.float32, [128, 64], WIDE).slice(start, length, dim)


@gluon.jit
def indexed(out):
    bw.allocate_tensor_memory(gl.float32, [128, 64], WIDE).index(0)


@gluon.jit
def grown(out):
    bw.allocate_tensor_memory(gl.float32, [128, 64], WIDE).reinterpret(shape=[128, 128])


@gluon.jit
def dotted(out, shared: gl.constexpr, depth: gl.constexpr, dtype: gl.constexpr, sums: gl.constexpr):
    a = gl.allocate_shared_memory(dtype, [128, 64], shared)
    b = gl.allocate_shared_memory(dtype, [depth, 64], shared)
    bw.tcgen05_mma(a, b, bw.allocate_tensor_memory(sums, [128, 64], WIDE))


@gluon.jit
def onto_shared(out):
    a = gl.allocate_shared_memory(gl.float16, [128, 64], TILE)
    bw.tcgen05_mma(a, a, a)


@gluon.jit
def committed(out, descs: gl.constexpr):
    bar = mbarrier.allocate_mbarrier()
    bw.tcgen05_commit(bar, descs=(bar,) if descs else ())


def new(dtype, shape, block, **more):
    return {
        "dtype": dtype,
        "shape": shape,
        "layout": bw.TensorMemoryLayout(block, **{"col_stride": 1, **more}),
    }


PLAIN = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
GOOD = {"shared": TILE.value, "depth": 64, "dtype": gl.float16, "sums": gl.float32}
BAD = [
    (
        allocated,
        TARGET,
        new(gl.float32, [2, 128, 512], (128, 256)),
        "takes 1024 columns; tensor memory has 512",
    ),
    (allocated, TARGET, new(gl.float32, [128, 64], (128, 128)), "made of blocks of"),
    (allocated, TARGET, new(gl.float32, [128], (128, 64)), "is no shape of tensor memory"),
    (allocated, TARGET, new(gl.int64, [128, 64], (128, 64)), "does not fit .* 64 bits"),
    (
        allocated,
        TARGET,
        {**new(gl.float32, [128, 64], (128, 64)), "layout": PLAIN},
        "has a layout of tensor memory",
    ),
    (allocated, "sim:nvidia:sm_90a", new(gl.float32, [128, 64], (128, 64)), "instruction of Blackwell"),
    (several, TARGET, {}, "need 768 columns of tensor memory; the target has 512"),
    (loaded, TARGET, {"layout": FLAT.value}, "a warp reaches 32 lanes"),
    (viewed, TARGET, {"start": 8, "length": 32, "dim": 1}, "not an aligned part"),
    (viewed, TARGET, {"start": 0, "length": 64, "dim": 0}, "along dimension 0"),
    (viewed, TARGET, {"start": 0, "length": 64, "dim": 2}, "dimension 2 of"),
    (indexed, TARGET, {}, "of rank 2"),
    (grown, TARGET, {}, "takes 128 columns; .* has 64"),
    (dotted, TARGET, {**GOOD, "shared": PLAIN}, "operand a is"),
    (dotted, TARGET, {**GOOD, "depth": 32}, "onto"),
    (dotted, TARGET, {**GOOD, "sums": gl.int32}, "no tcgen05.mma of fp16 and fp16 onto int32"),
    (onto_shared, TARGET, {}, "a buffer of tensor memory is expected"),
    (committed, TARGET, {"descs": True}, "tcgen05_commit with descs"),
    (committed, "sim:nvidia:sm_90a", {"descs": False}, "instruction of Blackwell"),
    (outside, TARGET, {}, "outside of the first function of warp_specialize"),
]


@pytest.mark.parametrize(("kernel", "target", "arguments", "words"), BAD)
def test_bad_input_is_a_located_error(kernel, target: str, arguments: dict[str, object], words: str) -> None:
    refused = (CompilationError, Unsupported, OutOfResources)
    with pytest.raises(refused, match=words) as caught, tri.target(target):
        kernel[(1,)](np.zeros(64, np.int32), **arguments)
    assert caught.value.location is not None
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("block", "more", "words"),
    [
        ((64, 64), {}, "blocks of 64 rows"),
        ((128, 64), {"col_stride": 2}, "col_stride 2"),
        ((128, 64), {"col_stride": 3}, "a power of two"),
        ((128, 48), {}, "two powers of two"),
        ((128, 64), {"two_ctas": True}, "several CTAs"),
        ((128, 64), {"fp4_padded": True}, "fp4_padded"),
    ],
)
def test_layouts_that_no_instruction_has(block, more, words: str) -> None:
    with pytest.raises((CompilationError, Unsupported), match=words):
        bw.TensorMemoryLayout(block, **{"col_stride": 1, **more})


def test_a_register_layout_is_one_of_its_warps() -> None:
    kind = bw.tensor_memory_descriptor_type(gl.float32, [128, 64], WIDE.value)
    assert kind.get_reg_layout(4).warp_bases == ((32, 0), (64, 0))
    assert kind.get_reg_layout(8).warp_bases == ((32, 0), (64, 0), (0, 32))
    with pytest.raises(Unsupported, match="instr_variant"):
        kind.get_reg_layout(4, "16x64b")
    with pytest.raises(CompilationError, match="num_warps is 2"):
        kind.get_reg_layout(2)


def test_one_arrival_a_dot() -> None:
    assert bw.tcgen05_mma_barrier_count([], False, False) == 1
    with pytest.raises(Unsupported, match="several CTAs"):
        bw.tcgen05_mma_barrier_count([], True, True)
