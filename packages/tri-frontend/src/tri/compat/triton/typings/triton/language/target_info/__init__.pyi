# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from tri.compat.triton.target_info import current_target as current_target

def __getattr__(name: str) -> _Any: ...
