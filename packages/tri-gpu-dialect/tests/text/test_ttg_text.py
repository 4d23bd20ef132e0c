"""Every op of ``ttg`` in Triton's syntax; random programs and kernels printed, parsed and printed again."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tri_gpu_dialect.text  # noqa: F401  registers the text of ttg
from tri_core import mlir, text
from tri_core.errors import VerificationError
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import TTG
from tri_gpu_dialect.encodings import Linear, PaddedShared, SharedLinear
from tri_gpu_dialect.passes import AllocateSharedMemory, Coalesce, InsertBarriers, RemoveLayoutConversions
from tri_gpu_dialect.testing.programs import programs

SAMPLES = (Path(__file__).parent / "ttg_samples.mlir").read_text().split("// -----\n")
PASSES = (Coalesce(), RemoveLayoutConversions(), AllocateSharedMemory(), InsertBarriers())
#: ops whose text is not Triton's but MLIR's generic form
GENERIC = {"ttg.warp_specialize", "ttg.warp_specialize.partitions"}

#: ops that Triton has not, or in another dialect
OURS = {"ttg.local_dot", "ttng.warp_group_dot", "ttng.warp_group_dot_wait"}


def generic(module: ir.Module) -> str:
    """All that the module says; what IRDL may be told or not, and attributes of no argument, are left out."""
    printed = str(module.operation.get_asm(print_generic_op_form=True, assume_verified=True))
    return re.sub(
        r"(?:arg_attrs = \[(?:\{\}(?:, )?)*\]|(?:operand|result)SegmentSizes = array<[^>]*>)(?:, )?| \{(?=\} :)",
        "",
        printed,
    ).replace(", }", "}")


def same_again(module: ir.Module) -> None:
    printed = text.print_module(module)
    read = text.parse_module(printed)
    assert generic(read).replace(" {}", "") == generic(module).replace(" {}", "")
    assert text.print_module(read) == printed
    bare = text.print_module(module, locations=False)
    assert text.print_module(text.parse_module(bare), locations=False) == bare


@pytest.mark.parametrize("sample", SAMPLES)
def test_samples(sample: str) -> None:
    """The original prints these very texts."""
    module = text.parse_module(sample)
    mlir.verify(module)
    assert text.print_module(module, locations=False).strip() == sample.strip()
    same_again(module)


def test_every_op_has_a_format_and_a_sample() -> None:
    table = text.syntaxes()["ttg"]
    assert set(table.ops) == {table.names.get(op.OPERATION_NAME, op.OPERATION_NAME) for op in TTG.operations}
    used = set(re.findall(r"\bttn?g\.[a-z]\w*(?:\.return)?", "".join(SAMPLES)))
    assert set(table.ops) - GENERIC - OURS <= used


@settings(max_examples=40)
@given(programs(), st.sampled_from([1, 4]), st.sampled_from([16, 32]))
def test_random_programs(run: Callable[..., ir.Module], program: str, warps: int, lanes: int) -> None:
    same_again(mlir.parse(program))
    same_again(run(program, *PASSES, num_warps=warps, lanes=lanes))


@pytest.mark.parametrize("name", ["layernorm", "matmul", "softmax", "vector_add"])
def test_kernels(run: Callable[..., ir.Module], kernel: Callable[[str], str], name: str) -> None:
    same_again(mlir.parse(kernel(name)))
    same_again(run(kernel(name), *PASSES))


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        (Linear(1, warp=((1,),)), "#ttg.linear<{register = [], lane = [], warp = [[1]], block = []}>"),
        (Linear(2), "#ttg.linear<{register = [], lane = [], warp = [], block = [], rank = 2}>"),
        (PaddedShared(((64, 8), (512, 16)), (1, 0)), "#ttg.padded_shared<[64:+8, 512:+16] {order = [1, 0]}>"),
        (
            PaddedShared(((4, 2),), offset=((0, 1), (1, 0), (0, 2))),
            "#ttg.padded_shared<[4:+2] {offset = [[0, 1], [1, 0], [0, 2]], block = []}>",
        ),
        (SharedLinear(1, ((1,), (2,))), "#ttg.shared_linear<{offset = [[1], [2]]}, alignment = 16>"),
    ],
)
def test_encodings(encoding: Linear | PaddedShared | SharedLinear, shown: str) -> None:
    module = mlir.parse(f"module attributes {{ttg.x = {encoding.to_attr()}}} {{}}")
    printed = text.print_module(module, locations=False)
    assert shown in printed
    assert text.parse_module(printed).operation.attributes["ttg.x"] == encoding.to_attr()


@pytest.mark.parametrize(
    ("old", "new", "message", "line", "column"),
    [
        ("local_load %3 :", "local_lod %3 :", "the ttg dialect has no op ttg.local_lod", 12, 9),
        (
            "ttg.memdesc<3x64x32xf32, #shared, #smem, mutable>\n",
            "ttg.memdesc<3x64x32xf32>\n",
            "SHAPExTYPE",
            10,
            9,
        ),
        ("-> <64x32xf32", "-> 64x32xf32", "a type is expected", 16, 92),
    ],
)
def test_refusals(old: str, new: str, message: str, line: int, column: int) -> None:
    changed = SAMPLES[0].replace(old, new, 1)
    assert changed != SAMPLES[0]
    with pytest.raises(VerificationError, match=message) as caught:
        text.parse_module(changed, "k.ttgir")
    assert caught.value.location is not None
    assert (caught.value.location.line, caught.value.location.column) == (line, column)


def test_a_barrier_is_one_of_the_known() -> None:
    with pytest.raises(VerificationError, match=r"one of local, global_read, global_write.* is expected"):
        text.parse_module(SAMPLES[1].replace("ttg.barrier all", "ttg.barrier everywhere"))


NAMES = """module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @f(%arg0: i32) {{
    %c0_i32 = arith.constant 0 : i32
    %0 = arith.addi %arg0, %c0_i32 : i32
    ttg.warp_specialize(%0)
    default {{
      %c1_i32 = arith.constant 1 : i32
      ttg.warp_yield
    }}
    partition0(%arg1: i32) num_warps(1) {{
      %c0_i32{0} = arith.constant 7 : i32
      %s{0} = arith.addi %arg1, %c0_i32{0} : i32
      ttg.warp_return
    }}
    partition1(%arg1{1}: i32) num_warps(1) {{
      %c0_i32{1} = arith.constant 8 : i32
      %s{1} = arith.addi %arg1{1}, %c0_i32{1} : i32
      ttg.warp_return
    }} : (i32) -> ()
    tt.return
  }}
}}"""


def test_partitions_may_use_names_anew() -> None:
    """The original's partitions are scopes of their own."""
    names_again, others = (text.parse_module(NAMES.format(*ends)) for ends in (("", ""), ("_a", "_b")))
    assert generic(names_again) == generic(others)


@pytest.mark.parametrize(("old", "new", "complaint"), [
    ("default {", "{", "`default` is expected"),
    ("partition0(%arg1: i32)", "partition1(%arg1: i32)", r"`partition0\(...\) num_warps\(n\) {` is expected"),
    ("partition1(%arg1: i32)", "partition3(%arg1: i32)", "`:` is expected, found 'partition3"),
    ("partition0(%arg1: i32)", "partition0(%arg1: i32, %more: i32)", "partition 0 has arguments"),
    ("num_warps(1)", "num_warps(3)", "powers of two"),
])  # fmt: skip
def test_what_is_wrong_with_partitions(old: str, new: str, complaint: str) -> None:
    with pytest.raises(VerificationError, match=complaint):
        text.parse_module(NAMES.format("", "").replace(old, new))
