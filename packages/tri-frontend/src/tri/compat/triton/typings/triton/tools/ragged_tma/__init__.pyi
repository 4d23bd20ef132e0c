# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

import triton as triton

from tri.compat.triton.ragged import atomic_add_ragged as atomic_add_ragged
from tri.compat.triton.ragged import create_ragged_descriptor as create_ragged_descriptor
from tri.compat.triton.ragged import load_ragged as load_ragged
from tri.compat.triton.ragged import store_ragged as store_ragged
from tri.compat.triton.ragged import to_ragged_indices as to_ragged_indices
from tri.tools.tensor_descriptor import TensorDescriptor as TensorDescriptor

def __getattr__(name: str) -> _Any: ...
