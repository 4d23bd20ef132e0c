"""Gluon's block-scaled dots of ``tcgen05``: formats and shapes on the simulator, planted faults, what ptxas makes."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tri
from scaled_data import Operand, close
from tri.experimental import gluon
from tri.experimental.gluon import language as gl
from tri_core.api import TriError

TARGET = "sim:nvidia:sm_100a"
bw = gl.nvidia.blackwell
mbarrier, tma = bw.mbarrier, bw.tma
SCALES = gl.constexpr(bw.TensorMemoryScalesLayout())


@gluon.jit
def at(pointer, R: gl.constexpr, C: gl.constexpr):
    """Pointers to a row-major block."""
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [8, 4], [gl.num_warps(), 1], [1, 0])
    row = gl.arange(0, R, layout=gl.SliceLayout(1, layout))
    column = gl.arange(0, C, layout=gl.SliceLayout(0, layout))
    return pointer + row[:, None] * C + column[None, :]


@gluon.jit
def stored(pointer, acc, R: gl.constexpr, C: gl.constexpr):
    """An accumulator, in memory."""
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [8, 4], [gl.num_warps(), 1], [1, 0])
    gl.store(at(pointer, R, C), gl.convert_layout(acc.load(), layout))


@gluon.jit
def stored_scales(pointer, R: gl.constexpr, G: gl.constexpr):
    """Scales in tensor memory, from registers."""
    scales = bw.allocate_tensor_memory(pointer.dtype.element_ty, [R, G], SCALES)
    layout: gl.constexpr = scales.get_reg_layout()
    row = gl.arange(0, R, layout=gl.SliceLayout(1, layout))
    group = gl.arange(0, G, layout=gl.SliceLayout(0, layout))
    scales.store(gl.load(pointer + row[:, None] * G + group[None, :]))
    return scales


@gluon.jit
def shared_scales(pointer, R: gl.constexpr, G: gl.constexpr):
    """Scales in shared memory as copies take them."""
    layout: gl.constexpr = gl.NVMMASharedLayout(0, 8, rank=5)
    buffer = gl.allocate_shared_memory(pointer.dtype.element_ty, [R // 128, G // 4, 32, 4, 4], layout)
    scales = buffer.permute((0, 3, 2, 1, 4)).reshape((R, G))
    scales.store(gl.load(at(pointer, R, G)))
    return scales


@gluon.jit
def copied_scales(pointer, R: gl.constexpr, G: gl.constexpr):
    """The same in tensor memory."""
    scales = bw.allocate_tensor_memory(pointer.dtype.element_ty, [R, G], SCALES)
    source = shared_scales(pointer, R, G)
    bw.fence_async_shared()
    bw.tcgen05_copy(source, scales)
    return scales


@gluon.jit
def dot(
    a, b, a_scale, b_scale, c,
    M: gl.constexpr, N: gl.constexpr, AK: gl.constexpr, BK: gl.constexpr, G: gl.constexpr,
    LEFT: gl.constexpr, RIGHT: gl.constexpr, a_layout: gl.constexpr, b_layout: gl.constexpr,
    COPIES: gl.constexpr, ADDS: gl.constexpr,
):  # fmt: skip
    """``c`` (+)= (a * a_scale) @ (b * b_scale) with b of N x BK."""
    left = gl.allocate_shared_memory(a.dtype.element_ty, [M, AK], a_layout, gl.load(at(a, M, AK)))
    right = gl.allocate_shared_memory(b.dtype.element_ty, [N, BK], b_layout, gl.load(at(b, N, BK)))
    bw.fence_async_shared()
    acc = bw.allocate_tensor_memory(gl.float32, [M, N], bw.TensorMemoryLayout((128, N), col_stride=1))
    if ADDS:
        acc.store(gl.convert_layout(gl.load(at(c, M, N)), acc.get_reg_layout()))
    if COPIES:
        a_factors, b_factors = copied_scales(a_scale, M, G), copied_scales(b_scale, N, G)
    else:
        a_factors, b_factors = stored_scales(a_scale, M, G), stored_scales(b_scale, N, G)
    bw.tcgen05_mma_scaled(left, right.permute((1, 0)), acc, a_factors, b_factors, LEFT, RIGHT, use_acc=ADDS)
    stored(c, acc, M, N)


def layouts(left: str, right: str, shape) -> dict[str, object]:
    """Layouts of the operands: of e2m1 beside 8 bits, padded."""
    mixed = (left == "e2m1") != (right == "e2m1")
    return {
        f"{name}_layout": gl.NVMMASharedLayout.get_default_for(
            block, gl.uint8, fp4_padded=mixed and kind == "e2m1"
        )
        for name, kind, block in zip("ab", (left, right), shape, strict=True)
    }


def arguments(shape, left: str = "e4m3", right: str = "e4m3", group: int = 32, scale: str = "ue8m0"):
    """Operands, the result's array, and the constants of :func:`dot`."""
    m, n, k = shape
    rng = np.random.default_rng([m, n, k, group])
    a, b = (Operand.random(rng, rows, k, kind, group, scale) for rows, kind in ((m, left), (n, right)))
    c = rng.standard_normal((m, n)).astype(np.float32)
    constants = {
        "M": m, "N": n, "AK": a.held.shape[1], "BK": b.held.shape[1], "G": k // group,
        "LEFT": left, "RIGHT": right, **layouts(left, right, (a.held.shape, b.held.shape)),
    }  # fmt: skip
    return a, b, c, constants


