# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from triton.language.extra.cuda import gdc as gdc
from triton.language.extra.cuda import libdevice as libdevice
from triton.language.extra.cuda import utils as utils

def __getattr__(name: str) -> _Any: ...
