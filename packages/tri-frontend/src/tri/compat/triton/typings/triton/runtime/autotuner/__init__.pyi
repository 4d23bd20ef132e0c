# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from triton import knobs as knobs

from tri import ASTSource as ASTSource
from tri import AsyncCompileMode as AsyncCompileMode
from tri import Autotuner as Autotuner
from tri import Config as Config
from tri import FutureKernel as FutureKernel
from tri import Heuristics as Heuristics
from tri import JITFunction as JITFunction
from tri import MockTensor as MockTensor
from tri import TensorWrapper as TensorWrapper
from tri import aggregate as aggregate
from tri import autotune as autotune
from tri import cdiv as cdiv
from tri import compile as compile
from tri import constexpr_function as constexpr_function
from tri import errors as errors
from tri import explain as explain
from tri import heuristics as heuristics
from tri import interpret as interpret
from tri import jit as jit
from tri import language as language
from tri import must_use_result as must_use_result
from tri import next_power_of_2 as next_power_of_2
from tri import no_compile as no_compile
from tri import reinterpret as reinterpret
from tri import runtime as runtime
from tri import set_allocator as set_allocator
from tri import simulation as simulation
from tri import target as target
from tri import testing as testing
from tri.compat.triton.cache import CacheManager as CacheManager
from tri.compat.triton.cache import FileCacheManager as FileCacheManager
from tri.compat.triton.cache import _base32 as _base32
from tri.compat.triton.cache import get_cache_key as get_cache_key
from tri.compat.triton.cache import get_cache_manager as get_cache_manager
from tri.compat.triton.cache import get_dump_manager as get_dump_manager
from tri.compat.triton.cache import get_override_manager as get_override_manager
from tri.compat.triton.cache import triton_key as triton_key
from tri.compat.triton.errors import InterpreterError as InterpreterError
from tri.compat.triton.kernels import KernelInterface as KernelInterface
from tri_core.errors import CompilationError as CompilationError
from tri_core.errors import OutOfResources as OutOfResources

def __getattr__(name: str) -> _Any: ...
