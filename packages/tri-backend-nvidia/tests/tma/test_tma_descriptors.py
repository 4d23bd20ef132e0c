from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tri
from tma_kernels import (
    added,
    computed,
    gathered,
    grouped,
    moved,
    moved_by,
    read,
    through_memory,
    tiled,
    twice,
    wide,
)
from tma_kernels import combined as combine
from tma_oracle import BLOCKS, COMBINED, Block, block_of, combined, outside, values
from tri.tools.tensor_descriptor import TensorDescriptor
from tri_core.errors import LaunchError, SimulationError

TARGET = "sim:nvidia:sm_90a"


def uses_copies(kernel) -> bool:
    return "ttng.async_copy" in kernel.asm["ttgir"]


def spread(x: np.ndarray, block) -> np.ndarray:
    """``x`` in memory whose rows are longer; what is between them is poison."""
    memory = np.full((*block.shape[:-1], block.shape[-1] + block.pad), 77).astype(x.dtype)
    memory[..., : block.shape[-1]] = x
    return memory


@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: b.id)
def test_blocks_are_read(block) -> None:
    x = values(np.random.default_rng(1), block.shape, block.dtype)
    out = np.full(block.block, 113).astype(block.dtype)
    with tri.target(TARGET):
        made = read[(1,)](
            spread(x, block), out, block.shape, block.strides, block.start, block.block, out.size, block.nan
        )
    assert uses_copies(made)
    np.testing.assert_array_equal(out, block_of(x, block))


def test_threads_access_buffers_in_vectors() -> None:
    x = values(np.random.default_rng(9), (64, 128), "float16")
    y = np.full_like(x, np.nan)
    source, target = (TensorDescriptor(a, [64, 128], [128, 1], [32, 64]) for a in (x, y))
    with tri.target(TARGET):
        made = twice[(2,)](source, target, 64, 128, 32, 64)
    assert "sizePerThread = [1, 8]" in made.asm["ttgir"]
    assert "ttg.convert_layout" not in made.asm["ttgir"]
    assert "vector<8xf16>" in made.asm["llir"]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: b.id)
def test_blocks_are_written(block) -> None:
    x = values(np.random.default_rng(2), block.shape, block.dtype)
    y = np.full(block.shape, 113).astype(block.dtype)
    memory = spread(y, block)
    with tri.target(TARGET):
        made = moved[(1,)](
            spread(x, block), memory, block.shape, block.strides, block.start, block.block, block.nan
        )
    assert uses_copies(made)
    marks = block_of(np.ones(block.shape), block)
    expected, places = y.copy(), tuple(np.argwhere(marks == 1).T + np.array(block.start)[:, None])
    expected[places] = x[places]
    np.testing.assert_array_equal(memory, spread(expected, block))


@pytest.mark.parametrize(("kind", "dtype"), COMBINED)
def test_blocks_are_combined(kind, dtype) -> None:
    rng = np.random.default_rng(3)
    x, y = values(rng, (40, 48), dtype), values(rng, (40, 48), dtype)
    expected = combined(kind, x, y)
    with tri.target(TARGET):
        made = combine[(3, 2)](x, y, 40, 48, 16, 32, kind)
    assert "kind" in made.asm["ttgir"]
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("kind", ["min", "max"])
def test_extrema_of_bf16_are_combined(kind) -> None:
    """NumPy has no bf16: the bits go as integers to a pointer of bf16."""
    rng = np.random.default_rng(8)
    x, y = (values(rng, (40, 48), "float32").astype(ml_dtypes.bfloat16) for _ in range(2))
    expected = combined(kind, x, y)
    with tri.target(TARGET):
        made = combine[(3, 2)](x, y, 40, 48, 16, 32, kind)
    assert uses_copies(made)
    assert "bf16" in made.asm["ttgir"]
    np.testing.assert_array_equal(y.view(np.uint16), expected.view(np.uint16))


