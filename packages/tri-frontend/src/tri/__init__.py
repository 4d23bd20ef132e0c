"""tri: kernels written in Python, compiled for any GPU and for the CPU.

::

    import tri
    import tri.language as tl

    @tri.jit
    def kernel(x_ptr, n, BLOCK: tl.constexpr): ...

    kernel[(tri.cdiv(n, 1024),)](x, n, BLOCK=1024)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tri import launching
from tri.helpers import cdiv, next_power_of_2
from tri.jit import JITFunction, jit
from tri_core import tracebacks

if TYPE_CHECKING:
    from tri import knobs, language, runtime, serving, testing
    from tri.allocation import set_allocator
    from tri.compat.triton.errors import InterpreterError
    from tri.compat.triton.kernels import KernelInterface, MockTensor
    from tri.compilation import compile  # noqa: A004  Triton's name
    from tri.compile_reasons import explain, no_compile
    from tri.compiler.source import ASTSource
    from tri.context import target
    from tri.interpreting import interpret
    from tri.language.aggregate import aggregate
    from tri.language.builtin import constexpr_function
    from tri.language.elementwise import must_use_result
    from tri.launch.arrays import TensorWrapper, reinterpret
    from tri.launch.asynchronous import AsyncCompileMode, FutureKernel
    from tri.serving.policy import serve
    from tri.tuning import Autotuner, Config, Heuristics, autotune, heuristics
    from tri_core import errors
    from tri_core.errors import CompilationError, OutOfResources
    from tri_core.errors import TriError as TritonError
    from tri_runtime.simulator.report import simulation

__all__ = [
    "ASTSource",
    "AsyncCompileMode",
    "Autotuner",
    "CompilationError",
    "Config",
    "FutureKernel",
    "Heuristics",
    "InterpreterError",
    "JITFunction",
    "KernelInterface",
    "MockTensor",
    "OutOfResources",
    "TensorWrapper",
    "TritonError",
    "aggregate",
    "autotune",
    "cdiv",
    "compile",
    "constexpr_function",
    "errors",
    "explain",
    "heuristics",
    "interpret",
    "jit",
    "knobs",
    "language",
    "must_use_result",
    "next_power_of_2",
    "no_compile",
    "reinterpret",
    "runtime",
    "serve",
    "serving",
    "set_allocator",
    "simulation",
    "target",
    "testing",
]

launching.install()
tracebacks.install()

#: names that cost an import, loaded when asked for: name -> module (and the attribute there)
_LAZY: dict[str, tuple[str, str | None]] = {
    "CompilationError": ("tri_core.errors", "CompilationError"),
    "InterpreterError": ("tri.compat.triton.errors", "InterpreterError"),
    "KernelInterface": ("tri.compat.triton.kernels", "KernelInterface"),
    "MockTensor": ("tri.compat.triton.kernels", "MockTensor"),
    "OutOfResources": ("tri_core.errors", "OutOfResources"),
    "TritonError": ("tri_core.errors", "TriError"),
    "must_use_result": ("tri.language.elementwise", "must_use_result"),
    "runtime": ("tri.runtime", None),
    "serve": ("tri.serving.policy", "serve"),
    "serving": ("tri.serving", None),
    "AsyncCompileMode": ("tri.launch.asynchronous", "AsyncCompileMode"),
    "Autotuner": ("tri.tuning", "Autotuner"),
    "Config": ("tri.tuning", "Config"),
    "FutureKernel": ("tri.launch.asynchronous", "FutureKernel"),
    "Heuristics": ("tri.tuning", "Heuristics"),
    "autotune": ("tri.tuning", "autotune"),
    "explain": ("tri.compile_reasons", "explain"),
    "heuristics": ("tri.tuning", "heuristics"),
    "knobs": ("tri.knobs", None),
    "no_compile": ("tri.compile_reasons", "no_compile"),
    "testing": ("tri.testing", None),
    "ASTSource": ("tri.compiler.source", "ASTSource"),
    "aggregate": ("tri.language.aggregate", "aggregate"),
    "compile": ("tri.compilation", "compile"),
    "constexpr_function": ("tri.language.builtin", "constexpr_function"),
    "errors": ("tri_core.errors", None),
    "interpret": ("tri.interpreting", "interpret"),
    "language": ("tri.language", None),
    "simulation": ("tri_runtime.simulator.report", "simulation"),
    "reinterpret": ("tri.launch.arrays", "reinterpret"),
    "TensorWrapper": ("tri.launch.arrays", "TensorWrapper"),
    "set_allocator": ("tri.allocation", "set_allocator"),
    "target": ("tri.context", "target"),
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        globals()[name] = version("tri-frontend")
        return globals()[name]
    if name not in _LAZY:
        raise AttributeError(f"module 'tri' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    loaded = importlib.import_module(module)
    value = loaded if attribute is None else getattr(loaded, attribute)
    globals()[name] = value
    return value
