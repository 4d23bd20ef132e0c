"""Table of the compatibility layer: the stand-in of each module.

A module's names are looked up in ``names`` first, then in its ``sources`` in order.  ``docs/compat.md`` shows
the same table to users.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from tri_core.lazy_dataclasses import dataclass

__all__ = ["EXTRA", "GLUON", "GONE", "MODULES", "VERSION", "Module", "gluon_part", "vendor"]

#: the version of Triton whose interface stands in; what programs see is :mod:`tri.compat.triton.versions`'s
VERSION = "3.9.0"


@dataclass(frozen=True)
class Module:
    """One stand-in.

    ``sources``: modules (``package.module``, or ``package.module:attribute``) whose public names it has;
    ``names``: single names, with where they come from; ``values``: constants; ``refused``: names that raise,
    with what to do instead; ``live``: names that are looked up at every use;
    ``advice``: what to do instead of any other name;
    ``replaced``: a function that is told of a name that a program sets; such a module has all its names from the start;
    ``modules``: other stand-ins, by the names under which the module holds them.
    """

    sources: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    live: frozenset[str] = frozenset()
    advice: str = ""
    replaced: str = ""
    modules: Mapping[str, str] = field(default_factory=dict)


_HERE = "tri.compat.triton"
#: where plugins add to the language
EXTRA = "triton.language.extra"
GLUON = "triton.experimental.gluon"
_LANGUAGE = "tri.language"
_INTERNAL = "tri has its own compiler: compile through triton.compile, or tri.compile"
_NO_LIBRARY = f"there is no libtriton behind this module; {_INTERNAL}"
_NO_PROFILER = "tri has no sessions of a profiler: run the program with tri profile, or use tri.testing.do_bench for timing"
_NO_CHECKERS = "tri.interpret() checks memory and races, debug=True what a launch reads and writes"
_TESTS = "Triton's own tests use it; tri.testing and tri_conformance have what tests of kernels need"
_TRANSLATOR = "write the kernel in triton.language, or by hand in triton.experimental.gluon"
_GLUON = "tri.experimental.gluon"
_GLUON_PARTS = "this part of Gluon is not there yet: docs/design/gluon.md has what is"

_ERRORS = {
    "TritonError": "tri_core.errors:TriError",
    "CompilationError": "tri_core.errors:CompilationError",
    "CompileTimeAssertionFailure": "tri_core.errors:CompileTimeAssertionFailure",
    "UnsupportedLanguageConstruct": "tri_core.errors:CompilationError",
    "OutOfResources": "tri_core.errors:OutOfResources",
    "PTXASError": "tri_core.errors:ToolchainError",
    "AutotunerError": "tri_core.errors:AutotuneError",
    "InterpreterError": f"{_HERE}.errors:InterpreterError",
}
_JIT = {
    "JITFunction": "tri.jit:JITFunction",
    "JITCallable": "tri.callables:JITCallable",
    "KernelParam": "tri.jit:KernelParameter",
    "KernelInterface": f"{_HERE}.kernels:KernelInterface",
    "ConstexprFunction": f"{_HERE}.kernels:ConstexprFunction",
    "MockTensor": f"{_HERE}.kernels:MockTensor",
    "TensorWrapper": "tri.launch.arrays:TensorWrapper",
    "constexpr_function": "tri.language.builtin:constexpr_function",
    "jit": "tri.jit:jit",
    "reinterpret": "tri.launch.arrays:reinterpret",
    "mangle_type": f"{_HERE}.kernels:mangle_type",
    "native_specialize_impl": f"{_HERE}.kernels:native_specialize_impl",
    "get_full_name": f"{_HERE}.kernels:get_full_name",
    "find_paths_if": f"{_HERE}.utils:find_paths_if",
    "get_iterable_path": f"{_HERE}.utils:get_iterable_path",
}
_UTILS = {
    n: f"{_HERE}.dtypes:{n}"
    for n in (
        "BITWIDTH_DICT",
        "canonicalize_dtype",
        "canonicalize_ptr_dtype",
        "get_primitive_bitwidth",
        "type_canonicalisation_dict",
    )
}
_DRIVER = {
    "driver": f"{_HERE}.driver:CONFIG",
    "DriverConfig": f"{_HERE}.driver:DriverConfig",
    "DriverBase": f"{_HERE}.driver:ActiveDriver",
    "backends": f"{_HERE}.backends:BACKENDS",
    "active": f"{_HERE}.driver:ACTIVE",
    "default": f"{_HERE}.driver:ACTIVE",
    "set_active": f"{_HERE}.driver:set_active",
    "reset_active": f"{_HERE}.driver:reset_active",
}
_COMPILER = {
    **{n: _ERRORS[n] for n in ("CompilationError",)},
    "ASTSource": f"{_HERE}.sources:ASTSource",
    "IRSource": "tri_core.compiler:IRSource",
    "CompiledKernel": "tri_core.compiler:CompiledKernel",
    "LazyDict": "tri_core.compiler:Artifacts",
    "compile": f"{_HERE}.targets:compile",
    "make_backend": f"{_HERE}.backends:make_backend",
    "max_shared_mem": f"{_HERE}.driver:max_shared_mem",
    "get_cache_key": f"{_HERE}.cache:get_cache_key",
    "triton_key": f"{_HERE}.cache:triton_key",
}
_TARGETS = {
    "GPUTarget": f"{_HERE}.targets:GPUTarget",
    "BaseBackend": f"{_HERE}.backends:BaseBackend",
    "Language": f"{_HERE}.targets:Language",
}
_TENSOR_DESCRIPTOR = "tri.tools.tensor_descriptor:TensorDescriptor"
_DESCRIPTOR_TYPE = "tri.language.types:tensor_descriptor_type"
_TYPES = {n: f"tri.language.constexpr:{n}" for n in ("constexpr_type", "tuple_type")}
_SHAPES = {n: f"{_HERE}.utils:{n}" for n in ("validate_block_shape", "warn_once")}
#: Triton's names of the functions that reductions combine elements by
_COMBINES = {
    "_argmax_combine_tie_break_fast": "tri.language.standard:argmax_fast",
    "_argmax_combine_tie_break_left": "tri.language.standard:argmax_left",
    "_argmin_combine_tie_break_fast": "tri.language.standard:argmin_fast",
    "_argmin_combine_tie_break_left": "tri.language.standard:argmin_left",
    "_elementwise_max": "tri.language.standard:max_combine",
    "_elementwise_min": "tri.language.standard:min_combine",
    "_or_combine": "tri.language.standard:or_combine",
    "_pick_sum_dtype": "tri.language.standard:sum_dtype",
    "_prod_combine": "tri.language.standard:product_combine",
    "_sum_combine": "tri.language.standard:sum_combine",
    "_xor_combine": "tri.language.standard:xor_combine",
}
_REMOTE = {
    n: f"{_HERE}.remote:{n}" for n in ("RedisRemoteCacheBackend", "RemoteCacheBackend", "RemoteCacheManager")
}
#: modules that Triton's modules hold under names of their own
_KNOBS = {"knobs": "triton.knobs"}
_CORE = {"core": "triton.language.core"}
_MATH = {"math": "triton.language.math"}
_TRITON = {"triton": "triton", "tl": "triton.language"}
_MATH_SOURCES = ("tri.language.math", "tri.language.extra.libdevice")
_LIBDEVICE = ("tri.language.extra.libdevice", "tri.language.math")


#: modules of Triton's vendors whose names are all in the vendor's namespace
_OF_VENDORS = ("gdc", "utils")


def vendor(namespace: str) -> dict[str, Module]:
    """``extra.<vendor>`` and the modules in it: what the vendor's backend adds to the language, and the shared libdevice."""
    path, own = f"{EXTRA}.{namespace}", Module((f"tri.language.extra:{namespace}",))
    return {
        path: own,
        **{f"{path}.{name}": own for name in _OF_VENDORS},
        f"{path}.libdevice": Module((f"tri.language.extra:{namespace}.libdevice", *_LIBDEVICE)),
    }


