"""Matmuls of the explicit level by NVIDIA's instructions: one per generation, ``C = A @ B`` for float16 with float32 sums."""

from __future__ import annotations

from tri.experimental import gluon
from tri.experimental.gluon import language as gl

async_copy = gl.nvidia.ampere.async_copy
mma_v2 = gl.nvidia.ampere.mma_v2
blackwell = gl.nvidia.blackwell
hopper = gl.nvidia.hopper
mbarrier = gl.nvidia.hopper.mbarrier
tma = gl.nvidia.hopper.tma

__all__ = ["ampere_matmul", "blackwell_matmul", "hopper_matmul", "persistent_matmul"]


@gluon.jit
def _start_tile(
    a, b, a_tile, b_tile, k, K, N, M: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, rows: gl.constexpr
):  # type: ignore[no-untyped-def]
    m = gl.program_id(0) * M + gl.arange(0, M, layout=gl.SliceLayout(1, rows))
    n = gl.program_id(1) * BN + gl.arange(0, BN, layout=gl.SliceLayout(0, rows))
    ka = k + gl.arange(0, BK, layout=gl.SliceLayout(0, rows))
    kb = k + gl.arange(0, BK, layout=gl.SliceLayout(1, rows))
    async_copy.async_load(a_tile, a + m[:, None] * K + ka[None, :], mask=(ka < K)[None, :])
    async_copy.async_load(b_tile, b + kb[:, None] * N + n[None, :], mask=(kb < K)[:, None])
    async_copy.commit_group()


