"""Loads of dots' operands whose neighbours in memory are across k get neighbours along k in a thread too.

A lane of the matrix unit wants neighbours along k.  A thread that has a small block of the operand, as wide as the
vectors of its loads and as deep as an instruction's neighbours, writes it to LDS in vectors along k: the transposition
takes place among its registers.

Where reads of LDS transpose (gfx950) they do it instead, if threads load vectors as wide as these want: nothing stands between a load and
its write to LDS then.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from tri_backend_amd.mfma.encoding import AmdMfma
from tri_backend_amd.mfma.forms import LANES
from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import FpToFpOp, LoadOp
from tri_core.ir.traits import source_of
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.remarks import declined
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.dialect import ConvertLayoutOp
from tri_gpu_dialect.edit import all_ops, functions
from tri_gpu_dialect.encodings import Blocked, DotOperand, MatrixEncoding
from tri_gpu_dialect.layouts import REGISTER
from tri_gpu_dialect.plans.operand_memory import transposing_read
from tri_gpu_dialect.transforms.layout.coalesce import lay_out
from tri_gpu_dialect.types import tensor_info

__all__ = ["TransposeInThread"]

_WORD = 32
#: elements of a load that is narrow on account of the rows that a thread has
_FEWEST = 4


@dataclass(frozen=True)
class TransposeInThread(Pass):
    """See the module; at ``ttgir.matmul``, where operands have their layouts and loads may still get others."""

    name: ClassVar[str] = "amdg-transpose-in-thread"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Change the layouts of loads in every function of ``module``."""
        for function in functions(module):
            for op in all_ops(function):
                if isa(op, ConvertLayoutOp):
                    _transpose(op)


def _transpose(conversion: ir.Operation) -> None:
    """Give the load behind ``conversion`` to an operand as many rows of k a thread as it has to spare, up to the operand's.

    At least those of a word, at the cost of narrower loads: bytes are put together by words.  Those of an instruction, where loads keep
    4 elements: what it takes is then read in one access.
    """
    wanted, load = encoding_of(conversion.results[0]), _load_behind(source_of(conversion))
    if not isinstance(wanted, DotOperand) or not isinstance(wanted.parent, MatrixEncoding) or load is None:
        return
    own, inner = encoding_of(load.results[0]), len(load.results[0].type.shape) - 1 - wanted.op_idx
    if not isinstance(own, Blocked) or own.order[0] == inner:
        return
    info, along = tensor_info(load.results[0].type), own.order[0]
    assert info is not None
    if _is_read_across(conversion.results[0], own.size_per_thread[along]):
        return
    size, lanes = list(own.size_per_thread), list(own.threads_per_warp)
    registers = layouts.of(load.results[0].type).in_size(REGISTER)
    while size[inner] < wanted.k_width and math.prod(size) < registers:
        size[inner] *= 2
    while (
        _is_shallow(size[inner], size[along], info.bitwidth, wanted) and size[along] > 1 and lanes[inner] > 1
    ):
        # half as wide and twice as deep: twice as many lanes along a row
        size[inner], size[along] = size[inner] * 2, size[along] // 2
        lanes[inner], lanes[along] = lanes[inner] // 2, lanes[along] * 2
    if size[inner] < min(wanted.k_width, info.shape[inner]):
        text = (
            "a thread writes {} of {} neighbours along k at once: fewer warps, or larger blocks, give it more"
        )
        declined(TransposeInThread.name, load, text, size[inner], wanted.k_width)
    if tuple(size) != own.size_per_thread:
        lay_out(load, replace(own, size_per_thread=tuple(size), threads_per_warp=tuple(lanes)))


def _is_read_across(operand: ir.Value, width: int) -> bool:
    """True if ``operand`` can be read across its rows, of which threads write ``width`` elements at once."""
    info, read = tensor_info(operand.type), transposing_read(encoding_of(operand))
    if info is None or read is None or read.addressed(layouts.of(operand.type), info.bitwidth) is None:
        return False
    return width >= read.count(info.bitwidth)


def _is_shallow(depth: int, width: int, bits: int, wanted: DotOperand) -> bool:
    """True if a thread with ``depth`` rows of ``width`` elements, each of ``bits``, should rather have more
    rows.
    """
    assert isinstance(wanted.parent, MatrixEncoding)
    if depth * bits < _WORD:
        return True
    return depth < min(wanted.k_width, _taken(wanted.parent)) and width > _FEWEST


def _taken(result: MatrixEncoding) -> int:
    """Elements of an operand that a lane gives to one instruction; 0 where it is no MFMA of a square."""
    if not isinstance(result, AmdMfma) or result.instr_shape[0] != result.instr_shape[1]:
        return 0
    return result.instr_shape[0] * result.instr_shape[2] // LANES


def _load_behind(value: ir.Value) -> ir.Operation | None:
    """The load that ``value`` is, in another layout or float type."""
    while not isinstance(value.owner, ir.Block):
        op = value.owner.operation
        if isa(op, LoadOp):
            return op
        if not isa(op, ConvertLayoutOp, FpToFpOp):
            return None
        value = source_of(op)
    return None
