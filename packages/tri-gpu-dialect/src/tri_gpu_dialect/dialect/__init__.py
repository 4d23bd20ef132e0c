"""The ``ttg`` dialect: types, attributes and ops; importing it registers the dialect."""

from __future__ import annotations

import tri_gpu_dialect.dialect.markers
import tri_gpu_dialect.encodings  # noqa: F401  its attributes belong to the dialect, as the markers do
from tri_core.mlir import registry
from tri_gpu_dialect.base import TTG, AsyncTokenType, MemDescType, SharedMemoryAttr
from tri_gpu_dialect.dialect.async_ops import *  # noqa: F403  the tables of ops are the public face of the dialect
from tri_gpu_dialect.dialect.async_ops import OPTIONAL_ATTRIBUTES as _ASYNC_ATTRIBUTES
from tri_gpu_dialect.dialect.async_ops import __all__ as _async_ops
from tri_gpu_dialect.dialect.gluon import Gluon
from tri_gpu_dialect.dialect.ops import *  # noqa: F403
from tri_gpu_dialect.dialect.ops import OPTIONAL_ATTRIBUTES as _ATTRIBUTES
from tri_gpu_dialect.dialect.ops import __all__ as _ops

__all__ = [
    "OPTIONAL_ATTRIBUTES",
    "TTG",
    "AsyncTokenType",
    "Gluon",
    "MemDescType",
    "SharedMemoryAttr",
    *_ops,
    *_async_ops,
]

#: attributes an op may carry without declaring them
OPTIONAL_ATTRIBUTES = {**_ATTRIBUTES, **_ASYNC_ATTRIBUTES}

registry.add_dialect(TTG)
registry.add_dialect(Gluon)
