# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from triton.experimental.gluon.language.extra import libdevice as libdevice

def __getattr__(name: str) -> _Any: ...
