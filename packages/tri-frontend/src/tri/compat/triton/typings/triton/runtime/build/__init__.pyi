# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from triton import knobs as knobs

def __getattr__(name: str) -> _Any: ...
