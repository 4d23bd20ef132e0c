from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

import llvmlite.binding as binding
import pytest

from tri_core.mlir import ir
from tri_core.options import CommonOptions
from tri_core.pipeline import Pass, StageContext
from tri_core.target import LLVMTarget, Target
from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.lowering import PrimitivesFactory, generic_table, llir_stage
from tri_gpu_dialect.testing import ReferencePrimitives, TensorSpec, kernel, make_target, place_in_memory


def primitives(target: Target, options: CommonOptions, lanes: int, warps: int) -> ReferencePrimitives:
    return ReferencePrimitives(target, options, threads_per_warp=lanes, num_warps=warps)


@pytest.fixture
def target() -> Target:
    return make_target(llvm=LLVMTarget(triple="x86_64-unknown-linux-gnu"))


ROWS, COLUMNS = Blocked((1, 4), (4, 8), (4, 1), (1, 0)), Blocked((4, 1), (8, 4), (1, 4), (0, 1))


def convert_module(before: Blocked = ROWS, after: Blocked = COLUMNS) -> ir.Module:
    source, result = (TensorSpec("f32", (32, 64), e) for e in (before, after))
    body = f'%out0 = "ttg.convert_layout"(%in0) : ({source.type}) -> {result.type}'
    module = kernel([source], [result], body, warps=4, lanes=32)
    place_in_memory(module)
    return module


def test_the_stage_gives_text_that_llvm_reads_and_facts_of_the_kernel(target: Target) -> None:
    stage = llir_stage(primitives, lambda target, options: generic_table(), target)
    context = StageContext(target=target, options=CommonOptions(), kernel_name="kernel", codegen=None)  # type: ignore[arg-type]
    module = convert_module()
    before = str(module)
    result = stage.run(module, context)
    assert str(module) == before  # the stage's input is somebody else's
    parsed = binding.parse_assembly(result.artifact)
    parsed.verify()
    assert parsed.triple == "x86_64-unknown-linux-gnu"
    assert not parsed.get_function("kernel").is_declaration
    assert result.resources["shared"] >= 32 * 64 * 4
    assert result.entry_points == ("kernel",)
    assert result.attrs == {"num_warps": 4, "threads_per_warp": 32, "num_ctas": 1}
    assert "ref." not in result.artifact
    assert "addrspace(3)" in result.artifact


def test_two_lowerings_give_the_same_text(target: Target) -> None:
    stage = llir_stage(primitives, lambda target, options: generic_table(), target)
    context = StageContext(target=target, options=CommonOptions(), kernel_name="kernel", codegen=None)  # type: ignore[arg-type]
    texts = {stage.run(convert_module(), context).artifact for _ in range(3)}
    assert len(texts) == 1


def test_rows_go_through_shared_memory_in_vectors(target: Target) -> None:
    stage = llir_stage(primitives, lambda target, options: generic_table(), target)
    context = StageContext(target=target, options=CommonOptions(), kernel_name="kernel", codegen=None)  # type: ignore[arg-type]
    module = convert_module(Blocked((1, 4), (4, 8), (4, 1), (1, 0)), Blocked((1, 4), (2, 16), (2, 2), (1, 0)))
    text = stage.run(module, context).artifact
    shared = [line for line in text.splitlines() if re.search(r" (load|store) .*addrspace\(3\)", line)]
    # half of the warps of the destination hold copies: each thread stores 4 vectors and loads 8
    assert len(shared) == 12
    assert all("<4 x float>" in line for line in shared)


class WithDirectives(ReferencePrimitives):
    line_info = "DebugDirectivesOnly"


def test_source_lines_reach_llvm_when_they_are_asked_for(target: Target) -> None:
    def with_directives(target: Target, options: CommonOptions, lanes: int, warps: int) -> WithDirectives:
        return WithDirectives(target, options, threads_per_warp=lanes, num_warps=warps)

    spec = TensorSpec("f32", (32, 64), ROWS)
    body = f'%out0 = arith.negf %in0 : {spec.type} loc(callsite("lib.py":7:3 at "kernel.py":12:5))'

    def text(words: PrimitivesFactory, lines: bool) -> str:
        context = StageContext(
            target=target,
            options=CommonOptions(),
            kernel_name="kernel",
            codegen=None,  # type: ignore[arg-type]
            knobs={"LINE_INFO": True} if lines else {},
        )
        stage = llir_stage(words, lambda target, options: generic_table(), target)
        artifact: str = stage.run(kernel([spec], [spec], body, warps=4, lanes=32), context).artifact
        binding.parse_assembly(artifact).verify()
        return artifact

    lines = text(primitives, lines=True)
    assert "emissionKind: LineTablesOnly" in lines
    assert re.search(r"fneg float .*!dbg", lines)
    assert "DILocation(line: 7, column: 3" in lines
    assert "DILocation(line: 12, column: 5" in lines
    assert "!dbg" not in text(primitives, lines=False)
    assert "emissionKind: DebugDirectivesOnly" in text(with_directives, lines=True)


def test_plugins_may_put_passes_before_and_after_machine_ops_are_emitted(target: Target) -> None:
    seen: dict[str, str] = {}

    @dataclass(frozen=True)
    class Look(Pass):
        where: str
        name: ClassVar[str] = "look"

        def apply(self, module: ir.Module, context: StageContext) -> None:
            seen[self.where] = str(module)

    stage = llir_stage(primitives, lambda target, options: generic_table(), target)
    assert stage.passes is not None
    for where in ("llir.machine", "llir.end"):
        stage.passes.insert(where, Look(where))
    context = StageContext(target=target, options=CommonOptions(), kernel_name="kernel", codegen=None)  # type: ignore[arg-type]
    stage.run(convert_module(), context)
    assert "ref.barrier" in seen["llir.machine"]
    assert "ref." not in seen["llir.end"]
    assert "scf." not in seen["llir.machine"]
