"""The former name of :mod:`tri_core.plugin_records`."""

from __future__ import annotations

from tri_core.plugin_records import (
    AccessModifier,
    Accuracy,
    Assembly,
    BackendInfo,
    ConformanceProfile,
    DevicePerformance,
    FrameworkAdapter,
    Gap,
    InductorInfo,
    InductorKernel,
    InductorProperties,
    KnownFailure,
    LanguageExtension,
    Observer,
    Policy,
    Scope,
    SimulatedLevel,
    Simulation,
)

__all__ = [
    "AccessModifier",
    "Accuracy",
    "Assembly",
    "BackendInfo",
    "ConformanceProfile",
    "DevicePerformance",
    "FrameworkAdapter",
    "Gap",
    "InductorInfo",
    "InductorKernel",
    "InductorProperties",
    "KnownFailure",
    "LanguageExtension",
    "Observer",
    "Policy",
    "Scope",
    "SimulatedLevel",
    "Simulation",
]
