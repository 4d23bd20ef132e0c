# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from tri.compat.triton.mxfp import MXFP4Tensor as MXFP4Tensor
from tri.compat.triton.mxfp import MXScaleTensor as MXScaleTensor
from tri.compat.triton.mxfp import fp8e8m0_to_float32 as fp8e8m0_to_float32

def __getattr__(name: str) -> _Any: ...