@pytest.mark.parametrize("rows", [10, 2**31 - 1, 2**31, 2**32 + 3, 2**40])
def test_sizes_of_64_bits(rows) -> None:
    """A launch makes the descriptor; a size that no offset reaches counts as the largest that one does."""
    x = values(np.random.default_rng(9), (16, 24), "float32")
    y, expected = np.zeros_like(x), np.zeros_like(x)
    with tri.target(TARGET):
        made = wide[(1,)](x, y, rows, 18, 24, 16)
    assert made.asm["ttgir"].count("ttng.async_copy") >= 1
    assert made.asm["ttir"].count("scf.if") == 1  # of the store: rows of 18 elements end inside of 16 bytes
    expected[:rows, :16] = x[:rows, :16]
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("warps", [1, 4, 8])
def test_descriptors_of_the_host(warps) -> None:
    rng = np.random.default_rng(4)
    for m, n in [(64, 128), (50, 72), (33, 200)]:
        x, y = values(rng, (m, n), "float16"), np.full((m, n), np.nan, np.float16)
        source, target = (TensorDescriptor(a, [m, n], [n, 1], [32, 64]) for a in (x, y))
        with tri.target(TARGET):
            made = twice[(-(-m // 32),)](source, target, m, n, 32, 64, num_warps=warps)
        assert uses_copies(made)
        np.testing.assert_array_equal(y, x + x)


def test_tensors_may_change_between_launches() -> None:
    rng = np.random.default_rng(5)
    made = set()
    for shape in [(16, 64), (16, 64), (48, 32), (16, 64)]:
        x = values(rng, shape, "int32")
        out = np.full((16, 32), 113, np.int32)
        with tri.target(TARGET):
            kernel = read[(1,)](x, out, shape, (shape[1], 1), (8, 0), (16, 32), 512, False)
        made.add(kernel.hash)
        expected = np.zeros((16, 32), np.int32)
        expected[: shape[0] - 8] = x[8:24, :32]
        np.testing.assert_array_equal(out, expected)
    assert len(made) == 1


def test_stores_are_seen_by_loads_after_a_barrier() -> None:
    x = values(np.random.default_rng(6), (200,), "float32")
    y = np.full(200, np.nan, np.float32)
    with tri.target(TARGET):
        made = through_memory[(1,)](x, y, 200, 256)
    # the simulator writes at once: that the kernel waits, and fences, shows in its code only
    lines = [
        line.strip() for line in made.asm["ttgir"].splitlines() if line.strip().startswith(("ttg.", "ttng."))
    ]
    stored = next(i for i, line in enumerate(lines) if "async_copy_local_to_descriptor" in line)
    assert [line.split(" {")[0].split(" ")[0] for line in lines[stored + 1 : stored + 4]] == [
        "ttng.fence_async_shared",
        "ttng.async_store_wait",
        "ttg.barrier",
    ]
    assert "global" in lines[stored + 1]
    assert "complete" in lines[stored + 2]
    assert "groups = 0 : i32, read = 0 : i32" in made.asm["llir"]
    assert "proxy.async.global" in made.asm["llir"]
    whole = np.zeros(256, np.float32)
    whole[:200] = x
    np.testing.assert_array_equal(y, np.roll(whole, -33)[:200])


def test_what_copies_cannot_do_goes_by_pointers_and_is_reported() -> None:
    rng = np.random.default_rng(7)
    x, rows = values(rng, (50, 64), "float32"), rng.permutation(50)[:16].astype(np.int32)
    out = np.full((16, 64), np.nan, np.float32)
    with tri.target(TARGET):
        made = gathered[(1,)](x, rows, out, 50, 64, 16, 64)
    assert not uses_copies(made)
    assert "rows are gathered" in made.asm["ttir"]
    np.testing.assert_array_equal(out, x[rows])

    sizes, out = np.array([3, 70, 128], np.int32), np.full((3, 128), np.nan, np.float32)
    with tri.target(TARGET):
        made = computed[(3,)](x, out, sizes, 128)
    assert not uses_copies(made)
    assert "only the kernel knows the tensor" in made.asm["ttir"]
    flat = x.reshape(-1)[:128]
    np.testing.assert_array_equal(out, [np.where(np.arange(128) < n, flat, 0) for n in sizes])


@pytest.mark.parametrize("option", [{"tma_copies": False}, {"target": "sim:nvidia:sm_80"}])
def test_pointers_give_the_same(option) -> None:
    block = BLOCKS[4]
    x = values(np.random.default_rng(8), block.shape, block.dtype)
    out = np.full(block.block, 113).astype(block.dtype)
    options = dict(option)
    with tri.target(options.pop("target", TARGET)):
        made = read[(1,)](
            x, out, block.shape, block.strides, block.start, block.block, out.size, block.nan, **options
        )
    assert not uses_copies(made)
    np.testing.assert_array_equal(out, block_of(x, block))
    assert np.isnan(outside(block))


def test_tensors_that_copies_cannot_reach_are_refused() -> None:
    x, out = np.zeros((16, 64), np.float32), np.zeros((8, 32), np.float32)
    with tri.target(TARGET):
        with pytest.raises(LaunchError, match="multiples of 16 are expected"):
            read[(1,)](x, out, (16, 61), (61, 1), (0, 0), (8, 32), 256, False)
        with pytest.raises(LaunchError, match="not a multiple of 16"):
            read[(1,)](x.reshape(-1)[1:], out, (15, 64), (64, 1), (0, 0), (8, 32), 256, False)
        with pytest.raises(LaunchError, match="it is empty"):
            read[(1,)](x, out, (0, 64), (64, 1), (0, 0), (8, 32), 256, False)
        with pytest.raises(SimulationError, match="outside of any buffer"):
            read[(1,)](x, out, (17, 64), (64, 1), (16, 0), (8, 32), 256, False)


def test_small_blocks_have_aligned_buffers() -> None:
    x, y, z = (values(np.random.default_rng(i), (100,), "float32") for i in range(3))
    expected = x + y, x * 2 + y * 3 + z
    with tri.target(TARGET):
        made = added[(7,)](x, y, z, 100, 16)
    assert made.asm["ttgir"].count("alignment = 128") == 5
    assert "sizePerThread = [1]" in made.asm["ttgir"]
    np.testing.assert_array_equal(x, expected[0])
    np.testing.assert_allclose(z, expected[1], rtol=1e-6)


# --- where blocks begin -----------------------------------------------------------------------------------


def asks(kernel) -> int:
    """Accesses that are done in one of two ways."""
    return kernel.asm["ttir"].count("scf.if")


def test_matmuls_of_program_ids_need_no_question() -> None:
    rng = np.random.default_rng(10)
    x, y = values(rng, (40, 48), "float32"), values(rng, (40, 48), "float32")
    expected = combined("add", x, y)
    with tri.target(TARGET):
        made = combine[(3, 2)](x, y, 40, 48, 16, 32, "add")
    assert asks(made) == 0
    assert "tt.atomic_rmw" not in made.asm["ttir"]
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("grid", [6, 4])
def test_tiles_by_number_need_no_question(grid) -> None:
    """A size that a launch has checked is a positive divisor; a persistent loop counts up."""
    x = values(np.random.default_rng(11), (40, 48), "float32")
    y = np.zeros_like(x)
    with tri.target(TARGET):
        made = tiled[(grid,)](x, y, 40, 48, 16, 32)
    assert asks(made) == 0
    assert uses_copies(made)
    np.testing.assert_array_equal(y, x * 2)


@pytest.mark.parametrize("start", [(0, 0), (4, 8), (-3, 8), (4, -8), (4, 9), (-1, -1)])
def test_unknown_places_are_asked_for(start) -> None:
    block = Block((40, 72), (16, 64), start, "float16")
    x, y = (values(np.random.default_rng(s), block.shape, block.dtype) for s in (12, 13))
    expected = y.copy()
    inside = block_of(np.ones(block.shape), block) == 1
    places = tuple(np.argwhere(inside).T + np.array(start)[:, None])
    expected[places] += x[places]
    with tri.target(TARGET):
        made = moved_by[(1,)](x, y, 40, 72, np.array(start, np.int32), 16, 64)
    assert asks(made) == 2
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("assume", [False, True])
def test_what_a_kernel_assumes_needs_no_question(assume) -> None:
    x = values(np.random.default_rng(14), (72, 48), "float32")
    y = np.zeros_like(x)
    with tri.target(TARGET):
        made = grouped[(10,)](x, y, 72, 48, 16, 32, 2, assume)
    assert asks(made) == (not assume)
    np.testing.assert_array_equal(y, x * 2)
