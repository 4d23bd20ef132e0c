# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from triton.compiler import code_generator as code_generator
from triton.compiler import compiler as compiler
from triton.compiler import errors as errors

from tri.compat.triton.backends import BACKENDS as BACKENDS
from tri.compat.triton.backends import Backend as Backend
from tri.compat.triton.backends import BaseBackend as BaseBackend
from tri.compat.triton.backends import make_backend as make_backend
from tri.compat.triton.cache import get_cache_key as get_cache_key
from tri.compat.triton.cache import triton_key as triton_key
from tri.compat.triton.driver import max_shared_mem as max_shared_mem
from tri.compat.triton.sources import ASTSource as ASTSource
from tri.compat.triton.targets import GPUTarget as GPUTarget
from tri.compat.triton.targets import Language as Language
from tri.compat.triton.targets import compile as compile
from tri.compat.triton.targets import gpu_target as gpu_target
from tri.compat.triton.targets import torch_kind as torch_kind
from tri.compat.triton.targets import tri_target as tri_target
from tri_core.compiler import CompiledKernel as CompiledKernel
from tri_core.compiler import IRSource as IRSource
from tri_core.errors import CompilationError as CompilationError

def __getattr__(name: str) -> _Any: ...
