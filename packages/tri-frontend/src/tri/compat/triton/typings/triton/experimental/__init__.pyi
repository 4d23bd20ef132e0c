# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from triton.experimental import gluon as gluon

def __getattr__(name: str) -> _Any: ...
