"""A made-up target's block copies, for tests: whole blocks, row after row or swizzled by eight rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.encodings import SharedEncoding, SwizzledShared
from tri_gpu_dialect.policies.gpu import AsyncPolicy, DefaultPolicy

if TYPE_CHECKING:
    from tri_core.dialects.tt import TensorDescType
    from tri_core.mlir import ir

__all__ = ["BLOCK_COPY_POLICY", "ReferenceBlockCopies"]


@dataclass(frozen=True)
class ReferenceBlockCopies:
    """See :class:`tri_gpu_dialect.policies.async_units.BlockCopies`."""

    def refuses(self, maker: ir.Operation) -> str | None:
        """Blocks of more than two dimensions."""
        rank = len(maker.results[0].type.block_type.shape)
        return f"a block of {rank} dimensions" if rank > 2 else None

    def encoding(self, descriptor: TensorDescType) -> SharedEncoding:
        """Row after row."""
        return SwizzledShared(1, 1, 1, tuple(reversed(range(len(descriptor.block_type.shape)))))

    def suits(self, descriptor: TensorDescType, encoding: SharedEncoding) -> bool:
        """True if the buffer's rows are in the descriptor's order."""
        order = tuple(reversed(range(len(descriptor.block_type.shape))))
        return isinstance(encoding, SwizzledShared) and encoding.order == order

    def alignment(self, descriptor: TensorDescType, encoding: SharedEncoding) -> int:
        """A line of memory."""
        return 128


#: what the optimizer knows of it
BLOCK_COPY_POLICY = DefaultPolicy(async_units=AsyncPolicy(block_copies=ReferenceBlockCopies()))
