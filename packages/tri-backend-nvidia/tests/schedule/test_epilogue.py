"""Tiles in their epilogue of kernels whose blocks other warps copy: in the rings' memory, or in pieces beside the rings."""

from __future__ import annotations

import re

import pytest

import tri
from special_kernels import finished_tile, finished_tiles

torch = pytest.importorskip("torch")

#: (type of the operands, of the result, error relative to the largest)
TYPES = [
    (torch.float16, torch.float16, 1e-3),
    (torch.bfloat16, torch.bfloat16, 8e-3),
    (torch.float16, torch.float32, 1e-5),
    (torch.int8, torch.int8, 0.0),
]


def inputs(shape, dtype, out):
    m, n, k = shape
    generator = torch.Generator().manual_seed(m + n + k)
    if dtype == torch.int8:
        a, b = (torch.randint(-3, 4, (x, k), generator=generator).to(dtype) for x in (m, n))
    else:
        a, b = (torch.randn(x, k, generator=generator, dtype=torch.float64).to(dtype) for x in (m, n))
    bias = torch.randint(-4, 5, (n,), generator=generator).float()
    # small, so that 8-bit integers hold the results
    expected = (a.double() @ b.double().t() * 0.125 + bias.double()).clamp(min=0)
    c = torch.full((m, n), 77.0).to(out)
    return (a, b, c, bias), expected.trunc() if out == torch.int8 else expected


def run(kernel, shape, block, dtype, out, *, grid, warps=4, stages=3, **options):
    arguments, expected = inputs(shape, dtype, out)
    with tri.target("sim:nvidia:sm_90a"):
        made = kernel[grid](
            *arguments,
            *shape,
            0.125,
            *block,
            num_warps=warps,
            num_stages=stages,
            warp_specialize=True,
            **options,
        )
    assert "ttg.warp_specialize(" in made.asm["ttgir"]
    return made, arguments[2], expected


def check(got, expected, bound) -> None:
    assert float((got.double() - expected).abs().max()) <= bound * float(expected.abs().max())


def offsets(kernel) -> tuple[list[range], list[range]]:
    """The bytes of rings, and of tiles in their epilogue."""
    sizes = {"f16": 2, "bf16": 2, "f32": 4, "i8": 1}
    rings, tiles = [], []
    for line in kernel.asm["ttgir"].splitlines():
        if "ttg.local_alloc" not in line or "xi64" in line:
            continue
        start = int(re.search(r"allocation.offset = (\d+)", line)[1])
        *dims, element = re.search(r"-> !ttg.memdesc<([^,]*),", line)[1].split("x")
        size = sizes[element]
        for dim in dims:
            size *= int(dim)
        (rings if "ttg.awaited" in line else tiles).append(range(start, start + size))
    return rings, tiles


def overlap(one: range, other: range) -> bool:
    return one.start < other.stop and other.start < one.stop


# --- in the rings' memory ---------------------------------------------------------------------------------


#: more stages than there is room for: rings leave none beside them
FULL = 99