def run(shape, *formats, copies: bool = True, adds: bool = False, warps: int = 4):
    """The kernel, what it gives, and what it should."""
    a, b, c, constants = arguments(shape, *formats)
    exact = a.exact @ b.exact.T + (c if adds else 0)
    with tri.target(TARGET):
        kernel = dot[(1,)](
            a.held, b.held, a.scales, b.scales, c, **constants, COPIES=copies, ADDS=adds, num_warps=warps
        )
    return kernel, c, exact


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize(
    ("shape", "adds", "warps"),
    [((128, 128, 128), True, 4), ((256, 128, 256), False, 4), ((128, 256, 256), True, 8)],
)
def test_mxfp8(shape, adds: bool, warps: int, copies: bool) -> None:
    kernel, c, exact = run(shape, adds=adds, copies=copies, warps=warps)
    assert kernel.asm["llir"].count("nvm.tcgen05_mma_scaled") == 1
    assert kernel.asm["llir"].count("nvm.tcgen05_cp") == (2 if copies else 0)
    close(c, exact)


FORMATS = {
    "e5m2 and e4m3": ("e5m2", "e4m3"),
    "mxfp4": ("e2m1", "e2m1"),
    "nvfp4": ("e2m1", "e2m1", 16, "ue4m3"),
    "fp4 with e8m0 for 16": ("e2m1", "e2m1", 16),
    "fp8 and fp4": ("e4m3", "e2m1"),
    "fp4 and fp8": ("e2m1", "e5m2"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_formats(name: str) -> None:
    _, c, exact = run((128, 128, 256), *FORMATS[name], adds=True)
    close(c, exact)


@pytest.mark.parametrize("n", [32, 64])
def test_fewer_columns_have_scales_from_registers(n: int) -> None:
    _, c, exact = run((128, n, 128), copies=False)
    close(c, exact)


def test_scales_of_few_rows_are_the_same_in_more_warps() -> None:
    _, c, exact = run((128, 32, 128), copies=False, warps=8)
    close(c, exact)


# --- a loop -----------------------------------------------------------------------------------------------


@gluon.jit
def scales_at(pointer, step, steps, R: gl.constexpr, G: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [32, 1], [gl.num_warps(), 1], [1, 0])
    row = gl.arange(0, R, layout=gl.SliceLayout(1, layout))
    group = gl.arange(0, G, layout=gl.SliceLayout(0, layout))
    return pointer + row[:, None] * (steps * G) + step * G + group[None, :]


@gluon.jit
def block_at(pointer, step, steps, R: gl.constexpr, C: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 16], [4, 8], [gl.num_warps(), 1], [1, 0])
    row = gl.arange(0, R, layout=gl.SliceLayout(1, layout))
    column = gl.arange(0, C, layout=gl.SliceLayout(0, layout))
    return pointer + row[:, None] * (steps * C) + step * C + column[None, :]


@gluon.jit
def as_copied(buffer, R: gl.constexpr, G: gl.constexpr):
    return buffer.permute((0, 3, 2, 1, 4)).reshape((R, G))


@gluon.jit
def loop(a, b, a_scale, b_scale, c, steps, STAGES: gl.constexpr, WAITS: gl.constexpr):
    """128 x 128, in steps of 128 along k; with STAGES of 2 a dot is under way while the next operands come."""
    tile: gl.constexpr = gl.NVMMASharedLayout(128, 8)
    plain: gl.constexpr = gl.NVMMASharedLayout(0, 8, rank=5)
    left = gl.allocate_shared_memory(gl.uint8, [STAGES, 128, 128], tile)
    right = gl.allocate_shared_memory(gl.uint8, [STAGES, 128, 128], tile)
    left_scales = gl.allocate_shared_memory(gl.uint8, [STAGES, 1, 1, 32, 4, 4], plain)
    right_scales = gl.allocate_shared_memory(gl.uint8, [STAGES, 1, 1, 32, 4, 4], plain)
    a_factors = bw.allocate_tensor_memory(gl.uint8, [STAGES, 128, 4], SCALES)
    b_factors = bw.allocate_tensor_memory(gl.uint8, [STAGES, 128, 4], SCALES)
    acc = bw.allocate_tensor_memory(gl.float32, [128, 128], bw.TensorMemoryLayout((128, 128), col_stride=1))
    done = mbarrier.allocate_mbarrier(STAGES)
    for stage in gl.static_range(STAGES):
        mbarrier.init(done.index(stage), count=1)
    for step in range(steps):
        slot = step % STAGES
        if WAITS:
            mbarrier.wait(done.index(slot), (step // STAGES + 1) & 1)
        left.index(slot).store(gl.load(block_at(a, step, steps, 128, 128)))
        right.index(slot).store(gl.load(block_at(b, step, steps, 128, 128)))
        sa = as_copied(left_scales.index(slot), 128, 4)
        sb = as_copied(right_scales.index(slot), 128, 4)
        sa.store(gl.load(scales_at(a_scale, step, steps, 128, 4)))
        sb.store(gl.load(scales_at(b_scale, step, steps, 128, 4)))
        bw.fence_async_shared()
        bw.tcgen05_copy(sa, a_factors.index(slot))
        bw.tcgen05_copy(sb, b_factors.index(slot))
        bw.tcgen05_mma_scaled(
            left.index(slot),
            right.index(slot).permute((1, 0)),
            acc,
            a_factors.index(slot),
            b_factors.index(slot),
            "e4m3",
            "e4m3",
            use_acc=step > 0,
            mbarriers=[done.index(slot)],
        )
    for stage in gl.static_range(STAGES):
        last = steps - STAGES + stage
        mbarrier.wait(done.index(last % STAGES), last // STAGES & 1)
    stored(c, acc, 128, 128)


def run_loop(steps: int, stages: int, *, waits: bool = True):
    rng = np.random.default_rng(steps)
    a, b = (Operand.random(rng, 128, 128 * steps, "e4m3") for _ in range(2))
    c = np.full((128, 128), np.nan, np.float32)
    with tri.target(TARGET):
        loop[(1,)](a.held, b.held, a.scales, b.scales, c, steps, STAGES=stages, WAITS=waits)
    return c, a.exact @ b.exact.T


@pytest.mark.parametrize("stages", [1, 2])
def test_a_loop_with_dots_under_way(stages: int) -> None:
    close(*run_loop(4, stages))


def test_operands_that_are_written_while_a_dot_reads_them_are_seen() -> None:
    with pytest.raises(TriError, match="has not been waited for") as caught:
        run_loop(3, 1, waits=False)
    assert caught.value.location is not None


# --- scales by the TMA ------------------------------------------------------------------------------------


@gluon.jit
def by_tma(a_desc, scale_desc, c):
    """``a @ a.T`` with scales that memory has in blocks, as [1, blocks of rows, blocks of scales, 2, 256]."""
    ready = mbarrier.allocate_mbarrier()
    mbarrier.init(ready, count=1)
    left = gl.allocate_shared_memory(a_desc.dtype, [128, 128], a_desc.layout)
    blocks = gl.allocate_shared_memory(scale_desc.dtype, [1, 1, 1, 2, 256], scale_desc.layout)
    mbarrier.expect(ready, a_desc.nbytes_per_cta + scale_desc.nbytes_per_cta)
    tma.async_load(a_desc, [0, 0], ready, left)
    tma.async_load(scale_desc, [0, 0, 0, 0, 0], ready, blocks)
    mbarrier.wait(ready, 0)
    factors = bw.allocate_tensor_memory(gl.uint8, [128, 4], SCALES)
    acc = bw.allocate_tensor_memory(gl.float32, [128, 128], bw.TensorMemoryLayout((128, 128), col_stride=1))
    bw.tcgen05_copy(as_copied(blocks.reshape((1, 1, 32, 4, 4)), 128, 4), factors)
    bw.tcgen05_mma_scaled(left, left.permute((1, 0)), acc, factors, factors, "e4m3", "e4m3", use_acc=False)
    stored(c, acc, 128, 128)


def test_scales_that_the_tma_brings() -> None:
    a = Operand.random(np.random.default_rng(5), 128, 128, "e4m3")
    blocks = np.ascontiguousarray(a.scales.reshape(4, 32, 4).transpose(1, 0, 2)).reshape(1, 1, 1, 2, 256)
    c = np.full((128, 128), np.nan, np.float32)
    make = gluon.nvidia.blackwell.TensorDescriptor.from_tensor
    descriptors = (
        make(a.held, [128, 128], gl.NVMMASharedLayout(128, 8)),
        make(blocks, list(blocks.shape), gl.NVMMASharedLayout(0, 8, rank=5)),
    )
    with tri.target(TARGET):
        by_tma[(1,)](*descriptors, c)
    close(c, a.exact @ a.exact.T)


# --- planted faults ---------------------------------------------------------------------------------------


@gluon.jit
def faulty(scales, c, COPIES: gl.constexpr, AGAIN: gl.constexpr, REWRITES: gl.constexpr):
    """A dot of ones whose scales nobody copies, or that are copied over while it reads them, or from what is written again."""
    tile: gl.constexpr = gl.NVMMASharedLayout(128, 8)
    ones = gl.allocate_shared_memory(gl.uint8, [128, 128], tile)
    layout: gl.constexpr = gl.BlockedLayout([1, 16], [4, 8], [gl.num_warps(), 1], [1, 0])
    ones.store(gl.full([128, 128], 56, gl.uint8, layout))
    source = shared_scales(scales, 128, 4)
    bw.fence_async_shared()
    factors = bw.allocate_tensor_memory(gl.uint8, [128, 4], SCALES)
    acc = bw.allocate_tensor_memory(gl.float32, [128, 128], bw.TensorMemoryLayout((128, 128), col_stride=1))
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(done, count=1)
    if COPIES:
        bw.tcgen05_copy(source, factors)
    if REWRITES:
        source.store(gl.load(at(scales, 128, 4)))
    dots(ones, acc, factors, done)
    if AGAIN:
        bw.tcgen05_copy(source, factors)
    mbarrier.wait(done, 0)
    stored(c, acc, 128, 128)


@gluon.jit
def dots(ones, acc, factors, done):
    bw.tcgen05_mma_scaled(
        ones, ones.permute((1, 0)), acc, factors, factors, "e4m3", "e4m3", use_acc=False, mbarriers=[done]
    )


RIGHT = {"COPIES": True, "AGAIN": False, "REWRITES": False}


def run_faulty(**arguments: bool):
    c = np.full((128, 128), np.nan, np.float32)
    with tri.target(TARGET):
        faulty[(1,)](np.full((128, 4), 128, np.uint8), c, **{**RIGHT, **arguments})
    return c


def test_without_a_fault_it_is_right() -> None:
    np.testing.assert_array_equal(run_faulty(), np.full((128, 128), 128 * 4.0, np.float32))


FAULTS = {
    "no copy": ({"COPIES": False}, "nobody has written", "bw.tcgen05_mma_scaled("),
    "copied over": ({"AGAIN": True}, "in which a dot is under way", "bw.tcgen05_copy(source, factors)"),
    "written again": ({"REWRITES": True}, "has not been waited for", "source.store("),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_with_its_line(name: str) -> None:
    arguments_, words, line = FAULTS[name]
    with pytest.raises(TriError, match=words) as caught:
        run_faulty(**arguments_)
    assert line in str(caught.value)


# --- machine code -----------------------------------------------------------------------------------------


def compiled(left: str, right: str, group: int, scale: str, target: str = "nvidia:sm_100a", **more: bool):
    """:func:`dot` of 128 x 128 x 256 for ``target``; ``scale``: its type in a signature."""
    *_, constants = arguments((128, 128, 256), left, right, group)
    constants |= {"COPIES": True, "ADDS": False, **more}
    types = {"a": "*u8", "b": "*u8", "a_scale": f"*{scale}", "b_scale": f"*{scale}", "c": "*fp32"}
    source = gluon.GluonASTSource(dot, types | dict.fromkeys(constants, "constexpr"), constants)
    return tri.compile(source, target)


MMA = re.compile(
    r"add\.u32 sa\d+, (%r\d+), \d+; add\.u32 sb\d+, (%r\d+), \d+; mov\.b32 idesc\d+, \d+; "
    r"@%p\d+ tcgen05\.mma\.cta_group::1\.kind::(\w+)\.block_scale\.(\S+) "
    r"\[sum\d+\], da\d+, db\d+, idesc\d+, \[sa\d+\], \[sb\d+\], \S+;"
)


@pytest.mark.parametrize(
    ("formats", "kind", "vectors", "count"),
    [
        (("e4m3", "e4m3", 32, "u8"), "mxf8f6f4", "scale_vec::1X", 8),
        (("e2m1", "e2m1", 32, "u8"), "mxf4", "scale_vec::2X", 4),
        (("e2m1", "e2m1", 16, "fp8e4nv"), "mxf4nvf4", "scale_vec::4X", 4),
    ],
)
def test_the_instructions(formats, kind: str, vectors: str, count: int) -> None:
    made = compiled(*formats)
    # scales are read from where they are copied to
    left, right = re.findall(r"add\.u32 to0, (%r\d+), 0;", made.asm["ptx"])
    assert left != right
    assert MMA.findall(made.asm["ptx"]) == [(left, right, kind, vectors)] * count
    assert made.metadata.resources["spills"] == 0
    assert made.resources.tensor_memory == 256  # 128, and the scales of two operands


def test_families_of_targets_name_blocks_of_elements() -> None:
    assert {
        found[3] for found in MMA.findall(compiled("e4m3", "e4m3", 32, "u8", "nvidia:sm_100f").asm["ptx"])
    } == {"block32"}
