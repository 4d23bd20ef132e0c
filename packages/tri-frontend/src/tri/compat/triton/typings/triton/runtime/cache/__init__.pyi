# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from triton import knobs as knobs

from tri.compat.triton.cache import CacheManager as CacheManager
from tri.compat.triton.cache import FileCacheManager as FileCacheManager
from tri.compat.triton.cache import _base32 as _base32
from tri.compat.triton.cache import get_cache_key as get_cache_key
from tri.compat.triton.cache import get_cache_manager as get_cache_manager
from tri.compat.triton.cache import get_dump_manager as get_dump_manager
from tri.compat.triton.cache import get_override_manager as get_override_manager
from tri.compat.triton.cache import triton_key as triton_key
from tri.compat.triton.remote import RedisRemoteCacheBackend as RedisRemoteCacheBackend
from tri.compat.triton.remote import RemoteCacheBackend as RemoteCacheBackend
from tri.compat.triton.remote import RemoteCacheManager as RemoteCacheManager

def __getattr__(name: str) -> _Any: ...
