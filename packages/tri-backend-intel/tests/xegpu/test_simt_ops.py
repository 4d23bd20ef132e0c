"""Ops by the rules of the SIMT path inside of SIMD kernels, and tensors of no whole pieces: numbers against NumPy, layouts of shares."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tri
import tri.language as tl
from tri_backend_intel.xegpu.shares import COLUMNS, LANES, ROWS, Dim, Grid, Share
from tri_backend_intel.xegpu.simt_ops import layout_of

Array = npt.NDArray[Any]
_powers = st.sampled_from([1, 2, 4])


@st.composite
def _shares(draw: st.DrawFn) -> tuple[Share, Grid]:
    """Of tensors of two dimensions, shared or whole, along the lanes or across them, in any order."""
    rows, columns, copies = draw(_powers), draw(_powers), draw(_powers)
    grid = Grid(rows, columns, rows * columns * copies)
    down, along = draw(st.booleans()), draw(st.booleans())
    first = Dim(
        draw(_powers) * rows * draw(st.sampled_from([1, 8])), ROWS, rows if down else 1, tall=draw(st.sampled_from([8, 16, 32]))
    )  # fmt: skip
    second = Dim(LANES * columns * draw(_powers), COLUMNS, columns if along else 1, lanes=True)
    dims = draw(st.sampled_from([(first, second), (second, first), (first,), (second,), (Dim(1), second)]))
    return Share(dims), grid


@given(_shares())
def test_a_share_is_a_layout_of_the_simt_path(made: tuple[Share, Grid]) -> None:
    share, grid = made
    if not share.fits:
        return
    layout = layout_of(share, grid).linear_layout(share.shape)
    indices = list(share.indices())
    tall = share.dims[share.across].piece if share.across is not None else 1
    assert layout.in_size("register") == len(indices) * tall
    for warp in range(grid.warps):
        row, column, _ = grid.coordinates(warp)
        for lane in (0, 5, LANES - 1):
            for register in {0, tall - 1, tall * len(indices) // 2, len(indices) * tall - 1}:
                piece, within = divmod(register, tall)
                wanted = list(share.start(indices[piece]))
                for i, dim in enumerate(share.dims):
                    if dim.parts > 1:
                        wanted[i] += (row if dim.axis == ROWS else column) * dim.share
                    if i == share.along:
                        wanted[i] += lane
                    if i == share.across:
                        wanted[i] += within
                found = layout.apply({"register": register, "lane": lane, "warp": warp, "block": 0})
                assert [found[f"dim{i}"] for i in range(len(wanted))] == wanted


# --- numbers ----------------------------------------------------------------------------------------------


@tri.jit
def _larger(a, b):
    return tl.maximum(a, b)


@tri.jit
def _plus(a, b):
    """More than one op."""
    return (a + b) * 1.0 + 0.0


@tri.jit
def _square(x):
    return x * x


@tri.jit
def of_a_block(out_ptr, x_ptr, index_ptr, M: tl.constexpr, N: tl.constexpr, DOES: tl.constexpr):
    """One op on a block that is loaded flat and reshaped."""
    x = tl.reshape(tl.load(x_ptr + tl.arange(0, M * N)), (M, N))
    if DOES == "reshape":
        y = x
    elif DOES == "trans":
        y = tl.permute(tl.reshape(x, (2, M // 2, N)), (2, 0, 1))
    elif DOES == "cumsum":
        y = tl.cumsum(x, 1)
    elif DOES == "scan":
        y = tl.associative_scan(x, 0, _larger)
    elif DOES == "sort":
        y = tl.sort(x)
    elif DOES == "flip":
        y = tl.flip(x, 1)
    elif DOES == "gather":
        y = tl.gather(x, tl.reshape(tl.load(index_ptr + tl.arange(0, M * N)), (M, N)), 1)
    elif DOES == "split":
        low, high = tl.split(tl.reshape(x, (M, N // 2, 2)))
        y = tl.join(high, low)
    else:
        y = tl.umulhi(x.to(tl.uint32, bitcast=True), 123456789).to(tl.int32, bitcast=True)
    tl.store(out_ptr + tl.arange(0, M * N), tl.reshape(y, (M * N,)))


WANTED: dict[str, Callable[[Array, Array], Array]] = {
    "reshape": lambda x, _: x,
    "trans": lambda x, _: x.reshape(2, x.shape[0] // 2, x.shape[1]).transpose(2, 0, 1),
    "cumsum": lambda x, _: x.cumsum(1),
    "scan": lambda x, _: np.maximum.accumulate(x, 0),
    "sort": lambda x, _: np.sort(x, 1),
    "flip": lambda x, _: x[:, ::-1],
    "gather": lambda x, index: np.take_along_axis(x, index, 1),
    "split": lambda x, _: x.reshape(x.shape[0], -1, 2)[:, :, ::-1],
    "high": lambda x, _: (x.astype("u4").astype("u8") * 123456789 >> 32).astype("u4").view("i4"),
}


@pytest.mark.parametrize("does", WANTED)
@pytest.mark.parametrize(("shape", "warps"), [((16, 32), 4), ((4, 4), 2)])
def test_an_op_without_words_in_xegpu(does: str, shape: tuple[int, int], warps: int) -> None:
    make = np.random.default_rng(1)
    x = make.integers(-1000, 1000, shape).astype("i4")
    index = make.integers(0, shape[1], shape).astype("i4")
    out = np.zeros(x.size, "i4")
    with tri.target("sim:intel:pvc"):
        of_a_block[(1,)](out, x, index, *shape, does, num_warps=warps, path="simd")
    np.testing.assert_array_equal(out, WANTED[does](x, index).reshape(-1))


@tri.jit
def counted(out_ptr, old_ptr, x_ptr, N: tl.constexpr, M: tl.constexpr):
    """Atomics, also of what several sub-groups have; a histogram."""
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.atomic_add(out_ptr + x, i, x % 3 != 1)
    row = tl.arange(0, M)
    before = tl.atomic_add(out_ptr + N + row, tl.sum(tl.reshape(x, (M, N // M)), 1))
    tl.store(old_ptr + row, before)
    tl.store(old_ptr + M, tl.atomic_max(out_ptr + N + M, tl.max(x)))
    tl.store(old_ptr + N + i, tl.histogram(x, N))


@pytest.mark.parametrize(("count", "rows", "warps"), [(128, 8, 4), (64, 16, 8), (32, 4, 1)])
def test_atomics_are_done_once_for_an_element(count: int, rows: int, warps: int) -> None:
    x = np.random.default_rng(2).integers(0, count, count).astype("i4")
    out, old = np.full(2 * count, 5, "i4"), np.zeros(2 * count, "i4")
    with tri.target("sim:intel:pvc"):
        counted[(1,)](out, old, x, count, rows, num_warps=warps, path="simd")
    wanted = np.full(2 * count, 5, "i4")
    np.add.at(wanted, x[x % 3 != 1], np.arange(count)[x % 3 != 1])
    wanted[count : count + rows] += x.reshape(rows, -1).sum(1)
    wanted[count + rows] = max(5, x.max())
    np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(old[: rows + 1], 5)
    np.testing.assert_array_equal(old[count:], np.bincount(x, minlength=count))


@tri.jit
def carried(out_ptr, x_ptr, count, M: tl.constexpr, N: tl.constexpr):
    """Loops and branches carry tensors of no whole pieces, also of pointers; a function sees what is around it."""
    at = x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    total = tl.zeros((M, N), tl.float32)
    for k in range(count):
        x = tl.load(at)
        if k % 2 == 0:
            total += tl.map_elementwise(_square, x)
        else:
            total -= x
        at += M * N
    tl.store(out_ptr + tl.arange(0, M), tl.reduce(total, 1, _plus))


@pytest.mark.parametrize(("shape", "warps"), [((8, 8), 4), ((2, 4), 1), ((16, 32), 2)])
def test_control_flow_carries_tensors_of_no_whole_pieces(shape: tuple[int, int], warps: int) -> None:
    x = np.random.default_rng(3).integers(-3, 3, (5, *shape)).astype("f4")
    out = np.zeros(shape[0], "f4")
    with tri.target("sim:intel:pvc"):
        carried[(1,)](out, x, 5, *shape, num_warps=warps, path="simd")
    total = (x[::2].astype("f8") ** 2).sum(0) - x[1::2].sum(0)
    np.testing.assert_array_equal(out, total.sum(1))


@tri.jit
def small(out_ptr, x_ptr, y_ptr, N: tl.constexpr):
    """Numbers of 8 bits and of bf16, and constants of them."""
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i, mask=i < N - 3, other=1.5).to(tl.float32)
    y = tl.load(y_ptr + i).to(tl.float32)
    tl.store(out_ptr + i, (x + y).to(tl.float8e5))


def test_floats_of_8_bits_are_widened_and_rounded() -> None:
    import ml_dtypes

    count = 64
    x = np.arange(-32, 32).astype(ml_dtypes.float8_e4m3fn)
    y = np.arange(count).astype(ml_dtypes.bfloat16)
    out = np.zeros(count, ml_dtypes.float8_e5m2)
    with tri.target("sim:intel:pvc"):
        small[(1,)](out, x, y, count, num_warps=2, path="simd")
    wide = x.astype("f4")
    wide[-3:] = 1.5
    np.testing.assert_array_equal(
        out.view("u1"), (wide + y.astype("f4")).astype(ml_dtypes.float8_e5m2).view("u1")
    )


@tri.jit
def multiplied(out_ptr, x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Both operands of a dot are made by such ops, and chosen among."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.reshape(tl.load(x_ptr + tl.arange(0, M * K)), (M, K)).to(tl.float16, bitcast=True)
    y = tl.reshape(tl.load(y_ptr + tl.arange(0, K * N)), (K, N)).to(tl.float16, bitcast=True)
    y = tl.where((k[:, None] + n[None, :]) % 3 == 0, 0.0, y)
    tl.store(out_ptr + m[:, None] * N + n[None, :], tl.dot(x, y))


@pytest.mark.parametrize("warps", [1, 4])
def test_operands_of_dots_are_made_by_such_ops(warps: int) -> None:
    rows, columns, depth = 16, 32, 32
    make = np.random.default_rng(4)
    x, y = (make.standard_normal(s).astype("f2") for s in ((rows, depth), (depth, columns)))
    out = np.zeros((rows, columns), "f4")
    with tri.target("sim:intel:pvc"):
        multiplied[(1,)](out, x.view("i2"), y.view("i2"), rows, columns, depth, num_warps=warps, path="simd")
    kept = (np.arange(depth)[:, None] + np.arange(columns)) % 3 != 0
    wanted = x.astype("f8") @ (y.astype("f8") * kept)
    assert np.abs(out - wanted).max() <= 1e-5


# --- what the kernel says of it ---------------------------------------------------------------------------


def compiled(does: str) -> Any:
    types = {
        "out_ptr": "*i32",
        "x_ptr": "*i32",
        "index_ptr": "*i32",
        **dict.fromkeys(("M", "N", "DOES"), "constexpr"),
    }
    source = tri.ASTSource(of_a_block, types, {"M": 16, "N": 32, "DOES": does})
    return tri.compile(source, target="intel:pvc", options={"path": "simd", "num_warps": 4})


def test_the_kernel_says_which_ops_are_by_the_rules_of_the_simt_path() -> None:
    said = next(r for r in compiled("sort").metadata.attrs["remarks"] if r.startswith("path: "))
    assert said.startswith("path: simd, with ")
    assert "tt.reshape" in said


@pytest.mark.skipif(shutil.which("spirv-val") is None, reason="spirv-val is not installed")
@pytest.mark.parametrize("does", ["cumsum", "gather", "trans"])
def test_modules_are_valid(does: str, tmp_path: Path) -> None:
    place = tmp_path / "kernel.spv"
    place.write_bytes(compiled(does).asm["spv"])
    made = subprocess.run(["spirv-val", str(place)], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
