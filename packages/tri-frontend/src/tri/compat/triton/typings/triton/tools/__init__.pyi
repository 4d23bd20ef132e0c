# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from triton.tools import mxfp as mxfp
from triton.tools import ragged_tma as ragged_tma
from triton.tools import tensor_descriptor as tensor_descriptor

def __getattr__(name: str) -> _Any: ...
