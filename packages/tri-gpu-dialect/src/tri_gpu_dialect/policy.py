"""The default :class:`tri_core.api.Policy`: costs and choices for targets that say nothing better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.layouts import LANE, WARP, layout_for
from tri_gpu_dialect.matrix import MatrixInstruction, choose

if TYPE_CHECKING:
    from tri_core.dialects.tt import TensorDescType
    from tri_core.mlir import ir
    from tri_gpu_dialect.encodings import Encoding, SharedEncoding

__all__ = ["DEFAULT_POLICY", "BulkCopies", "DefaultPolicy", "Specialization", "asks_to_specialize"]

#: the attribute of loops of ``tl.range(warp_specialize=)``: a unit, or false
_WORD = "tt.warp_specialize"

#: rough cycles until a result is there; ops that are not listed count as arithmetic
_LATENCY = {
    "tt.load": 500,
    "tt.atomic_rmw": 700,
    "tt.atomic_cas": 700,
    "tt.descriptor_load": 600,
    "ttg.async_copy_global_to_local": 500,
    "ttg.local_load": 30,
    "ttg.convert_layout": 60,
    "tt.reduce": 80,
    "tt.scan": 120,
    "tt.dot": 60,
}


class BulkCopies(Protocol):
    """What a target's copies between tensor descriptors and shared memory can do."""

    def refuses(self, maker: ir.Operation) -> str | None:
        """Why they cannot do what the descriptor of a ``tt.make_tensor_descriptor`` is used for; None: they can."""
        ...

    def encoding(self, descriptor: TensorDescType) -> SharedEncoding:
        """How a block of ``descriptor`` should lie in a buffer where nobody wants anything of it."""
        ...

    def suits(self, descriptor: TensorDescType, encoding: SharedEncoding) -> bool:
        """Whether a block can be copied to and from a buffer of ``encoding``."""
        ...

    def alignment(self, descriptor: TensorDescType, encoding: SharedEncoding) -> int:
        """Bytes that the address of such a buffer must be a multiple of."""
        ...


@dataclass(frozen=True)
class Specialization:
    """How a kernel is cut into a producer and consumers.

    ``warps`` run the producer, of ``reserved`` that are started for it; ``registers`` of a thread: of consumers and of
    the producer (None: as many as all have); ``stages``: slots of a ring (0: as the options say).
    """

    warps: int = 1
    reserved: int = 1
    registers: tuple[int, int] | None = None
    stages: int = 0


@dataclass(frozen=True)
class DefaultPolicy:
    """Accesses of up to ``max_vector_bits``, conversions cheaper the nearer data stays.

    ``matrix_instructions``: what the matrix unit does, best first; none: dots are done by multiply-add.
    ``async_copy_bits``: widths of the copies from global to shared memory that run on their own; none: no loop is
    pipelined.  ``prefetch``: operands of matrix instructions are read from their slots a slice ahead.
    ``bulk_copies``: copies of whole blocks of tensor descriptors; None: none.
    ``producer``: how kernels are cut into a producer of blocks and consumers (None: they are not), if ``specialize``;
    where that is None, those with a loop of ``tl.range(warp_specialize=True)``.  What a loop says wins.
    ``delay_dots``: dots that read another's result start an iteration late (None: those of consumers beside a producer), where
    ``registers`` of a thread suffice (None: any number does; a producer's region may say otherwise).
    ``persistent``: whether a CTA takes one program after the other; None leaves the choice to the policy, and this one says no.
    ``cache_bytes``: what programs of a persistent kernel that run at the same time should read at most, where the order is free (None: any).
    ``ping_pong``: groups of consumers take turns at the matrix unit in loops that compute much between dots (None: yes).
    ``split_loops``: loops of products beside a producer are split where a mask begins or ceases to matter (None: yes).
    ``draws_programs``: a producer draws the numbers of programs of different lengths from a counter of the launch.
    """

    max_vector_bits: int = 128
    matrix_instructions: tuple[MatrixInstruction, ...] = ()
    async_copy_bits: tuple[int, ...] = ()
    prefetch: bool = False
    bulk_copies: BulkCopies | None = None
    producer: Specialization | None = None
    specialize: bool | None = None
    delay_dots: bool | None = None
    ping_pong: bool | None = None
    split_loops: bool | None = None
    registers: int | None = None
    persistent: bool | None = None
    cache_bytes: int | None = None
    draws_programs: bool = False

    def vector_bits(self, element_bits: int, space: str) -> int:
        """The widest access in bits, in any memory."""
        return max(self.max_vector_bits, element_bits)

    def convert_cost(self, source: Encoding, destination: Encoding, shape: Sequence[int]) -> float:
        """0 for the same layout, then 1 within threads, 4 within warps, 16 within a block, 64 beyond."""
        a, b = (layout_for(encoding, tuple(shape)) for encoding in (source, destination))
        if a == b:
            return 0.0
        moves = b.invert_and_compose(a)
        for cost, dim in ((64.0, "block"), (16.0, WARP), (4.0, LANE)):
            if moves.has_in(dim) and not _stays(moves, dim):
                return cost
        return 1.0

    def latency(self, op: ir.Operation) -> int:
        """Cycles, from a table by op name."""
        return _LATENCY.get(op.name, 6)

    def mma(self, dot: Any) -> MatrixInstruction | None:
        """The row of the table that computes ``dot``; None: plain FMA."""
        return choose(self.matrix_instructions, dot) if self.matrix_instructions else None

    def specialization(self, function: ir.Operation) -> Specialization | None:
        """As the kernel's loops say, else the same for every kernel."""
        if self.producer is None:
            return None
        said = asks_to_specialize(function)
        return self.producer if (self.specialize if said is None else said) else None


DEFAULT_POLICY = DefaultPolicy()


def asks_to_specialize(function: ir.Operation) -> bool | None:
    """What the loops of ``function`` say about warp specialisation; None: nothing.  One that asks for it decides."""
    words = [op.attributes[_WORD] for op in all_ops(function) if _WORD in op.attributes]
    return any(str(word) != "false" for word in words) if words else None


def _stays(moves: Any, dim: str) -> bool:
    """Whether coordinate ``dim`` of the source is that of the destination, apart from copies."""
    index = moves.out_dims.index(dim)
    for name, bases in moves.bases.items():
        for bit, basis in enumerate(bases):
            if basis[index] != (1 << bit if name == dim else 0) and not (name == dim and basis[index] == 0):
                return False
    return True
