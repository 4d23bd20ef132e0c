# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from tri.compat.triton.walking import block as block
from tri.compat.triton.walking import context as context
from tri.compat.triton.walking import load_dialects as load_dialects
from tri.compat.triton.walking import module as module
from tri.compat.triton.walking import operation as operation
from tri.compat.triton.walking import recorded as recorded
from tri.compat.triton.walking import region as region
from tri.compat.triton.walking import value as value

def __getattr__(name: str) -> _Any: ...
