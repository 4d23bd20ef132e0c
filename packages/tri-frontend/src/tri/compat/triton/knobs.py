"""``triton.knobs``: Triton's settings under its names, those with a counterpart in force on tri.

A group that is put in place of another (``triton.knobs.cache = other``) is in force from then on.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tri.compat.triton import settings
from tri.compat.triton.cache import FileCacheManager
from tri.compat.triton.groups import group, in_force, keeps_files, said
from tri.compat.triton.hooks import (
    AutotuneListener,
    CompilationListener,
    Hooks,
    InitHandleHook,
    JITHook,
    JITHookCompileInfo,
    LaunchHook,
    Listener,
    Listening,
    autotune_listener,
    compilation_listener,
)
from tri.compat.triton.hooks import link as link_hooks
from tri.compat.triton.settings import *  # noqa: F403  Triton has these names here
from tri.compat.triton.settings import (
    base_knobs,
    env_bool,
    env_class,
    env_int,
    env_nvidia_tool,
    env_opt_bool,
    env_opt_str,
    env_str,
    env_str_callable_default,
)
from tri.compat.triton.utils import warn_once
from tri.language.types import dtype
from tri.launch.hooks import HookChain
from tri_core import knobs as core_knobs

_GROUPS = (
    "amd",
    "autotuning",
    "build",
    "cache",
    "compilation",
    "language",
    "nvidia",
    "proton",
    "redis",
    "runtime",
)
__all__ = [
    *settings.__all__,
    *_GROUPS,
    "AutotuneListener",
    "BuildImpl",
    "CompilationListener",
    "HookChain",
    "InitHandleHook",
    "JITHook",
    "JITHookCompileInfo",
    "LaunchHook",
    "PipelineStagesHook",
    "amd_knobs",
    "autotuning_knobs",
    "build_knobs",
    "cache_knobs",
    "compilation_knobs",
    "language_knobs",
    "nvidia_knobs",
    "propagate_env",
    "proton_knobs",
    "redis_knobs",
    "refresh_knobs",
    "runtime_knobs",
    "warn_once",
]

#: whether assignments are written to the environment, for processes that this one starts
propagate_env = True
#: the remote cache that goes through the manager that ``TRITON_CACHE_MANAGER`` names
_MANAGED = "python:tri.compat.triton.remote:ManagerTransport"
_CHECKER = "tri checks kernels under tri.interpret() (memory, races) and with debug=True"


#: how Triton calls a C compiler; tri calls none
BuildImpl = Callable[..., str]
#: Triton's way to change its stages; on tri a plugin does it
PipelineStagesHook = Callable[..., Any]


class build_knobs(base_knobs):
    """Of the C compiler, which tri does not call."""

    cc = env_opt_str("CC", effect=True)
    cudacrt_path = env_opt_str("TRITON_CUDACRT_PATH")
    cudart_path = env_opt_str("TRITON_CUDART_PATH")
    impl: BuildImpl | None = None

    @property
    def backend_dirs(self) -> set[str]:
        """The folders that are set."""
        return {path for path in (self.cudacrt_path, self.cudart_path) if path is not None}


class redis_knobs(base_knobs):
    """Of a remote cache."""

    key_format = env_str("TRITON_REDIS_KEY_FORMAT", "triton:{key}:{filename}", effect=True)
    host = env_str("TRITON_REDIS_HOST", "localhost", effect=True)
    port = env_int("TRITON_REDIS_PORT", 6379, effect=True)


class cache_knobs(base_knobs):
    """Folders: compiled kernels are kept in ``dir``, once somebody sets it or ``home_dir``, else in tri's cache."""

    home_dir = env_str("TRITON_HOME", os.path.expanduser("~/"), effect=True)
    dump_dir = env_str_callable_default("TRITON_DUMP_DIR", lambda: cache_dir("dump"), effect=True)
    override_dir = env_str_callable_default("TRITON_OVERRIDE_DIR", lambda: cache_dir("override"), effect=True)
    dir = env_str_callable_default("TRITON_CACHE_DIR", lambda: cache_dir("cache"), effect=True)
    manager_class = env_class("TRITON_CACHE_MANAGER", "CacheManager", effect=True)
    remote_manager_class = env_class("TRITON_REMOTE_CACHE_BACKEND", "RemoteCacheBackend", effect=True)

    def get_triton_dir(self, dirname: str) -> str:
        """``dirname`` in Triton's folder."""
        return os.path.join(self.home_dir, ".triton", dirname)


