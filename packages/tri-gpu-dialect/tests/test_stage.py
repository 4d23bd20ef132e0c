from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

import tri_gpu_dialect
from tri_core.api import (
    Anchor,
    CommonOptions,
    OptionError,
    OutOfResources,
    Pass,
    PluginError,
    StageContext,
    Target,
    TargetKey,
    TargetSpec,
)
from tri_core.mlir import IRRegistry, ir
from tri_gpu_dialect import plugin
from tri_gpu_dialect.dialect import TTG
from tri_gpu_dialect.dialect.gluon import Gluon
from tri_gpu_dialect.passes import Coalesce, InsertBarriers, VerifyLayouts
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY
from tri_gpu_dialect.stage import threads_per_warp, ttgir_passes, ttgir_stage

SPEC = TargetSpec(threads_per_warp=(32, 64), limits={"shared": 65536, "threads": 1024})
TARGET = Target(key=TargetKey("made-up", "m1"), spec=SPEC)


@dataclass(frozen=True, kw_only=True)
class WithWarpSize(CommonOptions):
    warp_size: int = 0


def context(options: CommonOptions) -> StageContext:
    return StageContext(target=TARGET, options=options, kernel_name="f", codegen=None)  # type: ignore[arg-type]


def test_the_stage_makes_ttgir_with_its_resources(kernel: Callable[[str], str]) -> None:
    options = CommonOptions(num_warps=8)
    stage = ttgir_stage(TARGET, options)
    assert (stage.name, stage.kind, stage.final) == ("ttgir", "module", False)
    result = stage.run(ir.Module.parse(kernel("matmul")), context(options))
    assert result.resources["shared"] > 0
    assert result.attrs == {"num_warps": 8, "threads_per_warp": 32, "num_ctas": 1}
    VerifyLayouts().apply(result.artifact, context(options))


def test_anchors_stand_where_backends_expect_them() -> None:
    steps = ttgir_passes(TARGET, CommonOptions()).steps
    names = [f"@{s.name}" if isinstance(s, Anchor) else s.name for s in steps]
    assert names == [
        "@ttgir.begin",
        "fold-comparisons",
        "convert-triton-to-tritongpu",
        "@ttgir.convert",
        "coalesce",
        "@ttgir.coalesce",
        "accelerate-matmul",
        "@ttgir.matmul",
        "stage-dot-operands",
        "remove-layout-conversions",
        "optimize-thread-locality",
        "@ttgir.pipeline",
        "split-loops",
        "buffer-cse",
        "pipeline",
        "buffer-cse",
        "prefetch",
        "stage-matrix-operands",
        "buffer-cse",
        "reorder-instructions",
        "sink-conversions",
        "@ttgir.end",
        "fit-shared-memory",
        "@ttgir.allocate",
        "allocate-shared-memory",
        "insert-barriers",
        "@ttgir.barriers",
    ]


def test_the_list_is_the_same_text_every_time() -> None:
    first, second = (ttgir_passes(TARGET, CommonOptions()).text() for _ in range(2))
    assert first == second
    assert "num_warps=4" in first
    assert " at 0x" not in first


def test_an_inserted_pass_runs(kernel: Callable[[str], str]) -> None:
    seen: list[str] = []

    @dataclass(frozen=True)
    class Look(Pass):
        name = "look"

        def apply(self, module: ir.Module, context: StageContext) -> None:
            seen.append(str(module.operation.attributes["ttg.target"]))

    stage = ttgir_stage(TARGET, CommonOptions())
    assert stage.passes is not None
    stage.passes.insert("ttgir.matmul", Look())
    stage.run(ir.Module.parse(kernel("vector_add")), context(CommonOptions()))
    assert seen == ['"made-up:m1"']


def test_warp_sizes_are_checked() -> None:
    assert threads_per_warp(TARGET, CommonOptions()) == 32
    assert threads_per_warp(TARGET, WithWarpSize(warp_size=64)) == 64
    with pytest.raises(OptionError, match="runs warps of 32 or 64"):
        threads_per_warp(TARGET, WithWarpSize(warp_size=16))


def test_too_many_warps_are_refused() -> None:
    with pytest.raises(OutOfResources, match="2048 threads") as caught:
        ttgir_passes(TARGET, CommonOptions(num_warps=64))
    assert caught.value.remedy == "pass num_warps=32 or fewer"


def test_the_package_offers_the_stage_and_nothing_unknown() -> None:
    assert tri_gpu_dialect.ttgir_stage is ttgir_stage
    with pytest.raises(AttributeError, match="no attribute 'ttgir'"):
        tri_gpu_dialect.ttgir  # noqa: B018


def test_the_plugin_registers_the_dialect_and_the_passes() -> None:
    dialects: list[object] = []
    modules: list[str] = []
    checks: list[str] = []

    class Registry:
        add_dialect = staticmethod(dialects.append)
        add_passes = staticmethod(modules.append)
        add_check = staticmethod(checks.append)

        def add_text(self, namespace: str, module: str) -> None:
            assert (namespace, module) == ("ttg", "tri_gpu_dialect.text")

    plugin.tri_register_ir(Registry())
    assert dialects == [TTG, Gluon]
    layout = "tri_gpu_dialect.transforms.layout"
    assert checks == [f"{layout}.verify_layouts:verify_layouts", f"{layout}.verify_target:verify_target"]
    assert modules == ["tri_gpu_dialect.passes"]
    fresh = IRRegistry()
    fresh.add_passes(*modules)
    assert {"coalesce", "insert-barriers", "warp-specialize"} < set(fresh.passes)


def test_the_default_policy_takes_wide_accesses_and_no_matrix_unit() -> None:
    assert DEFAULT_POLICY.vector_bits(16, "global") == 128
    assert DEFAULT_POLICY.mma(None) is None


def test_a_backends_passes_stand_behind_their_anchors() -> None:
    given = {"ttgir.matmul": [Coalesce()], "ttgir.barriers": [InsertBarriers()]}
    steps = ttgir_passes(TARGET, CommonOptions(), passes=given).steps
    names = [step.name for step in steps]
    assert names[names.index("ttgir.matmul") + 1] == "coalesce"
    assert names[-2:] == ["ttgir.barriers", "insert-barriers"]


def test_an_anchor_that_is_not_there_is_refused() -> None:
    with pytest.raises(PluginError, match=r"no anchor ttgir\.loops") as error:
        ttgir_passes(TARGET, CommonOptions(), passes={"ttgir.loops": [Coalesce()]})
    assert "ttgir.matmul" in str(error.value)
