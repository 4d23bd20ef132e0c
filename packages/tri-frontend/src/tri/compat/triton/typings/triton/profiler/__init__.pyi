# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from triton.profiler import context as context
from triton.profiler import data as data
from triton.profiler import flags as flags
from triton.profiler import hooks as hooks
from triton.profiler import language as language
from triton.profiler import metric as metric
from triton.profiler import mode as mode
from triton.profiler import proton as proton
from triton.profiler import specs as specs
from triton.profiler import state as state
from triton.profiler import viewer as viewer

from tri.compat.triton.profiler import cpu_timed_scope as cpu_timed_scope
from tri.compat.triton.profiler import enter_scope as enter_scope
from tri.compat.triton.profiler import exit_scope as exit_scope
from tri.compat.triton.profiler import scope as scope

def __getattr__(name: str) -> _Any: ...