def gluon_part(path: str) -> Module | None:
    """The row of a vendor's part of Gluon, ``language.VENDOR...`` or what the host uses, ``VENDOR...``; None where no plugin has it."""
    from tri_core.plugins import manager

    inside = path.startswith("language.")
    vendor_, _, rest = path.removeprefix("language.").partition(".")
    for extension in manager().languages():
        if extension.namespace == f"gluon.{vendor_}":
            module = ".".join(filter(None, (extension.module, "" if inside else "host", rest)))
            return Module((module,), advice=_GLUON_PARTS) if _exists(module) else None
    return None


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


MODULES: dict[str, Module] = {
    "triton": Module(
        ("tri",),
        {
            **_JIT,
            **{
                n: _ERRORS[n]
                for n in ("TritonError", "CompilationError", "OutOfResources", "InterpreterError")
            },
            "compile": f"{_HERE}.targets:compile",
            "must_use_result": "tri.language:must_use_result",
            "__version__": f"{_HERE}.versions:REPORTED.text",
        },
        live=frozenset({"__version__"}),
    ),
    # --- the language
    "triton.language": Module(
        (_LANGUAGE, f"{_HERE}.core"),
        {"tensor_descriptor_type": _DESCRIPTOR_TYPE, **_TYPES},
    ),
    "triton.language.core": Module(
        (
            _LANGUAGE,
            "tri.language.types",
            "tri.language.constexpr",
            "tri.language.builtin",
            f"{_HERE}.core",
        ),
        {
            **_TYPES,
            **_UTILS,
            **_SHAPES,
            "JITCallable": _JIT["JITCallable"],
            "builtin": "tri.language.builtin:builtin_of_constexprs",
            # the decorator's name up to Triton 3.6
            "_aggregate": f"{_LANGUAGE}.aggregate:aggregate",
        },
        modules=_KNOBS,
    ),
    "triton.language.math": Module(_MATH_SOURCES, modules=_CORE),
    "triton.language.libdevice": Module(_LIBDEVICE),
    "triton.language.random": Module(
        ("tri.language.random",), values={"N_ROUNDS_DEFAULT": 10}, modules={**_MATH, "tl": _CORE["core"]}
    ),
    "triton.language.standard": Module(
        ("tri.language.standard", _LANGUAGE, f"{_HERE}.core"), _COMBINES, modules={**_CORE, **_MATH}
    ),
    "triton.language.target_info": Module((f"{_HERE}.target_info",)),
    "triton.language.semantic": Module(
        ("tri.language.semantic",), advice=_INTERNAL, modules={"tl": _CORE["core"]}
    ),
    "triton.language.extra": Module(("tri.language.extra",)),
    "triton.language.extra.libdevice": Module(_LIBDEVICE),
    **vendor("cuda"),
    **vendor("hip"),
    # Triton's backend for processors, which is not in its wheel, has its libdevice here
    f"{EXTRA}.cpu": Module(),
    f"{EXTRA}.cpu.libdevice": Module(_LIBDEVICE),
    # --- the runtime
    "triton.runtime": Module(
        ("tri",),
        {**_JIT, **_ERRORS, **_REMOTE, **{n: _DRIVER[n] for n in ("driver",)}},
    ),
    "triton.runtime.jit": Module(
        ("tri", "tri.jit"),
        {
            **_JIT,
            **_UTILS,
            "BaseBackend": _TARGETS["BaseBackend"],
            "JitFunctionInfo": "tri.launch.hooks:JitFunctionInfo",
            "driver": _DRIVER["driver"],
            "get_cache_key": _COMPILER["get_cache_key"],
            "is_namedtuple": f"{_HERE}.utils:is_namedtuple",
        },
        advice=_INTERNAL,
        modules={**_KNOBS, "_async_compile": "triton.runtime._async_compile"},
    ),
    "triton.runtime.autotuner": Module(
        ("tri", f"{_HERE}.cache"),
        {**_ERRORS, "KernelInterface": _JIT["KernelInterface"], "driver": _DRIVER["driver"]},
        modules=_KNOBS,
    ),
    "triton.runtime.driver": Module((), _DRIVER),
    "triton.runtime.cache": Module(
        (f"{_HERE}.cache",),
        _REMOTE,
        modules=_KNOBS,
    ),
    "triton.runtime.errors": Module((), _ERRORS),
    "triton.runtime._allocation": Module((f"{_HERE}.allocation",)),
    "triton.runtime._async_compile": Module(("tri.launch.asynchronous",)),
    "triton.runtime.interpreter": Module(
        (),
        {
            "InterpretedFunction": f"{_HERE}.kernels:InterpretedFunction",
            "InterpreterError": _ERRORS["InterpreterError"],
            "KernelInterface": _JIT["KernelInterface"],
            "TensorDescriptor": _TENSOR_DESCRIPTOR,
        },
        advice="tri's interpreter is its own: TRI_INTERPRET=1, or tri.interpret()",
        modules=_TRITON,
    ),
    "triton.runtime.build": Module(advice="tri needs no C compiler, and calls none", modules=_KNOBS),
    # --- the compiler
    "triton.compiler": Module((f"{_HERE}.targets", f"{_HERE}.backends"), {**_COMPILER}),
    "triton.compiler.compiler": Module(
        (f"{_HERE}.targets", f"{_HERE}.backends", f"{_HERE}.cache"),
        {
            **_COMPILER,
            **_TARGETS,
            "OutOfResources": _ERRORS["OutOfResources"],
            "driver": _DRIVER["driver"],
        },
        advice=_INTERNAL,
        modules=_KNOBS,
    ),
    "triton.compiler.errors": Module((), _ERRORS),
    "triton.compiler.code_generator": Module(
        (),
        {
            **_ERRORS,
            **_JIT,
            **{n: f"{_HERE}.core:{n}" for n in ("base_type", "base_value")},
            **{n: f"{_LANGUAGE}:{n}" for n in ("constexpr", "tensor")},
        },
        advice=_INTERNAL,
        modules={**_KNOBS, "language": "triton.language"},
    ),
    "triton.backends": Module(
        (), {**_TARGETS, "backends": f"{_HERE}.backends:BACKENDS", "Backend": f"{_HERE}.backends:Backend"}
    ),
    "triton.backends.compiler": Module((), _TARGETS),
    "triton.backends.driver": Module(
        (),
        {"DriverBase": f"{_HERE}.driver:ActiveDriver", "GPUDriver": f"{_HERE}.driver:ActiveDriver"},
        advice=_INTERNAL,
    ),
    **{
        f"triton.backends.{name}{part}": Module(advice=_INTERNAL)
        for name in ("nvidia", "amd")
        for part in ("", ".driver", ".compiler")
    },
    # --- the rest
    "triton.testing": Module(
        ("tri.testing",),
        {
            "_quantile": "tri.testing.bench:quantiles_of",
            "_summarize_statistics": "tri.testing.bench:summarize",
        },
        modules={"runtime": "triton.runtime", "tl": "triton.language"},
    ),
    "triton.experimental": Module(),
    "triton.experimental.gluon": Module((_GLUON,), advice=_GLUON_PARTS),
    "triton.experimental.gluon.language": Module((f"{_GLUON}.language",), advice=_GLUON_PARTS),
    "triton.experimental.gluon.language.extra": Module(("tri.language.extra",)),
    "triton.experimental.gluon.language.extra.libdevice": Module(_LIBDEVICE),
    "triton.tools": Module(),
    "triton.tools.tensor_descriptor": Module(("tri", "tri.tools.tensor_descriptor")),
    "triton.knobs": Module(
        (f"{_HERE}.knobs",),
        refused={"FP_FUSION_DEFAULT_WARNING": "tri fuses by default, and says so in its docs only"},
        replaced=f"{_HERE}.knobs:replaced",
    ),
    "triton.tools.ragged_tma": Module(
        (f"{_HERE}.ragged",), {"TensorDescriptor": _TENSOR_DESCRIPTOR}, modules=_TRITON
    ),
    "triton.tools.mxfp": Module((f"{_HERE}.mxfp",)),
    "triton._utils": Module((f"{_HERE}.utils", f"{_HERE}.dtypes")),
    "triton.errors": Module((), {"TritonError": _ERRORS["TritonError"]}),
    "triton.profiler": Module((f"{_HERE}.profiler",), advice=_NO_PROFILER),
    **{
        f"triton.profiler.{name}": Module(advice=_NO_PROFILER)
        for name in (
            "context",
            "data",
            "flags",
            "hooks",
            "language",
            "metric",
            "mode",
            "proton",
            "specs",
            "state",
            "viewer",
        )
    },
    "triton._C": Module(advice=_NO_LIBRARY),
    "triton._C.libtriton": Module(advice=_NO_LIBRARY),
    "triton._C.libtriton.ir": Module((f"{_HERE}.walking",), advice=_INTERNAL),
}