@gluon.jit
def ampere_matmul(  # type: ignore[no-untyped-def]
    a, b, c, K, N, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, STAGES: gl.constexpr
):
    """A tile of C a program, by ``mma.sync`` on tiles that ``cp.async`` brings STAGES - 1 iterations ahead."""
    rows: gl.constexpr = gl.BlockedLayout([1, 8], [32 * 8 // BK, BK // 8], [gl.num_warps(), 1], [1, 0])
    result: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [gl.num_warps() // 2, 2], [16, 8])
    shared: gl.constexpr = gl.SwizzledSharedLayout(8, 1, 4, [1, 0])
    a_ring = gl.allocate_shared_memory(gl.float16, [STAGES, BM, BK], shared)
    b_ring = gl.allocate_shared_memory(gl.float16, [STAGES, BK, BN], shared)
    for stage in gl.static_range(STAGES - 1):
        _start_tile(a, b, a_ring.index(stage), b_ring.index(stage), stage * BK, K, N, BM, BN, BK, rows)
    acc = gl.zeros([BM, BN], gl.float32, result)
    for k in range(0, K, BK):
        ahead = k // BK + STAGES - 1
        _start_tile(
            a,
            b,
            a_ring.index(ahead % STAGES),
            b_ring.index(ahead % STAGES),
            ahead * BK,
            K,
            N,
            BM,
            BN,
            BK,
            rows,
        )
        async_copy.wait_group(STAGES - 1)
        left = a_ring.index(k // BK % STAGES).load(gl.DotOperandLayout(0, result, 2))
        right = b_ring.index(k // BK % STAGES).load(gl.DotOperandLayout(1, result, 2))
        acc = mma_v2(left, right, acc)
    async_copy.wait_group(0)
    m = gl.program_id(0) * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, result))
    n = gl.program_id(1) * BN + gl.arange(0, BN, layout=gl.SliceLayout(0, result))
    gl.store(c + m[:, None] * N + n[None, :], acc)


@gluon.jit
def hopper_matmul(a_desc, b_desc, c_desc, K, STAGES: gl.constexpr):  # type: ignore[no-untyped-def]
    """A tile of C a program, by ``wgmma`` on blocks that the TMA brings STAGES iterations ahead."""
    BM: gl.constexpr = c_desc.block_shape[0]
    BN: gl.constexpr = c_desc.block_shape[1]
    BK: gl.constexpr = a_desc.block_shape[1]
    result: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [gl.num_warps(), 1], [16, BN, 16])
    a_ring = gl.allocate_shared_memory(a_desc.dtype, [STAGES, BM, BK], a_desc.layout)
    b_ring = gl.allocate_shared_memory(b_desc.dtype, [STAGES, BK, BN], b_desc.layout)
    ready = mbarrier.allocate_mbarrier(STAGES)
    for stage in gl.static_range(STAGES):
        mbarrier.init(ready.index(stage), count=1)
    m, n = gl.program_id(0) * BM, gl.program_id(1) * BN
    for stage in gl.static_range(STAGES):
        bar = ready.index(stage)
        mbarrier.expect(bar, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta, stage * BK < K)
        tma.async_load(a_desc, [m, stage * BK], bar, a_ring.index(stage), stage * BK < K)
        tma.async_load(b_desc, [stage * BK, n], bar, b_ring.index(stage), stage * BK < K)
    acc = gl.zeros([BM, BN], gl.float32, result)
    for k in range(0, K, BK):
        slot = k // BK % STAGES
        full = ready.index(slot)
        mbarrier.wait(full, k // BK // STAGES & 1)
        dots = hopper.warpgroup_mma(
            a_ring.index(slot), b_ring.index(slot), hopper.warpgroup_mma_init(acc), is_async=True
        )
        acc = hopper.warpgroup_mma_wait(0, deps=(dots,))
        after = k + STAGES * BK
        mbarrier.expect(full, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta, after < K)
        tma.async_load(a_desc, [m, after], full, a_ring.index(slot), after < K)
        tma.async_load(b_desc, [after, n], full, b_ring.index(slot), after < K)
    for stage in gl.static_range(STAGES):
        mbarrier.invalidate(ready.index(stage))
    out = gl.allocate_shared_memory(c_desc.dtype, [BM, BN], c_desc.layout, acc.to(c_desc.dtype))
    hopper.fence_async_shared()
    tma.async_store(c_desc, [m, n], out)
    tma.store_wait(0)


@gluon.jit
def _load_tiles(a_desc, b_desc, a_ring, b_ring, ready, empty, K, tiles, columns):  # type: ignore[no-untyped-def]
    """The producer: blocks of A and B of one tile after the other, into stages that consumers have left."""
    STAGES: gl.constexpr = a_ring.shape[0]
    BM: gl.constexpr = a_ring.shape[1]
    BK: gl.constexpr = a_ring.shape[2]
    BN: gl.constexpr = b_ring.shape[2]
    count = 0
    for tile in range(gl.program_id(0), tiles, gl.num_programs(0)):
        m, n = tile // columns * BM, tile % columns * BN
        for k in range(0, K, BK):
            stage = count % STAGES
            bar = ready.index(stage)
            mbarrier.wait(empty.index(stage), count // STAGES & 1 ^ 1)
            mbarrier.expect(bar, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
            tma.async_load(a_desc, [m, k], bar, a_ring.index(stage))
            tma.async_load(b_desc, [k, n], bar, b_ring.index(stage))
            count += 1


@gluon.jit
def _multiply_tiles(c_desc, a_ring, b_ring, ready, empty, K, tiles, columns):  # type: ignore[no-untyped-def]
    """The consumers: dots of what is ready, then the tile's store."""
    STAGES: gl.constexpr = a_ring.shape[0]
    BM: gl.constexpr = a_ring.shape[1]
    BK: gl.constexpr = a_ring.shape[2]
    BN: gl.constexpr = b_ring.shape[2]
    result: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [gl.num_warps(), 1], [16, BN, 16])
    out = gl.allocate_shared_memory(c_desc.dtype, [BM, BN], c_desc.layout)
    count = 0
    for tile in range(gl.program_id(0), tiles, gl.num_programs(0)):
        acc = gl.zeros([BM, BN], gl.float32, result)
        for _ in range(0, K, BK):
            stage = count % STAGES
            mbarrier.wait(ready.index(stage), count // STAGES & 1)
            acc = hopper.warpgroup_mma(a_ring.index(stage), b_ring.index(stage), acc)
            mbarrier.arrive(empty.index(stage))
            count += 1
        tma.store_wait(0)
        out.store(acc.to(c_desc.dtype))
        hopper.fence_async_shared()
        tma.async_store(c_desc, [tile // columns * BM, tile % columns * BN], out)
    tma.store_wait(0)


@gluon.jit
def persistent_matmul(a_desc, b_desc, c_desc, K, tiles, columns, STAGES: gl.constexpr):  # type: ignore[no-untyped-def]
    """Several tiles of C a program: a warp that copies, and the kernel's own warps, which multiply and store."""
    BM: gl.constexpr = c_desc.block_shape[0]
    BN: gl.constexpr = c_desc.block_shape[1]
    BK: gl.constexpr = a_desc.block_shape[1]
    a_ring = gl.allocate_shared_memory(a_desc.dtype, [STAGES, BM, BK], a_desc.layout)
    b_ring = gl.allocate_shared_memory(b_desc.dtype, [STAGES, BK, BN], b_desc.layout)
    ready = mbarrier.allocate_mbarrier(STAGES)
    empty = mbarrier.allocate_mbarrier(STAGES)
    for stage in gl.static_range(STAGES):
        mbarrier.init(ready.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=1)
    gl.warp_specialize(
        [
            (_multiply_tiles, (c_desc, a_ring, b_ring, ready, empty, K, tiles, columns)),
            (_load_tiles, (a_desc, b_desc, a_ring, b_ring, ready, empty, K, tiles, columns)),
        ],
        [1],
        [40],
    )


@gluon.jit
def blackwell_matmul(a_desc, b_desc, c_desc, K, STAGES: gl.constexpr):  # type: ignore[no-untyped-def]
    """A tile of C a program, by ``tcgen05.mma`` into tensor memory on blocks that the TMA brings STAGES iterations ahead."""
    BM: gl.constexpr = c_desc.block_shape[0]
    BN: gl.constexpr = c_desc.block_shape[1]
    BK: gl.constexpr = a_desc.block_shape[1]
    a_ring = gl.allocate_shared_memory(a_desc.dtype, [STAGES, BM, BK], a_desc.layout)
    b_ring = gl.allocate_shared_memory(b_desc.dtype, [STAGES, BK, BN], b_desc.layout)
    acc = blackwell.allocate_tensor_memory(
        gl.float32, [BM, BN], blackwell.TensorMemoryLayout((128, BN), col_stride=1)
    )
    ready = mbarrier.allocate_mbarrier(STAGES)
    done = mbarrier.allocate_mbarrier()
    for stage in gl.static_range(STAGES):
        mbarrier.init(ready.index(stage), count=1)
    mbarrier.init(done, count=1)
    m, n = gl.program_id(0) * BM, gl.program_id(1) * BN
    for stage in gl.static_range(STAGES):
        bar = ready.index(stage)
        mbarrier.expect(bar, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta, stage * BK < K)
        tma.async_load(a_desc, [m, stage * BK], bar, a_ring.index(stage), stage * BK < K)
        tma.async_load(b_desc, [stage * BK, n], bar, b_ring.index(stage), stage * BK < K)
    for k in range(0, K, BK):
        slot = k // BK % STAGES
        full = ready.index(slot)
        mbarrier.wait(full, k // BK // STAGES & 1)
        blackwell.tcgen05_mma(a_ring.index(slot), b_ring.index(slot), acc, use_acc=k > 0, mbarriers=[done])
        mbarrier.wait(done, k // BK & 1)
        after = k + STAGES * BK
        mbarrier.expect(full, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta, after < K)
        tma.async_load(a_desc, [m, after], full, a_ring.index(slot), after < K)
        tma.async_load(b_desc, [after, n], full, b_ring.index(slot), after < K)
    for stage in gl.static_range(STAGES):
        mbarrier.invalidate(ready.index(stage))
    mbarrier.invalidate(done)
    out = gl.allocate_shared_memory(c_desc.dtype, [BM, BN], c_desc.layout, acc.load().to(c_desc.dtype))
    blackwell.fence_async_shared()
    tma.async_store(c_desc, [m, n], out)
    tma.store_wait(0)