class compilation_knobs(Listening):
    """Of compiles."""

    override = env_bool("TRITON_KERNEL_OVERRIDE", effect=True)
    dump_ir = env_bool("TRITON_KERNEL_DUMP", effect=True)
    dump_ir_extract_di_local_variables = env_bool("LLVM_EXTRACT_DI_LOCAL_VARIABLES")
    store_binary_only = env_bool("TRITON_STORE_BINARY_ONLY")
    always_compile = env_bool("TRITON_ALWAYS_COMPILE", knob="ALWAYS_COMPILE")
    use_ir_loc = env_opt_str("USE_IR_LOC")
    enable_asan = env_bool("TRITON_ENABLE_ASAN", refused=_CHECKER)
    disable_line_info = env_bool("TRITON_DISABLE_LINE_INFO", knob="LINE_INFO", inverse=True)
    front_end_debugging = env_bool("TRITON_FRONT_END_DEBUGGING", knob="FULL_TRACEBACK")
    allow_non_constexpr_globals = env_bool("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")
    instrumentation_mode = env_str("TRITON_INSTRUMENTATION_MODE", "", refused=_CHECKER)
    fpsan_homomorphic_casts = env_bool("TRITON_FPSAN_HOMOMORPHIC_CASTS")
    listener = Listener(compilation_listener)


class autotuning_knobs(Listening):
    """Of autotuning."""

    cache = env_bool("TRITON_CACHE_AUTOTUNING", knob="AUTOTUNE_CACHE")
    print = env_bool("TRITON_PRINT_AUTOTUNING", knob="AUTOTUNE_PRINT")
    listener = Listener(autotune_listener)


class runtime_knobs(Hooks):
    """Of launches."""

    interpret = env_bool("TRITON_INTERPRET", knob="INTERPRET")
    debug = env_bool("TRITON_DEBUG", knob="DEBUG")
    override_arch = env_opt_str("TRITON_OVERRIDE_ARCH", knob="ARCH")
    add_stages_inspection_hook: PipelineStagesHook | None = None


class language_knobs(base_knobs):
    """Of arithmetic."""

    fp32_default = env_opt_str("TRITON_F32_DEFAULT", knob="DOT_PRECISION")
    default_fp_fusion = env_bool("TRITON_DEFAULT_FP_FUSION", True, knob="FP_FUSION")
    force_disable_fp_fusion = env_bool("TRITON_FORCE_DISABLE_FP_FUSION", knob="NO_FP_FUSION")

    def fp_fusion_enabled(self, requested: bool | None) -> bool:
        """True if a launch that requests ``requested`` (None: unspecified) fuses."""
        if self.force_disable_fp_fusion:
            return False
        return bool(self.default_fp_fusion if requested is None else requested)


class nvidia_knobs(base_knobs):
    """Of NVIDIA's tools."""

    cuobjdump = env_nvidia_tool("cuobjdump")
    nvdisasm = env_nvidia_tool("nvdisasm", "NVIDIA_NVDISASM")
    ptxas = env_nvidia_tool("ptxas", "NVIDIA_PTXAS")
    ptxas_blackwell = env_nvidia_tool("ptxas-blackwell")
    dump_nvptx = env_bool("NVPTX_ENABLE_DUMP")
    disable_ptxas_opt = env_bool("DISABLE_PTXAS_OPT")
    ptxas_options = env_opt_str("PTXAS_OPTIONS")
    mock_ptx_version = env_opt_str("TRITON_MOCK_PTX_VERSION")
    dump_ptxas_log = env_bool("TRITON_DUMP_PTXAS_LOG")
    libdevice_path = env_opt_str("TRITON_LIBDEVICE_PATH", effect=True)
    libcuda_path = env_opt_str("TRITON_LIBCUDA_PATH")


class amd_knobs(base_knobs):
    """Of AMD's code generator."""

    codegen_path = env_opt_str("TRITON_AMD_CODEGEN_PATH")
    use_buffer_ops = env_bool("AMDGCN_USE_BUFFER_OPS", True)
    use_buffer_atomics = env_bool("AMDGCN_USE_BUFFER_ATOMICS", True)
    buffer_ops_analyze_small_tensor_range = env_bool("AMDGCN_ANALYZE_SMALL_TENSOR_RANGE")
    dump_amdgcn = env_bool("AMDGCN_ENABLE_DUMP")
    libhip_path = env_opt_str("TRITON_LIBHIP_PATH")
    use_block_pingpong = env_opt_bool("TRITON_HIP_USE_BLOCK_PINGPONG")
    use_in_thread_transpose = env_opt_bool("TRITON_HIP_USE_IN_THREAD_TRANSPOSE")
    use_async_copy = env_opt_bool("TRITON_HIP_USE_ASYNC_COPY")
    use_coexec_scheduler = env_opt_bool("TRITON_HIP_USE_COEXEC_SCHEDULER")
    use_expert_scheduling = env_opt_bool("TRITON_HIP_USE_EXPERT_SCHEDULING")
    scalarize_packed_fops = env_bool("AMDGCN_SCALARIZE_PACKED_FOPS")
    dump_mir = env_opt_str("TRITON_DUMP_MIR")
    swap_mir = env_opt_str("TRITON_SWAP_MIR")
    swap_mir_enable_misched = env_bool("TRITON_SWAP_MIR_ENABLE_MISCHED")


