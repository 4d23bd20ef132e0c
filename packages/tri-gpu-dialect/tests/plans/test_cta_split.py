"""How loads and stores of clusters are shared, as dots need it."""

from __future__ import annotations

import pytest

from tri_core.mlir import ir, session
from tri_gpu_dialect.edit import all_ops, functions
from tri_gpu_dialect.plans.cta_split import wanted_blocks

_POINTER = '!tt.ptr<f16, "global">'


def tensor(m: int, n: int, element: str = "f16") -> str:
    return f"tensor<{m}x{n}x{element}>"


def kernel(m: int, n: int, k: int, ctas: int) -> str:
    """Loads of both operands, the right one transposed and cast, and what is stored of the dot; a load beside it."""
    load = "cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>"

    def loaded(name: str, shape: tuple[int, int]) -> str:
        places = tensor(*shape, _POINTER)
        return (
            f'%p{name} = "tt.splat"(%p) : ({_POINTER}) -> {places}\n'
            f'%{name} = "tt.load"(%p{name}) {{{load}, name = "{name}"}} : ({places}) -> {tensor(*shape)}\n'
        )

    result = tensor(m, n, "f32")
    return f""""builtin.module"() ({{
  "tt.func"() ({{
  ^bb0(%p: {_POINTER}):
    {loaded("a", (m, k))}{loaded("b", (n, k))}{loaded("c", (m, n))}{loaded("other", (8, 16))}
    %n = arith.negf %b : {tensor(n, k)}
    %t = "tt.trans"(%n) {{order = array<i32: 1, 0>}} : ({tensor(n, k)}) -> {tensor(k, n)}
    %z = arith.constant dense<0.0> : {result}
    %d = "tt.dot"(%a, %t, %z) {{inputPrecision = 0 : i32, maxNumImpreciseAcc = 0 : i32}} : ({tensor(m, k)}, {tensor(k, n)}, {result}) -> {result}
    %s = arith.truncf %d : {result} to {tensor(m, n)}
    "tt.store"(%pc, %s) {{cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>, name = "store"}} : ({tensor(m, n, _POINTER)}, {tensor(m, n)}) -> ()
    "tt.return"() : () -> ()
  }}) {{function_type = ({_POINTER}) -> (), sym_name = "f", arg_attrs = [{{}}]}} : () -> ()
}}) {{"ttg.num-ctas" = {ctas} : i32, "ttg.num-warps" = 4 : i32}} : () -> ()"""


def shares(m: int, n: int, k: int, ctas: int) -> dict[str, list[list[int]]]:
    with session():
        module = ir.Module.parse(kernel(m, n, k, ctas))
        (function,) = functions(module)
        found = wanted_blocks(function, ctas)
        named = {
            op: ir.StringAttr(op.attributes["name"]).value
            for op in all_ops(function)
            if "name" in op.attributes
        }
        return {named[op]: [list(basis) for basis in blocks] for op, blocks in found.items()}


@pytest.mark.parametrize(
    ("size", "ctas", "result"),
    [
        ((128, 128, 64), 2, [[1, 0]]),
        ((64, 256, 64), 2, [[0, 1]]),
        ((256, 256, 64), 4, [[1, 0], [0, 1]]),
        ((128, 32, 64), 4, [[1, 0], [0, 0]]),
    ],
)
def test_what_a_matmul_reads_is_split_as_its_result(size, ctas: int, result) -> None:
    found = shares(*size, ctas)
    assert found["store"] == found["c"] == result
    assert found["a"] == [[row, 0] for row, _ in result]
    # b is stored by columns of the dot
    assert found["b"] == [[column, 0] for _, column in result]
    assert "other" not in found


def test_one_block_needs_nothing() -> None:
    assert shares(128, 128, 64, 1) == {}
