"""Tiles of two dimensions that a loop stores: whether threads of one iteration may meet those of another."""

from __future__ import annotations

import pytest

import tri_gpu_dialect.text  # noqa: F401  registers the text of ttg
from tri_core import text
from tri_core.api import StageContext
from tri_core.ir.walking import collect
from tri_gpu_dialect.passes import InsertBarriers

_LAYOUT = (
    "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [1, 4], order = [1, 0]}>"
)
_ROWS, _COLUMNS = (f"#ttg.slice<{{dim = {dim}, parent = #t}}>" for dim in (1, 0))
_ONE = "{tt.one_index = 0 : i32} "


def barriers(context: StageContext, rows: int, start: str, stride: str, along: str) -> int:
    """Those in a loop over ``%i`` that stores a tile of ``rows`` x 128 elements at ``%start``, steps of rows and columns being as given."""
    tile, number = f"tensor<{rows}x128x!tt.ptr<f32>, #t>", f"tensor<{rows}x128xi32, #t>"
    column, row = "tensor<1x128xi32, #t>", f"tensor<{rows}x1xi32, #t>"
    module = text.parse_module(
        f"""
#t = {_LAYOUT}
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @f(%p: !tt.ptr<f32>, %n: i32, %m: i32, %v: {tile.replace("!tt.ptr<f32>", "f32")}) {{
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %full = arith.constant 128 : i32
    %c0 = tt.make_range {{start = 0 : i32, end = 128 : i32}} : tensor<128xi32, {_COLUMNS}>
    %c1 = tt.expand_dims %c0 {{axis = 0 : i32}} : tensor<128xi32, {_COLUMNS}> -> {column}
    %ca = tt.splat {along} : i32 -> {column}
    %c2 = arith.muli %c1, %ca : {column}
    %c = tt.broadcast %c2 : {column} -> {number}
    %r0 = tt.make_range {{start = 0 : i32, end = {rows} : i32}} : tensor<{rows}xi32, {_ROWS}>
    %r1 = tt.expand_dims %r0 {{axis = 1 : i32}} : tensor<{rows}xi32, {_ROWS}> -> {row}
    %rs = tt.splat {stride} : i32 -> {row}
    %r2 = arith.muli %r1, %rs : {row}
    %r = tt.broadcast %r2 : {row} -> {number}
    %o = {"arith.addi %r, %c" if rows > 1 else "arith.addi %c, %z"} : {number}
    scf.for %i = %zero to %m step %one : i32 {{
      {start}
      %q = tt.addptr %p, %start : !tt.ptr<f32>, i32
      %a = tt.splat %q : !tt.ptr<f32> -> {tile}
      %b = tt.addptr %a, %o : {tile}, {number}
      tt.store %b, %v : {tile}
    }}
    tt.return
  }}
}}
""".replace("%o = arith.addi %c, %z", f"%z = arith.constant dense<0> : {number}\n    %o = arith.addi %c, %z")
    )
    InsertBarriers().apply(module, context)
    assert module.operation.verify()
    return sum(op.name == "ttg.barrier" for op in collect(module.operation))


@pytest.mark.parametrize(
    ("rows", "start", "stride", "along", "expected"),
    [
        # a block of an array has one index along its first dimension: rows, and tiles of columns
        (1, f"%start = arith.muli %i, %n {_ONE}: i32", "%n", "%one", 0),
        (1, f"%s = arith.muli %i, %n {_ONE}: i32\n%k = arith.muli %i, %full : i32\n%start = arith.addi %s, %k : i32", "%n", "%one", 0),
        # but no columns less than a tile further, whatever the strides
        (1, f"%s = arith.muli %i, %n {_ONE}: i32\n%start = arith.addi %s, %i : i32", "%n", "%one", 1),
        (1, f"%s = arith.muli %i, %one {_ONE}: i32\n%k = arith.muli %i, %n : i32\n%start = arith.addi %s, %k : i32", "%one", "%n", 1),
        # nobody says that windows do not overlap
        (1, "%start = arith.muli %i, %n : i32", "%n", "%one", 1),
        # two rows: by two rows, by one, by columns
        (2, "%k = arith.muli %i, %two : i32\n%start = arith.muli %k, %n : i32", "%n", "%one", 0),
        (2, "%start = arith.muli %i, %n : i32", "%n", "%one", 1),
        (2, "%start = arith.muli %i, %full : i32", "%n", "%one", 0),
        (2, "%start = arith.muli %i, %two : i32", "%n", "%one", 1),
        # the step of a row divides that of columns, whose step it is
        (2, "%k = arith.muli %i, %two : i32\n%start = arith.muli %k, %n : i32", "%one", "%n", 1),
        (2, "%k = arith.muli %i, %full : i32\n%start = arith.muli %k, %n : i32", "%one", "%n", 0),
    ],
)  # fmt: skip
def test_iterations_that_meet(
    rows: int, start: str, stride: str, along: str, expected: int, context: StageContext
) -> None:
    assert barriers(context, rows, start, stride, along) == expected
