"""Choices of a backend for hardware with asynchronous units: the family of
:mod:`tri_gpu_dialect.async_units`.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from tri_core.dialects.tt import TensorDescType
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.encodings import SharedEncoding
from tri_gpu_dialect.typed import TypedFields

__all__ = ["AsyncPolicy", "BlockCopies", "Specialization", "asks_to_specialize"]

#: the attribute of loops of ``tl.range(warp_specialize=)``: a unit, or false
_WARP_SPECIALIZE = "tt.warp_specialize"


@runtime_checkable
class BlockCopies(Protocol):
    """Capabilities of a target's copies between tensor descriptors and shared memory."""

    def refuses(self, maker: ir.Operation) -> str | None:
        """Reason that copies do not support a use of the descriptor of a ``tt.make_tensor_descriptor``; None
        if they do.
        """
        ...

    def encoding(self, descriptor: TensorDescType) -> SharedEncoding:
        """Default encoding of a block of ``descriptor`` in a buffer whose users require none."""
        ...

    def suits(self, descriptor: TensorDescType, encoding: SharedEncoding) -> bool:
        """True if a block can be copied to and from a buffer of ``encoding``."""
        ...

    def alignment(self, descriptor: TensorDescType, encoding: SharedEncoding) -> int:
        """Bytes that the address of such a buffer must be a multiple of."""
        ...


@dataclass(frozen=True)
class Specialization(TypedFields):
    """Warp specialisation: a kernel as a partition of producer warps and one of consumer warps.

    ``warps`` run the producer, of ``reserved`` that are started for it; ``registers`` of a thread: of consumers and of
    the producer (None: as many as all have); ``stages`` of a ring of buffers (0: as the options say).
    """

    warps: int = 1
    reserved: int = 1
    registers: tuple[int, int] | None = None
    stages: int = 0


@dataclass(frozen=True)
class AsyncPolicy(TypedFields):
    """Asynchronous block copies, producer and consumer warps, persistence, and the order of asynchronous dots.

    ``block_copies``: copies of whole blocks of tensor descriptors to and from shared memory; None: none.
    ``producer``: how kernels are cut into a producer of blocks and consumers (None: they are not), if ``specialize``;
    where that is None, those with a loop of ``tl.range(warp_specialize=True)``.  What a loop says wins.
    ``pipeline_chained_dots``: dots that read another's result start an iteration late (None: those of consumers beside a producer),
    where ``registers`` of a thread suffice (None: any number does; a producer's region may say otherwise), of which
    ``address_registers`` go to addresses, counts and what a dot needs beside its accumulators.
    ``ping_pong``: groups of consumer warps alternate at the matrix unit in loops that compute much between dots (None: yes).
    ``persistent``: whether a CTA takes one tile after the other; None leaves the choice to the policy, and this one says no.
    ``cache_bytes``: what tiles of a persistent kernel that are computed at the same time should read at most, where the order is free
    (None: any).
    ``dynamic_scheduler``: a producer gets the next of tiles of different cost from a counter of the launch.
    """

    block_copies: BlockCopies | None = None
    producer: Specialization | None = None
    specialize: bool | None = None
    pipeline_chained_dots: bool | None = None
    ping_pong: bool | None = None
    registers: int | None = None
    address_registers: int = 0
    persistent: bool | None = None
    cache_bytes: int | None = None
    dynamic_scheduler: bool = False

    def specialization(self, function: ir.Operation) -> Specialization | None:
        """As the loops of ``function`` say, else the same for every kernel."""
        if self.producer is None:
            return None
        said = asks_to_specialize(function)
        return self.producer if (self.specialize if said is None else said) else None


def asks_to_specialize(function: ir.Operation) -> bool | None:
    """Request of the loops of ``function`` for warp specialisation; None if there is none.  One that asks for
    it decides.
    """
    words = [op.attributes[_WARP_SPECIALIZE] for op in all_ops(function) if _WARP_SPECIALIZE in op.attributes]
    return any(str(word) != "false" for word in words) if words else None
