# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from tri.compat.triton.driver import DriverConfig as DriverConfig
from tri.compat.triton.driver import reset_active as reset_active
from tri.compat.triton.driver import set_active as set_active

def __getattr__(name: str) -> _Any: ...
