"""Everything that a plugin may import: records, protocols, errors and the hook marker, in one place."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tri_core.abi import (
    HiddenParameters,
    KernelABI,
    KernelSignature,
    LaunchDescriptor,
    LaunchNumber,
    Parameter,
    launch_descriptors,
)
from tri_core.aot import AotLauncher, AotParameter
from tri_core.errors import (
    ArgumentError,
    ArgumentOverflow,
    AutotuneError,
    BackendError,
    BundleError,
    CacheError,
    CodegenCrash,
    CompilationError,
    CompileRefused,
    CompileTimeAssertionFailure,
    DataRace,
    DescriptorError,
    DeviceError,
    InternalError,
    InvalidAccess,
    KernelFault,
    LaunchError,
    OptionError,
    OutOfBounds,
    OutOfResources,
    OutsideKernel,
    PluginError,
    RaceAccess,
    RemoteCacheError,
    SimulationError,
    SourceLocation,
    TargetError,
    ToolchainError,
    TriError,
    Unsupported,
    UnsupportedConstruct,
    VerificationError,
)
from tri_core.hookspecs import HOOKSPEC_API, hookimpl
from tri_core.image import KernelImage, KernelMetadata
from tri_core.knobs import Knob, KnobGroup
from tri_core.listings import Listing, Place
from tri_core.loop_estimates import LoopEstimate, LoopEstimates
from tri_core.options import CommonOptions
from tri_core.pipeline import (
    Anchor,
    CodegenReply,
    CodegenRequest,
    CodegenService,
    Pass,
    PassList,
    Pipeline,
    Stage,
    StageContext,
    StageResult,
    TextPass,
    TextPassList,
)
from tri_core.plugin_records import (
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
    SimulatedLevel,
    Simulation,
)
from tri_core.runtime import (
    Argument,
    ArrayArgument,
    HiddenNumbers,
    HostMemory,
    Launch,
    LaunchPlan,
    LoadedKernel,
    OverlapLaunch,
    Probe,
    Runtime,
)
from tri_core.target import (
    SIMULATED_KIND,
    ComputeUnit,
    DeviceInfo,
    LLVMTarget,
    Memory,
    MmaDesc,
    Target,
    TargetKey,
    TargetSpec,
)

if TYPE_CHECKING:
    from tri_core.linalg import linalg_stage as linalg_stage
    from tri_core.linalg import to_linalg as to_linalg
    from tri_core.locations import located as located
    from tri_core.ttir import Rules as Rules
    from tri_core.ttir import read_kernel as read_kernel

__all__ = [
    "HOOKSPEC_API",
    "SIMULATED_KIND",
    "Accuracy",
    "Anchor",
    "AotLauncher",
    "AotParameter",
    "Argument",
    "ArgumentError",
    "ArgumentOverflow",
    "ArrayArgument",
    "Assembly",
    "AutotuneError",
    "BackendError",
    "BackendInfo",
    "BundleError",
    "CacheError",
    "CodegenCrash",
    "CodegenReply",
    "CodegenRequest",
    "CodegenService",
    "CommonOptions",
    "CompilationError",
    "CompileRefused",
    "CompileTimeAssertionFailure",
    "ComputeUnit",
    "ConformanceProfile",
    "DataRace",
    "DescriptorError",
    "DeviceError",
    "DeviceInfo",
    "DevicePerformance",
    "FrameworkAdapter",
    "Gap",
    "HiddenNumbers",
    "HiddenParameters",
    "HostMemory",
    "InductorInfo",
    "InductorKernel",
    "InductorProperties",
    "InternalError",
    "InvalidAccess",
    "KernelABI",
    "KernelFault",
    "KernelImage",
    "KernelMetadata",
    "KernelSignature",
    "Knob",
    "KnobGroup",
    "KnownFailure",
    "LLVMTarget",
    "LanguageExtension",
    "Launch",
    "LaunchDescriptor",
    "LaunchError",
    "LaunchNumber",
    "LaunchPlan",
    "Listing",
    "LoadedKernel",
    "LoopEstimate",
    "LoopEstimates",
    "Memory",
    "MmaDesc",
    "Observer",
    "OptionError",
    "OutOfBounds",
    "OutOfResources",
    "OutsideKernel",
    "OverlapLaunch",
    "Parameter",
    "Pass",
    "PassList",
    "Pipeline",
    "Place",
    "PluginError",
    "Policy",
    "Probe",
    "RaceAccess",
    "RemoteCacheError",
    "Runtime",
    "SimulatedLevel",
    "Simulation",
    "SimulationError",
    "SourceLocation",
    "Stage",
    "StageContext",
    "StageResult",
    "Target",
    "TargetError",
    "TargetKey",
    "TargetSpec",
    "TextPass",
    "TextPassList",
    "ToolchainError",
    "TriError",
    "Unsupported",
    "UnsupportedConstruct",
    "VerificationError",
    "hookimpl",
    "launch_descriptors",
]

#: what needs MLIR, by its module: imported when it is named, and not in ``__all__``, so that ``import *`` needs none
_WITH_MLIR = {
    "Rules": "tri_core.ttir",
    "linalg_stage": "tri_core.linalg",
    "located": "tri_core.locations",
    "read_kernel": "tri_core.ttir",
    "to_linalg": "tri_core.linalg",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _WITH_MLIR:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_WITH_MLIR[name]), name)
