# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from tri.launch.asynchronous import AsyncCompileMode as AsyncCompileMode
from tri.launch.asynchronous import FutureKernel as FutureKernel
from tri.launch.asynchronous import active_mode as active_mode

def __getattr__(name: str) -> _Any: ...
