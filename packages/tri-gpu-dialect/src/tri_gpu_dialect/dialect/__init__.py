"""The ``ttg`` dialect: types, attributes and ops; importing it registers the dialect."""

from __future__ import annotations

import tri_gpu_dialect.dialect.markers
import tri_gpu_dialect.encodings  # noqa: F401  its attributes belong to the dialect, as the markers do
from tri_core.mlir import registry
from tri_gpu_dialect.base import TTG, AsyncTokenType, MemDescType, SharedMemoryAttr
from tri_gpu_dialect.dialect.ops import *  # noqa: F403  the table of ops is the public face of the dialect
from tri_gpu_dialect.dialect.ops import __all__ as _ops

__all__ = ["TTG", "AsyncTokenType", "MemDescType", "SharedMemoryAttr", *_ops]

registry.add_dialect(TTG)
