"""Gluon kernels of NVIDIA's instructions on the simulators, planted faults that these find, and what the namespace refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tri
from integration.kernels import gluon_nvidia as kernels
from tri.experimental import gluon
from tri.experimental.gluon import language as gl
from tri_core.errors import CompilationError, DescriptorError, TriError, Unsupported

AMPERE, HOPPER, BLACKWELL = "sim:nvidia:sm_80", "sim:nvidia:sm_90a", "sim:nvidia:sm_100a"
async_copy = gl.nvidia.ampere.async_copy
hopper = gl.nvidia.hopper
mbarrier = gl.nvidia.hopper.mbarrier
tma = gl.nvidia.hopper.tma
ROW = gl.constexpr(gl.BlockedLayout([1], [32], [4], [0]))
PLAIN = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [0]))
TILE = gl.constexpr(gl.NVMMASharedLayout(64, 16))
SQUARE = gl.constexpr(gl.BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0]))


def random(*shape: int) -> npt.NDArray[np.float16]:
    return np.random.default_rng(5).standard_normal(shape).astype(np.float16)


def described(array: Any, block: list[int]) -> Any:
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    return gluon.nvidia.hopper.TensorDescriptor.from_tensor(array, block, layout)


def expected(a: Any, b: Any) -> Any:
    return a.astype(np.float32) @ b.astype(np.float32)


# --- programs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [AMPERE, HOPPER])
def test_a_matmul_by_async_copies_and_mma(target: str) -> None:
    a, b = random(64, 96), random(96, 32)
    c = np.zeros((64, 32), np.float32)
    with tri.target(target):
        kernels.ampere_matmul[(1, 1)](a, b, c, 96, 32, BM=64, BN=32, BK=32, STAGES=3)
    np.testing.assert_allclose(c, expected(a, b), rtol=1e-4, atol=1e-4)


def test_a_matmul_by_tma_and_warp_group_dots() -> None:
    a, b = random(64, 192), random(192, 32)
    c = np.zeros((64, 32), np.float16)
    with tri.target(HOPPER):
        blocks = described(a, [64, 64]), described(b, [64, 32]), described(c, [64, 32])
        kernels.hopper_matmul[(1, 1)](*blocks, 192, STAGES=2)
    np.testing.assert_allclose(c, expected(a, b), rtol=2e-3, atol=2e-2)


def test_a_matmul_by_tma_and_tensor_memory() -> None:
    a, b = random(128, 192), random(192, 64)
    c = np.zeros((128, 64), np.float16)
    with tri.target(BLACKWELL):
        blocks = described(a, [128, 64]), described(b, [64, 64]), described(c, [128, 64])
        kernels.blackwell_matmul[(1, 1)](*blocks, 192, STAGES=2)
    np.testing.assert_allclose(c, expected(a, b), rtol=2e-3, atol=2e-2)


def test_a_persistent_matmul_by_specialised_warps() -> None:
    a, b = random(128, 128), random(128, 64)
    c = np.zeros((128, 64), np.float16)
    with tri.target(HOPPER):
        blocks = described(a, [64, 64]), described(b, [64, 32]), described(c, [64, 32])
        kernels.persistent_matmul[(2,)](*blocks, 128, 4, 2, STAGES=2)
    np.testing.assert_allclose(c, expected(a, b), rtol=2e-3, atol=2e-2)


@gluon.jit
def descriptor_made_here(x, out, rows, columns):
    source = tma.make_tensor_descriptor(x, [rows, columns], [columns, 1], [32, 32], TILE)
    sink = tma.make_tensor_descriptor(out, [rows, columns], [columns, 1], [32, 32], TILE)
    buffer = gl.allocate_shared_memory(gl.float16, [32, 32], source.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, source.nbytes_per_cta)
    tma.async_load(source, [0, 0], bar, buffer)
    mbarrier.wait(bar, 0, deps=(buffer,))
    tma.async_atomic_add(sink, [0, 0], buffer)
    tma.store_wait(0, read_only=False)


def test_a_descriptor_made_in_the_kernel_cuts_off_at_its_bounds() -> None:
    x, out = random(24, 40), np.ones((24, 40), np.float16)
    with tri.target(HOPPER):
        descriptor_made_here[(1,)](x, out, 24, 40)
    wanted = np.ones_like(x)
    wanted[:, :32] += x[:, :32]
    np.testing.assert_array_equal(out, wanted)


# --- planted faults ---------------------------------------------------------------------------------------


@gluon.jit
def copied(x, out, waits: gl.constexpr):
    i = gl.arange(0, 256, layout=ROW)
    buffer = gl.allocate_shared_memory(gl.float32, [256], PLAIN)
    async_copy.async_load(buffer, x + i, mask=i < 200)
    async_copy.commit_group()
    if waits:
        async_copy.wait_group(0)
    gl.store(out + i, buffer.load(ROW))


@gluon.jit
def block_copied(desc, out, arrivals: gl.constexpr, size: gl.constexpr, waits: gl.constexpr):
    row = gl.arange(0, 32, layout=gl.SliceLayout(1, SQUARE))
    column = gl.arange(0, 32, layout=gl.SliceLayout(0, SQUARE))
    buffer = gl.allocate_shared_memory(gl.float16, [32, 32], desc.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=arrivals)
    mbarrier.expect(bar, size)
    tma.async_load(desc, [0, 0], bar, buffer)
    if waits:
        mbarrier.wait(bar, 0)
    gl.store(out + row[:, None] * 32 + column[None, :], buffer.load(SQUARE))


def by_threads(waits: bool) -> Any:
    out = np.zeros(256, np.float32)
    with tri.target(AMPERE):
        copied[(1,)](np.arange(256, dtype=np.float32) + 1, out, waits=waits)
    return out


def by_blocks(arrivals: int = 1, size: int = 2048, waits: bool = True) -> Any:
    x, out = random(32, 32), np.zeros((32, 32), np.float16)
    with tri.target(HOPPER):
        desc = gluon.nvidia.hopper.TensorDescriptor.from_tensor(x, [32, 32], TILE.value)
        block_copied[(1,)](desc, out, arrivals=arrivals, size=size, waits=waits)
    return x, out


def test_copies_that_are_waited_for_arrive() -> None:
    np.testing.assert_array_equal(by_threads(waits=True), [*range(1, 201), *[0] * 56])
    np.testing.assert_array_equal(*by_blocks())


FAULTS: list[tuple[Any, dict[str, Any], str, str]] = [
    (by_threads, {"waits": False}, "race|copy|arriv", "buffer.load(ROW)"),
    (by_blocks, {"waits": False}, "race|copy|arriv", "buffer.load(SQUARE)"),
    (by_blocks, {"arrivals": 2}, "deadlock|wait", "mbarrier.wait(bar, 0)"),
    (by_blocks, {"size": 4096}, "deadlock|wait", "mbarrier.wait(bar, 0)"),
]


@pytest.mark.parametrize(("run", "arguments", "words", "line"), FAULTS)
def test_the_simulator_finds_a_planted_fault(
    run: Any, arguments: dict[str, Any], words: str, line: str
) -> None:
    with pytest.raises(TriError, match=words) as caught:
        run(**arguments)
    assert line in str(caught.value)


# --- what is refused --------------------------------------------------------------------------------------


@gluon.jit
def pair(out):
    return gl.program_id(0) + gl.num_warps(), 7


@gluon.jit
def worker(out, at):
    gl.store(out + at + gl.arange(0, 32, layout=gl.BlockedLayout([1], [32], [1], [0])), 10 * gl.num_warps())


@gluon.jit
def divided(out):
    found, seven = gl.warp_specialize([(pair, (out,)), (worker, (out, 0)), (worker, (out, 32))], [1, 1])
    gl.store(out + 64 + gl.arange(0, 128, layout=ROW), found + seven)


def test_partitions_have_layouts_of_their_own_warps_and_the_first_has_a_result() -> None:
    out = np.zeros(192, np.int32)
    with tri.target(HOPPER):
        divided[(1,)](out)
    np.testing.assert_array_equal(out, [10] * 64 + [11] * 128)


@gluon.jit
def assembled(out):
    i = gl.arange(0, 128, layout=ROW)
    gl.store(
        out + i, gl.inline_asm_elementwise("shf.l.wrap.b32 $0, $1, $1, 8;", "=r,r", [i], gl.int32, True, 1)
    )


def test_assembly_on_elements_keeps_the_layout() -> None:
    source = gluon.GluonASTSource(assembled, {"out": "*i32"})
    assert "shf.l.wrap" in tri.compile(source, AMPERE).asm["ttgir"]


@gluon.jit
def by_block(out):
    tma.store_wait(0)


@gluon.jit
def by_group(out):
    hopper.warpgroup_mma_init(gl.zeros([16], gl.float32, ROW))


@gluon.jit
def multiplied(out, result: gl.constexpr, left: gl.constexpr):
    a = gl.zeros([64, 16], gl.float16, left)
    hopper.mma_v2(a, gl.zeros([16, 16], gl.float16, left), gl.zeros([64, 16], gl.float32, result))


@gluon.jit
def grouped(out, result: gl.constexpr, shared: gl.constexpr, columns: gl.constexpr):
    a = gl.allocate_shared_memory(gl.float16, [64, 32], shared)
    b = gl.allocate_shared_memory(gl.float16, [32, columns], shared)
    hopper.warpgroup_mma(a, b, gl.zeros([64, 32], gl.float32, result))


@gluon.jit
def begun(out, count: gl.constexpr, batch: gl.constexpr):
    mbarrier.init(mbarrier.allocate_mbarrier(batch), count=count)


@gluon.jit
def split(out, warps: gl.constexpr, registers: gl.constexpr):
    gl.warp_specialize([(pair, (out,)), (worker, (out, 0))], warps, registers)


@gluon.jit
def given_tensor(out):
    gl.warp_specialize([(pair, (out,)), (worker, (out, gl.arange(0, 128, layout=ROW)))], [1])


@gluon.jit
def in_a_loop(out, n):
    for _ in range(n):
        gl.warp_specialize([(pair, (out,)), (worker, (out, 0))], [1])


V2 = gl.NVMMADistributedLayout([2, 0], [4, 1], [16, 8])
V3 = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 32, 16])
BAD: list[tuple[Any, str, dict[str, Any], str]] = [
    (by_block, AMPERE, {}, "gl.nvidia.hopper.tma.store_wait on .*: it is an instruction of Hopper"),
    (by_group, "sim:nvidia:sm_100a", {}, "instruction of Hopper .* alone"),
    (by_block, "sim:amd:gfx942", {}, "instruction of Hopper"),
    (multiplied, AMPERE, {"result": SQUARE.value, "left": SQUARE.value}, "mma_v2's acc has layout"),
    (multiplied, AMPERE, {"result": V2, "left": SQUARE.value}, "mma_v2's operand a has layout"),
    (grouped, HOPPER, {"result": V2, "shared": TILE.value, "columns": 32}, "acc has layout"),
    (grouped, HOPPER, {"result": V3, "shared": TILE.value, "columns": 64}, "onto"),
    (
        grouped,
        HOPPER,
        {"result": V3, "shared": gl.SwizzledSharedLayout(1, 1, 1, [1, 0]), "columns": 32},
        "operand a",
    ),
    (begun, AMPERE, {"count": 0, "batch": None}, "count is 0"),
    (begun, AMPERE, {"count": 1, "batch": 2}, "one mbarrier is expected"),
    (split, HOPPER, {"warps": [3], "registers": None}, "a partition of 3 warps"),
    (split, HOPPER, {"warps": [1, 1], "registers": None}, "1 partitions beside the first, and warp counts"),
    (split, HOPPER, {"warps": [1], "registers": [20]}, "20 registers for a thread"),
    (given_tensor, HOPPER, {}, "a partition's argument is a tensor"),
    (in_a_loop, HOPPER, {"n": 2}, "inside of a partition, a loop or a branch"),
]


@pytest.mark.parametrize(("kernel", "target", "arguments", "words"), BAD)
def test_bad_input_is_a_located_error(
    kernel: Any, target: str, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises((CompilationError, Unsupported), match=words) as caught, tri.target(target):
        kernel[(1,)](np.zeros(64, np.int32), **arguments)
    assert caught.value.location is not None


def test_a_host_descriptor_checks_its_layout() -> None:
    made = gluon.nvidia.hopper.TensorDescriptor.from_tensor
    with pytest.raises(DescriptorError, match="does not fit blocks"):
        made(random(32, 32), [32, 32], gl.NVMMASharedLayout(128, 16))
    with pytest.raises(DescriptorError, match="of rank 2 is expected"):
        made(random(32, 32), [32, 32], TILE.value.__class__(64, 16, rank=3))
