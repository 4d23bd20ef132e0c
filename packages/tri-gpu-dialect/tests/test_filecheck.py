"""Every pass has a file ``filecheck/<pass>.mlir``: what goes in, and beside it what must come out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tri_core.api import CommonOptions, Pass, StageContext, Target, TargetKey, TargetSpec
from tri_core.mlir import ir
from tri_core.testing import filecheck
from tri_gpu_dialect import passes
from tri_gpu_dialect.passes import (
    AccelerateMatmul,
    ConvertTritonToTritonGPU,
    LowerDescriptorsToTma,
    MakePersistent,
    Pipeline,
    PipelineChainedDots,
    Prefetch,
    SplitLoops,
    SubtileEpilogue,
    VerifyLayouts,
    WarpSpecialize,
)
from tri_gpu_dialect.policies.gpu import AsyncPolicy, DefaultPolicy, Specialization
from tri_gpu_dialect.testing.block_copies import BLOCK_COPY_POLICY
from tri_gpu_dialect.testing.matrix import MATRIX_POLICY

FILES = Path(__file__).parent / "filecheck"
PASSES = {getattr(passes, name).name: getattr(passes, name) for name in passes.__all__}
SPEC = TargetSpec(threads_per_warp=(32,), limits={"shared": 24 << 10})
TARGET = Target(key=TargetKey("made-up", "m1"), spec=SPEC)
CONTEXT = StageContext(target=TARGET, options=CommonOptions(), kernel_name="f", codegen=None)  # type: ignore[arg-type]


def made(name: str) -> Pass:
    if name == ConvertTritonToTritonGPU.name:
        return ConvertTritonToTritonGPU(target="made-up:m1", num_warps=4, threads_per_warp=32)
    factory = PASSES[name]
    if name == AccelerateMatmul.name:
        return AccelerateMatmul(policy=MATRIX_POLICY)
    if name == PipelineChainedDots.name:
        return PipelineChainedDots(policy=DefaultPolicy(async_units=AsyncPolicy(pipeline_chained_dots=True)))
    if name in (LowerDescriptorsToTma.name, SubtileEpilogue.name):
        return PASSES[name](policy=BLOCK_COPY_POLICY)
    if name in (Pipeline.name, Prefetch.name):
        return PASSES[name](policy=MATRIX_POLICY)
    if name == MakePersistent.name:
        return MakePersistent(policy=DefaultPolicy(async_units=AsyncPolicy(persistent=True)))
    if name in (SplitLoops.name, WarpSpecialize.name):
        units = replace(BLOCK_COPY_POLICY.async_units, producer=Specialization(reserved=4), specialize=True)
        return PASSES[name](policy=DefaultPolicy(async_units=units))
    return factory()


@pytest.mark.parametrize("path", sorted(FILES.glob("*.mlir")), ids=lambda p: p.stem)
def test_file(path: Path) -> None:
    text = path.read_text()
    run = next(line.removeprefix("// RUN: ") for line in text.splitlines() if line.startswith("// RUN: "))
    module = ir.Module.parse(text)
    for name in run.split(", "):
        made(name).apply(module, CONTEXT)
        VerifyLayouts().apply(module, CONTEXT)
    filecheck(str(module), text)


def test_every_pass_has_a_file() -> None:
    without = {"verify-layouts"}  # it changes nothing; tests/passes has what it says
    assert {name.replace("-", "_") for name in set(PASSES) - without} == {
        p.stem for p in FILES.glob("*.mlir")
    }
