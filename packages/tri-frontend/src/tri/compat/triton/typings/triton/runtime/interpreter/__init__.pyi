# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

import triton as triton

from tri.compat.triton.errors import InterpreterError as InterpreterError
from tri.compat.triton.kernels import InterpretedFunction as InterpretedFunction
from tri.compat.triton.kernels import KernelInterface as KernelInterface
from tri.tools.tensor_descriptor import TensorDescriptor as TensorDescriptor

def __getattr__(name: str) -> _Any: ...
