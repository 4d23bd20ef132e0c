"""The passes for GPUs with units that run beside their threads."""

from __future__ import annotations

from tri_core.api import CommonOptions, Target, TargetKey, TargetSpec
from tri_gpu_dialect.async_units.passes import async_unit_passes, memory_passes
from tri_gpu_dialect.stage import ttgir_passes
from tri_gpu_dialect.transforms.pipeline.passes import pipeline_passes

TARGET = Target(key=TargetKey("made-up", "m1"), spec=TargetSpec(threads_per_warp=(32,)))


def test_those_of_every_gpu_keep_their_order() -> None:
    names, plain = ([p.name for p in f(3)] for f in (async_unit_passes, pipeline_passes))
    assert [n for n in names if n in plain] == plain
    # warps are specialised before loads are issued ahead, and copies are those of descriptors when their loops are done
    order = ["warp-specialize", "pipeline", "pipeline-chained-dots", "lower-descriptors-to-tma"]
    assert sorted(order, key=names.index) == order


def test_a_backend_names_them() -> None:
    passes = ttgir_passes(
        TARGET, CommonOptions(), passes=memory_passes(), loops=async_unit_passes(CommonOptions().num_stages)
    )
    names = [step.name for step in passes.steps]
    order = [
        "ttgir.end",
        "subtile-epilogue",
        "fit-shared-memory",
        "ttgir.allocate",
        "create-tensormaps",
        "allocate-shared-memory",
    ]
    assert sorted(order, key=names.index) == order
    assert names.index("ttgir.pipeline") + 1 == names.index("gather-across-cluster")


def test_without_it_none_is_there() -> None:
    names = {step.name for step in ttgir_passes(TARGET, CommonOptions()).steps}
    own = {p.name for p in async_unit_passes(3)} - {p.name for p in pipeline_passes(3)}
    assert not names & (own | {p.name for passes in memory_passes().values() for p in passes})
