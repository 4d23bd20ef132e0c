"""The passes over loops of any GPU."""

from __future__ import annotations

from tri_gpu_dialect.policies.gpu import DefaultPolicy
from tri_gpu_dialect.transforms.pipeline.passes import pipeline_passes


def test_each_has_the_policy_and_the_number_of_stages() -> None:
    policy = DefaultPolicy(max_vector_bits=64)
    passes = pipeline_passes(5, policy)
    assert [p.name for p in passes] == [
        "split-loops",
        "buffer-cse",
        "pipeline",
        "buffer-cse",
        "prefetch",
        "stage-matrix-operands",
        "buffer-cse",
        "reorder-instructions",
        "sink-conversions",
    ]
    assert {p.num_stages for p in passes if hasattr(p, "num_stages")} == {5}
    assert all(p.policy is policy for p in passes if hasattr(p, "policy"))


def test_none_is_for_units_beside_the_threads() -> None:
    assert not [p for p in pipeline_passes(3) if "async_units" in type(p).__module__]
