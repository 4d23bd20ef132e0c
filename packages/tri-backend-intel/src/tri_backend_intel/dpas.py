"""The table of matrix instructions of a device: DPAS by element type and rows."""

from __future__ import annotations

from functools import cache
from itertools import product

from tri_backend_intel.architectures import ARCHITECTURES
from tri_backend_intel.dialect.encoding import DEPTH, Dpas
from tri_backend_intel.dialect.matrix import KINDS
from tri_backend_intel.lowering.small_floats import SMALL_FLOATS
from tri_backend_intel.operand_memory import AsRead
from tri_backend_intel.options import IntelOptions
from tri_core.api import Target
from tri_core.dialects.tt.enums import InputPrecision
from tri_gpu_dialect.policies.gpu import DotPolicy
from tri_gpu_dialect.policies.matrix import MatrixInstruction

__all__ = ["dots"]

#: element types of ``tt.dot``; unsigned bytes the language does not multiply
_TYPES = ("f16", "bf16", "i8", "f32")
#: floats that lie as bytes do and are widened in registers, for two DPAS of f16
_SMALL = tuple(SMALL_FLOATS)
#: rows of an instruction: as many as the result has, the most first
_REPEAT_COUNTS = (8, 4, 2, 1)


def dots(target: Target, options: IntelOptions) -> DotPolicy:
    """The instructions of ``target``; none where ``options`` ask for sub-groups of another size than they have.

    Where no option says a size, kernels whose dots they compute have theirs.
    """
    row = ARCHITECTURES[target.key.arch]
    if not target.has("dpas") or options.warp_size not in (0, row.dpas_n):
        return DotPolicy()
    return DotPolicy(
        instructions=_table(row.dpas_n, row.dpas_tf32),
        threads_per_warp=row.dpas_n,
        operands=AsRead(),
    )


@cache
def _table(lanes: int, tf32: bool) -> tuple[MatrixInstruction, ...]:
    pairs = [(t, t) for t in _TYPES if tf32 or t != "f32"] + list(product(_SMALL, repeat=2))
    return tuple(
        _instruction(a, b, lanes, rows)
        for rows in _REPEAT_COUNTS
        for a, b in pairs
        if rows * DEPTH * 32 // _bits(a) >= lanes
    )


def _bits(element: str) -> int:
    return 8 if element in _SMALL else KINDS[element].bits


def _instruction(left: str, right: str, lanes: int, rows: int) -> MatrixInstruction:
    per_channel = 32 // _bits(left)
    encoding = Dpas(
        repeat_count=rows, execution_size=lanes, ops_per_channel=per_channel, threads_per_warp=lanes
    )
    return MatrixInstruction(
        a=left,
        b=right,
        accumulator="f32" if left in _SMALL else KINDS[left].accumulator,
        shape=(rows, lanes, encoding.depth),
        k_width=(encoding.left_width, per_channel),
        encoding=encoding,
        precisions=(int(InputPrecision.TF32),) if left == "f32" else (),
    )
