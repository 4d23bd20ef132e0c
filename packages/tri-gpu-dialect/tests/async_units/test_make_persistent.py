"""What cannot be persistent is refused, with the op that is the reason; what can is wrapped whole."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tri_gpu_dialect.text  # noqa: F401  registers the text of ttg
from tri_core import text
from tri_core.api import CommonOptions, StageContext, Target, TargetKey, TargetSpec, Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops, block_ops, functions
from tri_gpu_dialect.passes import MakePersistent, VerifyLayouts
from tri_gpu_dialect.policies.gpu import AsyncPolicy, DefaultPolicy
from tri_gpu_dialect.testing.evaluator import evaluate

TARGET = Target(key=TargetKey("made-up", "m1"), spec=TargetSpec(threads_per_warp=(32,)))
CONTEXT = StageContext(target=TARGET, options=CommonOptions(), kernel_name="f", codegen=None)  # type: ignore[arg-type]
PERSIST = MakePersistent(policy=DefaultPolicy(async_units=AsyncPolicy(persistent=True)))


def kernel(body: str, *, ctas: int = 1) -> ir.Module:
    """A kernel of pointers ``%p`` to i32 and ``%f`` to f32, a descriptor ``%d``, and numbers ``%n`` and ``%c``."""
    return text.parse_module(f"""
