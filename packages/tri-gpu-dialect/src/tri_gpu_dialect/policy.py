"""Policies, at their former place: :mod:`tri_gpu_dialect.policies`."""

from tri_gpu_dialect.policies import (
    DEFAULT_POLICY,
    AsyncPolicy,
    DefaultPolicy,
    DotPolicy,
    PipelinePolicy,
    Specialization,
)

__all__ = ["DEFAULT_POLICY", "AsyncPolicy", "DefaultPolicy", "DotPolicy", "PipelinePolicy", "Specialization"]