@pytest.mark.parametrize("warps", [4, pytest.param(8, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("dtype", "out", "bound"), TYPES, ids=str)
def test_a_tile_leaves_through_the_rings(dtype, out, bound, warps) -> None:
    rows = 16 * warps
    depth = (
        256 if dtype == torch.int8 else 32
    )  # rings of a few kilobytes are kept apart from what comes after them
    kernel, c, expected = run(
        finished_tile,
        (rows - 16, 48, 96),
        (rows, 64, depth),
        dtype,
        out,
        grid=(1, 1),
        warps=warps,
        stages=FULL,
    )
    rings, tiles = offsets(kernel)
    assert tiles
    assert all(any(overlap(tile, ring) for ring in rings) for tile in tiles)
    check(c, expected, bound)


@pytest.mark.parametrize("k", [32, pytest.param(64, marks=pytest.mark.slow), 192])
def test_fewer_blocks_than_slots_and_more(k) -> None:
    kernel, c, expected = run(
        finished_tile, (64, 64, k), (64, 64, 32), torch.float16, torch.float16, grid=(1, 1), stages=4
    )
    assert "4x64x32" in kernel.asm["ttgir"]
    check(c, expected, 1e-3)


def test_warps_that_do_not_meet_before_the_tile_is_stored_race(tmp_path) -> None:
    """Another warp's dots still read what a tile is written to."""
    given = ((64, 64, 1792), (64, 64, 32), torch.float16, torch.float16)
    kernel, *_ = run(finished_tile, *given, grid=(1, 1), stages=FULL)
    text = kernel.asm["ttgir"]
    changed = re.sub(r"\n *ttg\.barrier local[^\n]*(?=\n[^\n]*ttg\.local_alloc %)", "", text)
    assert changed != text
    path = tmp_path / "tile.ttgir"
    path.write_text(changed)
    with pytest.raises(tri.errors.SimulationError) as found:
        run(finished_tile, *given, grid=(1, 1), stages=FULL, ir_override=str(path))
    assert re.fullmatch("race|asynchronous", found.value.check)


# --- beside the rings -------------------------------------------------------------------------------------


def test_a_tile_leaves_beside_the_rings_where_that_costs_no_cta() -> None:
    """Warps write it while others still multiply: they synchronize once, before it is copied."""
    kernel, c, expected = run(
        finished_tile, (64, 64, 96), (64, 64, 32), torch.float16, torch.float16, grid=(1, 1), stages=14
    )
    rings, tiles = offsets(kernel)
    assert len(tiles) == 1
    assert any(overlap(tiles[0], ring) for ring in rings)
    kernel, c, expected = run(
        finished_tile, (64, 64, 96), (64, 64, 32), torch.float16, torch.float16, grid=(1, 1), stages=16
    )
    rings, tiles = offsets(kernel)
    assert len(tiles) == 1
    assert not any(overlap(tiles[0], ring) for ring in rings)
    after = kernel.asm["ttgir"].split("scf.for", 1)[1].split("partition0")[0]
    assert after.count("ttg.barrier local") == 1
    check(c, expected, 1e-3)


@pytest.mark.parametrize(("kernel", "grid"), [(finished_tile, (1, 1)), (finished_tiles, (1,))])
def test_a_large_tile_leaves_in_two_pieces_apart(kernel, grid) -> None:
    """64 KiB, for all of which there is room: the first piece is copied out while the second is written."""
    shape, block = (120, 248, 128), (128, 256, 64)
    made, c, expected = run(kernel, shape, block, torch.float16, torch.float16, grid=grid, warps=8)
    _, tiles = offsets(made)
    assert [len(tile) for tile in tiles] == [32 << 10] * 2
    assert not overlap(*tiles)
    check(c, expected, 1e-3)


def test_tiles_of_a_loop_leave_beside_the_rings() -> None:
    kernel, c, expected = run(
        finished_tiles, (64, 112, 64), (64, 64, 32), torch.float16, torch.float16, grid=(1,)
    )
    rings, tiles = offsets(kernel)
    assert tiles
    assert not any(overlap(tile, ring) for tile in tiles for ring in rings)
    check(c, expected, 1e-3)


def test_a_tile_in_the_rings_of_a_loop_is_an_error(tmp_path) -> None:
    """The producer has started the next tile's copies."""
    given = ((64, 128, 96), (64, 64, 32), torch.float16, torch.float16)
    kernel, *_ = run(finished_tiles, *given, grid=(1,))
    text = kernel.asm["ttgir"]
    rings, tiles = offsets(kernel)
    (tile,) = tiles
    changed = text.replace(f"allocation.offset = {tile.start} ", f"allocation.offset = {rings[0].start} ")
    changed = changed.replace(
        f"allocation.offset = {rings[0].start} : i32, ttg", "allocation.offset = 0 : i32, ttg"
    )
    assert changed != text
    path = tmp_path / "tiles.ttgir"
    path.write_text(changed)
    with pytest.raises(tri.errors.SimulationError) as found:
        run(finished_tiles, *given, grid=(1,), ir_override=str(path))
    assert re.fullmatch("race|asynchronous|uninitialised", found.value.check)


@pytest.mark.parametrize(
    ("dtype", "out", "bound"),
    [*(pytest.param(*t, marks=pytest.mark.slow) for t in TYPES[:2]), *TYPES[2:]],
    ids=str,
)
def test_tiles_go_in_pieces_where_that_makes_room_for_blocks(dtype, out, bound) -> None:
    """Ragged tiles, more than a program has; rings take what pieces leave."""
    depth, wide = (64, 512) if dtype == torch.int8 else (32, 256)
    kernel, c, expected = run(
        finished_tiles, (48, wide + 48, 2 * depth), (64, wide, depth), dtype, out, grid=(1,), stages=20
    )
    text = kernel.asm["ttgir"]
    rings, tiles = offsets(kernel)
    assert not any(overlap(tile, ring) for tile in tiles for ring in rings)
    pieces = 64 * wide * out.itemsize // len(tiles[0])
    assert len(tiles) == pieces
    assert kernel.metadata.resources["shared"] <= 227 << 10
    assert (pieces > 1) == ("the tile is stored in pieces" in text)
    check(c, expected, bound)