class proton_knobs(base_knobs):
    """Of Triton's profiler, which is not here."""

    disable = env_bool("TRITON_PROTON_DISABLE")
    cupti_lib_dir = env_opt_str("TRITON_CUPTI_LIB_PATH")
    cupti_lib_blackwell_dir = env_opt_str("TRITON_CUPTI_LIB_BLACKWELL_PATH")
    hsa_runtime_path = env_opt_str("TRITON_HSA_RUNTIME_PATH")
    hsa_runtime_library = env_opt_str("TRITON_HSA_RUNTIME_LIBRARY")
    rocprofiler_sdk_include_path = env_opt_str("TRITON_ROCPROFILER_SDK_INCLUDE_PATH")
    rocprofiler_sdk_lib_path = env_opt_str("TRITON_ROCPROFILER_SDK_LIB_PATH")
    rocprofiler_sdk_library = env_opt_str("TRITON_ROCPROFILER_SDK_LIBRARY")
    roctracer_lib_path = env_opt_str("TRITON_ROCTRACER_LIB_PATH")
    roctracer_library = env_opt_str("TRITON_ROCTRACER_LIBRARY")
    roctx_lib_path = env_opt_str("TRITON_ROCTX_LIB_PATH")
    roctx_library = env_str("TRITON_ROCTX_LIBRARY", "libroctx64.so")
    profile_buffer_size = env_int("TRITON_PROFILE_BUFFER_SIZE", 64 << 20)
    profile_metric_buffer_size = env_int("TRITON_PROFILE_METRIC_BUFFER_SIZE", 64 << 20)
    enable_nvtx = env_bool("TRITON_ENABLE_NVTX", True)
    enable_hw_trace = env_bool("TRITON_ENABLE_HW_TRACE")


amd = amd_knobs()
autotuning = autotuning_knobs()
build = build_knobs()
cache = cache_knobs()
compilation = compilation_knobs()
language = language_knobs()
nvidia = nvidia_knobs()
proton = proton_knobs()
redis = redis_knobs()
runtime = runtime_knobs()

in_force.update({name: globals()[name] for name in _GROUPS})


def refresh_knobs() -> None:
    """Have ``debug`` and the mode of instrumentation as the environment says, whatever was assigned.

    Other knobs keep what was assigned, and read the environment whenever they are asked for.
    """
    for name, knob in (("runtime", "debug"), ("compilation", "instrumentation_mode")):
        delattr(group(name), knob)
    core_knobs.changed()


def replaced(name: str, value: Any) -> None:
    """Have ``value`` in force, which a program has put in place of ``triton.knobs.<name>``."""
    before = in_force.get(name)
    if before is not None and isinstance(value, type(before)):
        if isinstance(before, Hooks) and isinstance(value, Hooks):
            before.take_over(value)
        elif isinstance(value, Listening):
            value.put()
        in_force[name] = value
        core_knobs.changed()


def cache_dir(name: str) -> str:
    """Triton's folder ``name`` by the group in force."""
    return str(group("cache").get_triton_dir(name))


# --- tri's knobs --------------------------------------------------------------------------------------------


def _same(where: str) -> core_knobs.Alias:
    return lambda text: said(where, text)


def _inverse(where: str) -> core_knobs.Alias:
    def read(text: str | None) -> Any:
        value = said(where, text)
        return None if value is None else not value

    return read


def _kernels(text: str | None) -> Path | None:
    """Folder of kernels: one of their own, since the store evicts what exceeds its size."""
    return Path(group("cache").dir) / "tri" if keeps_files(text) else None


def _remote(text: str | None) -> str | None:
    """The way through the cache manager that a program chose, which may keep kernels elsewhere."""
    chosen = said("cache.manager_class", text)
    return None if chosen in (None, FileCacheManager) else _MANAGED


def _folder(switch: str, where: str) -> core_knobs.Alias:
    """The folder ``cache.<where>`` if ``switch`` is on."""
    return lambda text: Path(getattr(group("cache"), where)) if said(switch, text) else None


#: knob of tri -> how Triton's settings say it
ALIASES: dict[str, core_knobs.Alias] = {
    **{
        knob.knob: (_inverse if knob.inverse else _same)(f"{name}.{knob.name}")
        for name, owner in in_force.items()
        for knob in owner.knob_descriptors.values()
        if knob.knob
    },
    "CACHE_DIR": _kernels,
    "CACHE_REMOTE": _remote,
    "DUMP_DIR": _folder("compilation.dump_ir", "dump_dir"),
    "NVIDIA_LIBDEVICE": _same("nvidia.libdevice_path"),
    "OVERRIDE_DIR": _folder("compilation.override", "override_dir"),
}


def link() -> None:
    """Have tri's knobs follow Triton's settings; the log says once which variables of the environment do nothing."""
    link_hooks(True)
    dtype.module = "triton.language"
    for name, read in ALIASES.items():
        core_knobs.alias(name, read)
    for owner in in_force.values():
        for knob in owner.knob_descriptors.values():
            if not knob.effect and knob.key.startswith("TRITON_") and settings.getenv(knob.key) is not None:
                settings.note(knob.key)


def unlink() -> None:
    """Undo :func:`link`."""
    link_hooks(False)
    dtype.module = "tri.language"
    for name in ALIASES:
        core_knobs.alias(name, None)
