# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from tri.compat.triton.utils import find_paths_if as find_paths_if
from tri.compat.triton.utils import get_iterable_path as get_iterable_path
from tri.compat.triton.utils import set_iterable_path as set_iterable_path

def __getattr__(name: str) -> _Any: ...
