# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from tri.compat.triton.allocation import Allocator as Allocator
from tri.compat.triton.allocation import Buffer as Buffer
from tri.compat.triton.allocation import NullAllocator as NullAllocator
from tri.compat.triton.allocation import _allocator as _allocator
from tri.compat.triton.allocation import has_profile_allocator as has_profile_allocator
from tri.compat.triton.allocation import set_allocator as set_allocator
from tri.compat.triton.allocation import set_profile_allocator as set_profile_allocator

def __getattr__(name: str) -> _Any: ...
