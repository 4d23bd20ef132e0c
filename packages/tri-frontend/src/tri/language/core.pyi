# Made by `python -m integration.stubs` from the language's own functions: do not edit.
from typing import Any as _Any

from tri.language import *

def __getattr__(name: str) -> _Any: ...
