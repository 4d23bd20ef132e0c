"""Loads that the thread which stores needs alone: what is followed from them, and what is not."""

from __future__ import annotations

import pytest

import tri_gpu_dialect.text  # noqa: F401  registers the text of ttg
from tri_core import text
from tri_core.ir.walking import collect
from tri_gpu_dialect.analysis.owned_loads import is_owned

_TYPE = "tensor<16xf32, #own>"
_OTHER = "tensor<16xf32, #other>"


def owned(body: str) -> bool:
    """The analysis of load ``%v`` from tensor ``%a``; ``%o`` are pointers in another layout."""
    module = text.parse_module(f"""
#own = #ttg.blocked<{{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}}>
#other = #ttg.blocked<{{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}}>

module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @f(%p: !tt.ptr<f32>, %c: i1) {{
    %a = tt.splat %p : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>, #own>
    %o = tt.splat %p : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>, #other>
{body}
    tt.return
  }}
}}
""")
    (load,) = (op for op in collect(module.operation) if op.name == "tt.load")
    return is_owned(load)


LOAD = "%v = tt.load %a : tensor<16x!tt.ptr<f32>, #own>\n"
STORE = "tt.store %a, {} : tensor<16x!tt.ptr<f32>, #own>\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (LOAD + STORE.format("%v"), True),
        (LOAD + f"%w = arith.mulf %v, %v : {_TYPE}\n" + STORE.format("%w"), True),
        (LOAD + f"%w = arith.mulf %v, %v : {_TYPE}\n" + STORE.format("%w") + STORE.format("%v"), True),
        # nobody needs it, or each time anew
        (LOAD, False),
        (LOAD.replace("%a", "%a {isVolatile = true}") + STORE.format("%v"), False),
        # another thread may store it, an atomic and a branch are no stores
        (LOAD + f"%w = ttg.convert_layout %v : {_TYPE} -> {_OTHER}\ntt.store %o, %w : tensor<16x!tt.ptr<f32>, #other>\n", False),
        (LOAD + STORE.format("%v") + f"%w = tt.atomic_rmw fadd, relaxed, gpu, %a, %v : (tensor<16x!tt.ptr<f32>, #own>, {_TYPE}) -> {_TYPE}\n", False),
        (LOAD + f"%w = scf.if %c -> ({_TYPE}) {{\nscf.yield %v : {_TYPE}\n}} else {{\nscf.yield %v : {_TYPE}\n}}\n" + STORE.format("%w"), False),
        # scalars
        ("%v = tt.load %p : !tt.ptr<f32>\ntt.store %p, %v : !tt.ptr<f32>\n", True),
        (f"%v = tt.load %p : !tt.ptr<f32>\n%w = tt.splat %v : f32 -> {_TYPE}\n" + STORE.format("%w"), False),
    ],
)  # fmt: skip
def test_what_the_owner_alone_needs(body: str, expected: bool) -> None:
    assert owned(body) is expected
