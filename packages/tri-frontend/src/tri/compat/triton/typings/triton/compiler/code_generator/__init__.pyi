# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from triton import knobs as knobs
from triton import language as language

from tri.callables import JITCallable as JITCallable
from tri.compat.triton.core import base_type as base_type
from tri.compat.triton.core import base_value as base_value
from tri.compat.triton.errors import InterpreterError as InterpreterError
from tri.compat.triton.kernels import ConstexprFunction as ConstexprFunction
from tri.compat.triton.kernels import KernelInterface as KernelInterface
from tri.compat.triton.kernels import MockTensor as MockTensor
from tri.compat.triton.kernels import get_full_name as get_full_name
from tri.compat.triton.kernels import mangle_type as mangle_type
from tri.compat.triton.kernels import native_specialize_impl as native_specialize_impl
from tri.compat.triton.utils import find_paths_if as find_paths_if
from tri.compat.triton.utils import get_iterable_path as get_iterable_path
from tri.jit import JITFunction as JITFunction
from tri.jit import jit as jit
from tri.language import constexpr as constexpr
from tri.language import tensor as tensor
from tri.language.builtin import constexpr_function as constexpr_function
from tri.launch.arrays import TensorWrapper as TensorWrapper
from tri.launch.arrays import reinterpret as reinterpret
from tri_core.errors import CompilationError as CompilationError
from tri_core.errors import CompileTimeAssertionFailure as CompileTimeAssertionFailure
from tri_core.errors import OutOfResources as OutOfResources

def __getattr__(name: str) -> _Any: ...
