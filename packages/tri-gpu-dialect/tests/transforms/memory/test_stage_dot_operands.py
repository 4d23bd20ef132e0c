"""Which dots by multiply-add read their operands from shared memory; ``filecheck/stage_dot_operands.mlir`` shows where buffers are made."""

from __future__ import annotations

import pytest

from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.passes import StageDotOperands

_RANGE = """
    %i = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %rows = "tt.expand_dims"(%i) {axis = 1 : i32} : (tensor<16xi32>) -> tensor<16x1xi32>
    %columns = "tt.expand_dims"(%i) {axis = 0 : i32} : (tensor<16xi32>) -> tensor<1x16xi32>
    %down = "tt.broadcast"(%rows) : (tensor<16x1xi32>) -> tensor<16x16xi32>
    %along = "tt.broadcast"(%columns) : (tensor<1x16xi32>) -> tensor<16x16xi32>
    %below = arith.cmpi sge, %down, %along : tensor<16x16xi32>
    %triangle = arith.uitofp %below : tensor<16x16xi1> to tensor<16x16xf32>
"""


def dot(result: str, a: str, b: str, c: str, n: int = 16) -> str:
    m = f"tensor<{n}x{n}xf32>"
    return f'{result} = "tt.dot"({a}, {b}, {c}) {{inputPrecision = 2 : i32}} : ({m}, {m}, {m}) -> {m}\n'


def loop(body: str, stages: int | None = None) -> str:
    asked = "" if stages is None else f" {{tt.num_stages = {stages} : i32}}"
    return f"""%sum = scf.for %k = %zero to %n step %one iter_args(%acc = %a) -> (tensor<16x16xf32>) : i32 {{
{body}scf.yield %d : tensor<16x16xf32>
}}{asked}
"""


def kernel(body: str, n: int = 16) -> str:
    m, p = f"tensor<{n}x{n}xf32>", f'tensor<{n}x{n}x!tt.ptr<f32, "global">>'
    return f"""module {{
  "tt.func"() ({{
  ^bb0(%p: !tt.ptr<f32, "global">, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %pointers = "tt.splat"(%p) : (!tt.ptr<f32, "global">) -> {p}
    %a = "tt.load"(%pointers) {{operandSegmentSizes = array<i32: 1, 0, 0>}} : ({p}) -> {m}
    %b = arith.addf %a, %a : {m}
{body}
    "tt.return"() : () -> ()
  }}) {{function_type = (!tt.ptr<f32, "global">, i32) -> (), sym_name = "f"}} : () -> ()
}}
"""


@pytest.mark.parametrize(
    ("text", "dots"),
    [
        # the inverse of a matrix block by block: each value has one buffer for all dots
        (kernel(dot("%d", "%a", "%b", "%a") + dot("%e", "%d", "%a", "%b")), ["ttg.local_dot"] * 2),
        # what copies may bring ahead, and what they do not
        (kernel(loop(dot("%d", "%acc", "%b", "%acc"))), ["tt.dot"]),
        (kernel(loop(dot("%d", "%acc", "%b", "%acc"), stages=1)), ["ttg.local_dot"]),
        # a sum down the columns
        (kernel(_RANGE + dot("%d", "%triangle", "%b", "%a")), ["tt.dot"]),
        # four products of a thread
        (kernel(dot("%d", "%a", "%b", "%a", n=4), n=4), ["tt.dot"]),
    ],
    ids=["straight", "stages", "one stage", "indices", "tiny"],
)
def test_small_dots_that_are_staged(run, text: str, dots: list[str]) -> None:  # type: ignore[no-untyped-def]
    module = run(text, StageDotOperands(), num_warps=2)
    assert [op.name for op in all_ops(module.operation) if op.name in ("tt.dot", "ttg.local_dot")] == dots


def test_a_value_has_one_buffer(run) -> None:  # type: ignore[no-untyped-def]
    module = run(
        kernel(dot("%d", "%a", "%b", "%a") + dot("%e", "%d", "%b", "%b")), StageDotOperands(), num_warps=2
    )
    assert [op.name for op in all_ops(module.operation)].count("ttg.local_alloc") == 3
