# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from triton import errors as errors
from triton import knobs as knobs
from triton import language as language
from triton import runtime as runtime
from triton import testing as testing

from tri import ASTSource as ASTSource
from tri import AsyncCompileMode as AsyncCompileMode
from tri import Autotuner as Autotuner
from tri import Config as Config
from tri import FutureKernel as FutureKernel
from tri import Heuristics as Heuristics
from tri import aggregate as aggregate
from tri import autotune as autotune
from tri import cdiv as cdiv
from tri import explain as explain
from tri import heuristics as heuristics
from tri import interpret as interpret
from tri import next_power_of_2 as next_power_of_2
from tri import no_compile as no_compile
from tri import serve as serve
from tri import serving as serving
from tri import set_allocator as set_allocator
from tri import simulation as simulation
from tri import target as target
from tri.callables import JITCallable as JITCallable
from tri.compat.triton.errors import InterpreterError as InterpreterError
from tri.compat.triton.kernels import ConstexprFunction as ConstexprFunction
from tri.compat.triton.kernels import KernelInterface as KernelInterface
from tri.compat.triton.kernels import MockTensor as MockTensor
from tri.compat.triton.kernels import get_full_name as get_full_name
from tri.compat.triton.kernels import mangle_type as mangle_type
from tri.compat.triton.kernels import native_specialize_impl as native_specialize_impl
from tri.compat.triton.targets import compile as compile
from tri.compat.triton.utils import find_paths_if as find_paths_if
from tri.compat.triton.utils import get_iterable_path as get_iterable_path
from tri.jit import JITFunction as JITFunction
from tri.jit import jit as jit
from tri.language import must_use_result as must_use_result
from tri.language.builtin import constexpr_function as constexpr_function
from tri.launch.arrays import TensorWrapper as TensorWrapper
from tri.launch.arrays import reinterpret as reinterpret
from tri_core.errors import CompilationError as CompilationError
from tri_core.errors import OutOfResources as OutOfResources

__version__: _Any
from triton import _C as _C
from triton import _utils as _utils
from triton import backends as backends
from triton import compiler as compiler
from triton import experimental as experimental
from triton import profiler as profiler
from triton import tools as tools
