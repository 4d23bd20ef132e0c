"""Triton's ``runtime`` by its public names: what launches and tunes kernels, the driver in use, the errors.

What a target's runtime is made of is in the package ``tri_runtime``.
"""

from __future__ import annotations

from tri.compat.triton.driver import CONFIG as driver
from tri.compat.triton.errors import InterpreterError
from tri.compat.triton.kernels import KernelInterface, MockTensor
from tri.jit import JITFunction
from tri.language.builtin import constexpr_function
from tri.launch.arrays import TensorWrapper, reinterpret
from tri.tuning import Autotuner, Config, Heuristics, autotune, heuristics
from tri_core.errors import OutOfResources

__all__ = [
    "Autotuner",
    "Config",
    "Heuristics",
    "InterpreterError",
    "JITFunction",
    "KernelInterface",
    "MockTensor",
    "OutOfResources",
    "TensorWrapper",
    "autotune",
    "constexpr_function",
    "driver",
    "heuristics",
    "reinterpret",
]
