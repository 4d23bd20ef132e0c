"""The rows of ``tcgen05.mma`` for the optimizer."""

from __future__ import annotations

from tri_backend_nvidia.mma.memory import NvmmaShared
from tri_backend_nvidia.tcgen05.encoding import BLOCK_M, GROUP_WARPS, NARROWEST, WIDEST, TensorMemoryRows
from tri_core.api import Target
from tri_core.dialects.tt.enums import InputPrecision
from tri_gpu_dialect.encodings import SharedEncoding
from tri_gpu_dialect.policies.async_dots import AsyncInstruction, OperandMemory
from tri_gpu_dialect.policies.matrix import MatrixInstruction

__all__ = ["instructions", "operand_memory"]

Shape = tuple[int, ...]

#: (MLIR types of a, b and the accumulator) -> bits of an element.  PTX ISA 9.0, table "Various combinations of .kind and shapes"
_ROWS: tuple[tuple[str, str, str, int], ...] = (
    ("f16", "f16", "f32", 16),
    ("bf16", "bf16", "f32", 16),
    ("f32", "f32", "f32", 32),
    ("i8", "i8", "i32", 8),
    ("f8E4M3FN", "f8E4M3FN", "f32", 8),
    ("f8E4M3FN", "f8E5M2", "f32", 8),
    ("f8E5M2", "f8E4M3FN", "f32", 8),
    ("f8E5M2", "f8E5M2", "f32", 8),
)
#: bits along k of one instruction
_K_BITS = 256
#: what has ``kind::i8``, as ptxas says
_INTEGERS = frozenset({"sm_100a", "sm_110a"})


def instructions(target: Target) -> tuple[MatrixInstruction, ...]:
    """What ``target`` has; none without tensor memory."""
    if not target.has("tcgen05"):
        return ()
    return tuple(_row(*row) for row in _ROWS if row[0] != "i8" or target.key.arch in _INTEGERS)


def _row(a: str, b: str, total: str, bits: int) -> AsyncInstruction:
    return AsyncInstruction(
        a=a,
        b=b,
        accumulator=total,
        shape=(BLOCK_M, NARROWEST, _K_BITS // bits),
        k_width=1,
        encoding=TensorMemoryRows(),
        precisions=(int(InputPrecision.TF32),) if bits == 32 else (),
        memory=operand_memory(bits),
        group_warps=GROUP_WARPS,
        group_columns=(NARROWEST, WIDEST),
    )


def operand_memory(bits: int) -> OperandMemory:
    """How operands with elements of ``bits`` have to lie: swizzled rows along k, for 8 and 16 bits across as well.

    32-bit elements across take swizzles of 32-byte pieces, which no buffer here has.
    """

    def memory(index: int, shape: Shape, contiguous: int) -> SharedEncoding | None:
        inner = 1 - index
        along_k, across = (NvmmaShared.widest(shape, bits, transposed=dim == 0) for dim in (inner, 1 - inner))
        if contiguous != inner and bits == 32:
            return None
        wanted = [along_k] if contiguous == inner else [across, along_k]
        return next((e for e in wanted if e.swizzling_byte_width), None)

    return memory
