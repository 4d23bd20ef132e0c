# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from triton.language.extra import cpu as cpu
from triton.language.extra import cuda as cuda
from triton.language.extra import hip as hip
from triton.language.extra import libdevice as libdevice

def __getattr__(name: str) -> _Any: ...
