# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from triton.backends import amd as amd
from triton.backends import compiler as compiler
from triton.backends import driver as driver
from triton.backends import nvidia as nvidia

from tri.compat.triton.backends import Backend as Backend
from tri.compat.triton.backends import BaseBackend as BaseBackend
from tri.compat.triton.targets import GPUTarget as GPUTarget
from tri.compat.triton.targets import Language as Language

def __getattr__(name: str) -> _Any: ...
