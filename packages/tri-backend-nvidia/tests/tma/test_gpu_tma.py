"""TMA copies on a real GPU: ``python -m pytest -m gpu packages/tri-backend-nvidia/tests/tma/test_gpu_tma.py``."""

from __future__ import annotations

import numpy as np
import pytest

from tma_kernels import added, computed, gathered, moved, read, through_memory, twice
from tma_kernels import combined as combine
from tma_oracle import BLOCKS, COMBINED, block_of, combined, values
from tri.tools.tensor_descriptor import TensorDescriptor

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def _hopper() -> None:
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("no tensor memory accelerator")


def on_gpu(x: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(x)).cuda()


def uses_copies(kernel) -> bool:
    return "cp.async.bulk.tensor" in kernel.asm["ptx"] or "cp.reduce.async.bulk" in kernel.asm["ptx"]


def spread(x: np.ndarray, block) -> np.ndarray:
    memory = np.full((*block.shape[:-1], block.shape[-1] + block.pad), 77).astype(x.dtype)
    memory[..., : block.shape[-1]] = x
    return memory


@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: b.id)
def test_blocks_are_read(block) -> None:
    x = values(np.random.default_rng(1), block.shape, block.dtype)
    out = on_gpu(np.full(block.block, 113).astype(block.dtype))
    given = on_gpu(spread(x, block))
    made = read[(1,)](
        given, out, block.shape, block.strides, block.start, block.block, out.numel(), block.nan
    )
    assert uses_copies(made)
    np.testing.assert_array_equal(out.cpu().numpy(), block_of(x, block))


@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: b.id)
def test_blocks_are_written(block) -> None:
    x = values(np.random.default_rng(2), block.shape, block.dtype)
    y = np.full(block.shape, 113).astype(block.dtype)
    memory, given = on_gpu(spread(y, block)), on_gpu(spread(x, block))
    made = moved[(1,)](given, memory, block.shape, block.strides, block.start, block.block, block.nan)
    assert uses_copies(made)
    marks = block_of(np.ones(block.shape), block)
    expected, places = y.copy(), tuple(np.argwhere(marks == 1).T + np.array(block.start)[:, None])
    expected[places] = x[places]
    np.testing.assert_array_equal(memory.cpu().numpy(), spread(expected, block))


@pytest.mark.parametrize(("kind", "dtype"), COMBINED)
def test_blocks_are_combined(kind, dtype) -> None:
    rng = np.random.default_rng(3)
    x, y = values(rng, (40, 48), dtype), values(rng, (40, 48), dtype)
    result = on_gpu(y)
    made = combine[(3, 2)](on_gpu(x), result, 40, 48, 16, 32, kind)
    assert uses_copies(made)
    np.testing.assert_array_equal(result.cpu().numpy(), combined(kind, x, y))


@pytest.mark.parametrize("warps", [1, 4, 8])
def test_descriptors_of_the_host(warps) -> None:
    for m, n in [(64, 128), (50, 72), (33, 200), (4096, 4096)]:
        x = torch.randn(m, n, device="cuda", dtype=torch.float16)
        y = torch.full_like(x, float("nan"))
        source, target = (TensorDescriptor(a, [m, n], [n, 1], [32, 64]) for a in (x, y))
        made = twice[(-(-m // 32),)](source, target, m, n, 32, 64, num_warps=warps)
        assert uses_copies(made)
        assert torch.equal(y, x + x)


def test_tensors_may_change_between_launches() -> None:
    rng = np.random.default_rng(5)
    made = set()
    for shape in [(16, 64), (16, 64), (48, 32), (16, 64)]:
        x = values(rng, shape, "int32")
        out = torch.full((16, 32), 113, dtype=torch.int32, device="cuda")
        kernel = read[(1,)](on_gpu(x), out, shape, (shape[1], 1), (8, 0), (16, 32), 512, False)
        made.add(kernel.hash)
        expected = np.zeros((16, 32), np.int32)
        expected[: shape[0] - 8] = x[8:24, :32]
        np.testing.assert_array_equal(out.cpu().numpy(), expected)
    assert len(made) == 1


def test_stores_are_seen_by_loads_after_a_barrier() -> None:
    x = values(np.random.default_rng(6), (200,), "float32")
    y = torch.full((200,), float("nan"), device="cuda")
    through_memory[(1,)](on_gpu(x), y, 200, 256)
    whole = np.zeros(256, np.float32)
    whole[:200] = x
    np.testing.assert_array_equal(y.cpu().numpy(), np.roll(whole, -33)[:200])


def test_what_copies_cannot_do_goes_by_pointers() -> None:
    rng = np.random.default_rng(7)
    x, rows = values(rng, (50, 64), "float32"), rng.permutation(50)[:16].astype(np.int32)
    out = torch.full((16, 64), float("nan"), device="cuda")
    assert not uses_copies(gathered[(1,)](on_gpu(x), on_gpu(rows), out, 50, 64, 16, 64))
    np.testing.assert_array_equal(out.cpu().numpy(), x[rows])

    sizes, out = np.array([3, 70, 128], np.int32), torch.full((3, 128), float("nan"), device="cuda")
    computed[(3,)](on_gpu(x), out, on_gpu(sizes), 128)
    flat = x.reshape(-1)[:128]
    np.testing.assert_array_equal(out.cpu().numpy(), [np.where(np.arange(128) < n, flat, 0) for n in sizes])


def test_a_wait_that_is_bounded() -> None:
    x, out = torch.randn(64, 64, device="cuda"), torch.zeros(16, 32, device="cuda")
    made = read[(1,)](x, out, (64, 64), (64, 1), (8, 16), (16, 32), 512, False, barrier_polls=1 << 20)
    assert "trap" in made.asm["ptx"]
    assert torch.equal(out, x[8:24, 16:48])


def test_small_blocks_have_aligned_buffers() -> None:
    x, y, z = (values(np.random.default_rng(i), (100,), "float32") for i in range(3))
    expected = x + y, x * 2 + y * 3 + z
    gx, gy, gz = on_gpu(x), on_gpu(y), on_gpu(z)
    assert uses_copies(added[(7,)](gx, gy, gz, 100, 16))
    np.testing.assert_array_equal(gx.cpu().numpy(), expected[0])
    np.testing.assert_allclose(gz.cpu().numpy(), expected[1], rtol=1e-6)