#: modules that are absent on purpose, with what to do
GONE: dict[str, str] = {
    "triton.ops": "Triton dropped it in 3.0; use the kernels of a package such as liger-kernel",
    "triton.ops.blocksparse": "Triton dropped it in 3.0",
    "triton.ops.flash_attention": "Triton dropped it in 3.0; take the attention of Triton's tutorials",
    "triton.ops.matmul_perf_model": "Triton dropped it in 3.0; give autotune an early_config_prune of your own",
    "triton.common": "Triton dropped it in 3.0",
    "triton.common.backend": "Triton dropped it in 3.0; targets are in triton.backends.compiler",
    "triton.common.build": "Triton dropped it in 3.0; tri needs no C compiler",
    "triton.tools.experimental_descriptor": "Triton dropped it; use triton.tools.tensor_descriptor",
    "triton.compiler.make_launcher": "Triton dropped it; kernels are launched through kernel[grid](...)",
    "triton.tools.disasm": "kernel.asm has what the vendor's tools disassemble",
    "triton.tools.compile": "use tri compile --aot",
    "triton.tools.link": "use tri link",
    "triton.profiler.profile": _NO_PROFILER,
    "triton.profiler.scope": "its classes and functions are in triton.profiler",
    "triton.tools.build_extern": "functions of libdevice are in triton.language.extra.libdevice",
    "triton.tools.triton_to_gluon_translator": _TRANSLATOR,
    **dict.fromkeys(("triton._internal_testing", "triton._filecheck", "triton._test_runner"), _TESTS),
    **dict.fromkeys(
        ("triton._compile_warmup", "triton._compile_warmup_pool", "triton._compile_warmup_state"),
        "compile on several threads with triton.runtime._async_compile",
    ),
    "triton._instrumentation": _NO_CHECKERS,
    "triton.instrumentation": _NO_CHECKERS,
    "triton.tools.gsan": _NO_CHECKERS,
}
