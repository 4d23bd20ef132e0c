# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from tri.compat.triton.backends import BaseBackend as BaseBackend
from tri.compat.triton.targets import GPUTarget as GPUTarget
from tri.compat.triton.targets import Language as Language

def __getattr__(name: str) -> _Any: ...
