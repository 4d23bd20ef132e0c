# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from triton.backends.nvidia import compiler as compiler
from triton.backends.nvidia import driver as driver

def __getattr__(name: str) -> _Any: ...
