"""What cannot be persistent is refused, with the op that is the reason; what can is wrapped whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tri_gpu_dialect.text  # noqa: F401  registers the text of ttg
from tri_core import text
from tri_core.api import CommonOptions, StageContext, Target, TargetKey, TargetSpec, Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops, block_ops, functions
from tri_gpu_dialect.passes import Persist, VerifyLayouts
from tri_gpu_dialect.policy import DEFAULT_POLICY

TARGET = Target(key=TargetKey("made-up", "m1"), spec=TargetSpec(threads_per_warp=(32,)))
CONTEXT = StageContext(target=TARGET, options=CommonOptions(), kernel_name="f", codegen=None)  # type: ignore[arg-type]
PERSIST = Persist(policy=replace(DEFAULT_POLICY, persistent=True))


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
    scf.for %i = %x to %s step %n : i32 {
      %b = tt.descriptor_load %d[%i] : !tt.tensordesc<128xf32> -> tensor<128xf32, #blocked>
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


@pytest.mark.parametrize("persistent", [None, False])
def test_nothing_happens_unasked(persistent: bool | None) -> None:
    for body in (PURE, *IMPURE.values()):
        module = kernel(body)
        before = str(module)
        Persist(policy=replace(DEFAULT_POLICY, persistent=persistent)).apply(module, CONTEXT)
        assert str(module) == before
