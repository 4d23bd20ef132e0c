"""The encodings of the ``ttg`` dialect: attributes of tensor types that say where elements live."""

from __future__ import annotations

from tri_gpu_dialect.encodings.distributed import Blocked, DotOperand, DotScale, Linear, Slice
from tri_gpu_dialect.encodings.matrix import MatrixEncoding
from tri_gpu_dialect.encodings.shared import PaddedShared, SharedLinear, SwizzledShared
from tri_gpu_dialect.layouts.encoding import (
    DistributedEncoding,
    Encoding,
    SharedEncoding,
    decode,
    encoding,
    registered,
)

__all__ = [
    "Blocked",
    "DistributedEncoding",
    "DotOperand",
    "DotScale",
    "Encoding",
    "Linear",
    "MatrixEncoding",
    "PaddedShared",
    "SharedEncoding",
    "SharedLinear",
    "Slice",
    "SwizzledShared",
    "decode",
    "encoding",
    "registered",
]
