# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from triton.experimental.gluon import language as language

from tri.experimental.gluon import GluonASTSource as GluonASTSource
from tri.experimental.gluon import GluonJITFunction as GluonJITFunction
from tri.experimental.gluon import aggregate as aggregate
from tri.experimental.gluon import constexpr_function as constexpr_function
from tri.experimental.gluon import jit as jit
from tri.experimental.gluon import must_use_result as must_use_result

def __getattr__(name: str) -> _Any: ...