#blocked = #ttg.blocked<{{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}}>
module attributes {{"ttg.num-ctas" = {ctas} : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @f(%p: !tt.ptr<i32>, %f: !tt.ptr<f32>, %d: !tt.tensordesc<128xf32>, %n: i32, %c: i1) {{
    %t = arith.constant dense<0.0> : tensor<128xf32, #blocked>
{body}
    tt.return
  }}
}}
""")


#: what is wrong -> the kernel
IMPURE = {
    "tt.atomic_rmw may order it": "%0 = tt.atomic_rmw add, relaxed, gpu, %p, %n, %c : (!tt.ptr<i32>, i32, i1) -> i32",
    "tt.atomic_cas may order it": "%0 = tt.atomic_cas acq_rel, gpu, %p, %n, %n : (!tt.ptr<i32>, i32, i32) -> i32",
    "tt.load that is volatile": "%0 = tt.load %p {isVolatile = true} : !tt.ptr<i32>",
    "tt.descriptor_reduce combines": "tt.descriptor_reduce add, %d[%n], %t : !tt.tensordesc<128xf32>, tensor<128xf32, #blocked>",
    "tt.print says which program": 'tt.print " x" {hex = false, isSigned = array<i32: 1>} : %n : i32',
    "tt.assert says which program": 'tt.assert %c, "message" : i1',
    "tt.grid_dependency_wait orders": "tt.grid_dependency_wait",
    "tt.elementwise_inline_asm may reach": (
        '%0 = tt.elementwise_inline_asm "x" {constraints = "=r,r", packed_element = 1 : i32, pure = false} %n : i32 -> i32'
    ),
}


@pytest.mark.parametrize("reason", IMPURE)
def test_impure_kernels_are_refused(reason: str) -> None:
    module = kernel(f"    scf.if %c {{\n      {IMPURE[reason]}\n    }}")
    with pytest.raises(Unsupported, match=reason) as found:
        PERSIST.apply(module, CONTEXT)
    assert found.value.remedy is not None
    assert "persistent=False" in found.value.remedy
    assert found.value.location is not None


def test_branches_and_clusters_are_refused() -> None:
    module = kernel("    cf.cond_br %c, ^bb1, ^bb2\n  ^bb1:\n    tt.return\n  ^bb2:")
    with pytest.raises(Unsupported, match="branches between blocks"):
        PERSIST.apply(module, CONTEXT)
    with pytest.raises(Unsupported, match="clusters"):
        PERSIST.apply(kernel("", ctas=2), CONTEXT)


PURE = """
    %x = tt.get_program_id x : i32
    %v = tt.load %p : !tt.ptr<i32>
    %s = tt.elementwise_inline_asm "x" {constraints = "=r,r", packed_element = 1 : i32, pure = true} %v : i32 -> i32
    scf.for %i = %s to %n step %n : i32 {
      %j = arith.addi %i, %x : i32
      %b = tt.descriptor_load %d[%j] : !tt.tensordesc<128xf32> -> tensor<128xf32, #blocked>
      %y = tt.get_program_id y : i32
      tt.descriptor_store %d[%y], %b : !tt.tensordesc<128xf32>, tensor<128xf32, #blocked>
    }"""


def test_all_but_constants_is_wrapped() -> None:
    module = kernel(PURE)
    PERSIST.apply(module, CONTEXT)
    VerifyLayouts().apply(module, CONTEXT)
    module.operation.verify()
    (function,) = functions(module)
    *before, loop, end = block_ops(function.regions[0].blocks[0])
    assert (loop.name, end.name) == ("scf.for", "tt.return")
    assert {op.name for op in before} == {
        "arith.constant", "arith.muli", "ttg.get_grid_size", "tt.get_program_id", "tt.get_num_programs",
    }  # fmt: skip
    inside = [op.name for op in all_ops(loop)]
    assert inside.count("tt.descriptor_store") == inside.count("tt.load") == 1
    assert "tt.get_program_id" not in inside
    assert sorted(n for n in inside if n.endswith("ui")) == ["arith.divui", "arith.remui", "arith.remui"]


#: for i in range(low, high, step of 2): block i of %d is read; then the program writes at its number how many were before it
UNEQUAL = """
    %axis0 = tt.get_program_id x : i32
    %axis1 = tt.get_program_id y : i32
    %axis2 = tt.get_program_id z : i32
    %size0 = tt.get_num_programs x : i32
    %size1 = tt.get_num_programs y : i32
    %two = arith.constant 2 : i32
    %long = arith.constant 64 : i32
    %end = arith.muli %ALONG, %two : i32
    scf.for %i = BOUNDS step %two : i32 {
      %b = tt.descriptor_load %d[%i] : !tt.tensordesc<128xf32> -> tensor<128xf32, #blocked>
    }
    %zs = arith.muli %axis2, %size1 : i32
    %zy = arith.addi %zs, %axis1 : i32
    %rows = arith.muli %zy, %size0 : i32
    %at = arith.addi %rows, %axis0 : i32
    %one = arith.constant 1 : i32
    %before = tt.load %p : !tt.ptr<i32>
    %after = arith.addi %before, %one : i32
    tt.store %p, %after : !tt.ptr<i32>
    %mine = arith.addi %at, %one : i32
    %there = tt.addptr %p, %mine : !tt.ptr<i32>, i32
    tt.store %there, %after : !tt.ptr<i32>"""


def order(
    grid: tuple[int, int, int], ctas: int, axis: int, bounds: str, cache: int | None
) -> list[list[int]]:
    """The numbers, x first, of the programs of each CTA, in the order in which it runs them."""
    module = kernel(UNEQUAL.replace("ALONG", f"axis{axis}").replace("BOUNDS", bounds))
    MakePersistent(policy=DefaultPolicy(async_units=AsyncPolicy(persistent=True, cache_bytes=cache))).apply(
        module, CONTEXT
    )
    VerifyLayouts().apply(module, CONTEXT)
    lines = str(module)
    for number, size in enumerate(grid):
        asked = f'"ttg.get_grid_size"() {{axis = {number} : i32}} : () -> i32'
        assert asked in lines
        lines = lines.replace(asked, f"arith.constant {size} : i32")
    lines = lines.replace(
        '"tt.get_num_programs"() {axis = 0 : i32} : () -> i32', f"arith.constant {ctas} : i32"
    )
    lines = "\n".join(line for line in lines.splitlines() if "descriptor_load" not in line)
    parsed = ir.Module.parse(lines.replace("!tt.tensordesc<tensor<128xf32>>", "i32"))
    (function,) = functions(parsed)
    found = []
    for cta in range(ctas):
        seen = np.zeros(1 + math.prod(grid), np.int32)
        evaluate(function, [seen, np.zeros(1, np.float32), 0, 0, False], (cta, 0, 0))
        ran = np.flatnonzero(seen[1:])
        found.append([int(n) for n in ran[np.argsort(seen[1:][ran])]])
        assert seen[0] == len(ran)
    return found


def length_of(number: int, grid: tuple[int, int, int], axis: int) -> int:
    """The program's id along ``axis``."""
    return (number, number // grid[0], number // (grid[0] * grid[1]))[axis] % grid[axis]


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("bounds", ["%two to %end", "%end to %long"])
@pytest.mark.parametrize(("grid", "ctas", "cache"), [
    ((8, 6, 2), 5, None), ((3, 7, 5), 4, 512 * 20), ((16, 1, 1), 16, 1), ((1, 9, 4), 1, None),
])  # fmt: skip
def test_the_longest_come_first(grid, ctas, axis, bounds, cache) -> None:
    chains = order(grid, ctas, axis, bounds, cache)
    # each program runs once
    assert sorted(n for chain in chains for n in chain) == list(range(math.prod(grid)))
    if cache is None:
        first = [length_of(chain[0], grid, axis) for chain in chains]
        assert first == sorted(first, reverse=not bounds.startswith("%end"))
        for chain in chains:
            along = [length_of(n, grid, axis) for n in chain]
            assert along == sorted(along, reverse=not bounds.startswith("%end"))


def test_groups_read_what_a_cache_holds() -> None:
    """A program reads up to 30 blocks of 512 bytes, so four heads read 60 KiB."""
    grid = (32, 10, 1)
    (ran,) = order(grid, 1, 0, "%two to %end", 64 << 10)
    heads = [[n // 32 for n in ran[i : i + 128]] for i in (0, 128, 256)]
    assert [set(group) for group in heads] == [{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}]
    assert [n % 32 for n in ran[:8]] == [31] * 4 + [30] * 4
    assert [n % 32 for n in ran[-4:]] == [1, 1, 0, 0]


def test_ctas_are_done_at_the_same_time() -> None:
    """The work of 16 heads of 32 blocks of queries, for 33 CTAs: within a short program of each other."""
    grid = (32, 16, 1)
    work = [sum(n % 32 + 1 for n in chain) for chain in order(grid, 33, 0, "%two to %end", None)]
    assert sum(work) == 16 * 32 * 33 // 2
    assert max(work) - min(work) <= 6


@pytest.mark.parametrize("persistent", [None, False])
def test_nothing_happens_unasked(persistent: bool | None) -> None:
    for body in (PURE, *IMPURE.values()):
        module = kernel(body)
        before = str(module)
        MakePersistent(policy=DefaultPolicy(async_units=AsyncPolicy(persistent=persistent))).apply(
            module, CONTEXT
        )
        assert str(module) == before
