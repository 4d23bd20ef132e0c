"""An operand that is computed element by element from another dot stays in registers, whatever op computes it."""

from __future__ import annotations

import pytest

import tri
import tri.language as tl
from matrix_machine_code import Compiler
from tri_core.mlir import session
from tri_core.text import parse_module
from tri_gpu_dialect.edit import all_ops

MADE = Compiler("nvidia:sm_90a", {"warp_specialize": False})


@tri.jit
def same(x):
    return x


@tri.jit
def clamped(x):
    return tl.clamp(x, -1.0, 1.0)


@tri.jit
def root(x):
    return tl.sqrt_rn(x)


@tri.jit
def quotient(x):
    return tl.div_rn(x, x + 1.0)


@tri.jit
def exponential(x):
    return tl.exp2(x) * 2.0


@tri.jit
def assembly(x):
    return tl.inline_asm_elementwise(
        "ex2.approx.f32 $0, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1
    )


@tri.jit
def chained(a, b, c, n, F: tl.constexpr, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    rows, depth = tl.arange(0, BLOCK), tl.arange(0, DEPTH)
    q = tl.load(a + rows[:, None] * DEPTH + depth[None, :])
    total = tl.zeros((BLOCK, DEPTH), tl.float32)
    for i in range(n):
        k = tl.load(b + (i * BLOCK + rows[:, None]) * DEPTH + depth[None, :])
        total = tl.dot(F(tl.dot(q, k.T)).to(tl.float16), k, total)
    tl.store(c + rows[:, None] * DEPTH + depth[None, :], total)


@pytest.mark.parametrize(
    "function", [same, clamped, root, quotient, exponential, assembly], ids=lambda f: f.__name__
)
def test_no_iteration_passes_the_operand_through_shared_memory(function) -> None:
    constants = {"F": function, "BLOCK": 64, "DEPTH": 64}
    types = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "n": "i32"}
    made = MADE.compiled(chained, constants, types, warps=4, stages=2)
    assert made.asm["ptx"].count("wgmma.mma_async") >= 8
    with session():
        module = parse_module(made.asm["ttgir"])
        loop = next(op for op in all_ops(module.operation) if op.name == "scf.for")
        inside = [op.name for op in all_ops(loop)]
    assert inside.count("ttg.warp_group_dot") == 2
    assert not {"ttg.local_store", "ttg.local_alloc"} & set(inside)
