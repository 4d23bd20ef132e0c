"""Puts the operands of plain-FMA dots into shared memory: ``tt.dot`` becomes ``ttg.local_dot``.

A dot whose operands are in registers is unrolled along k: every thread holds whole rows and columns, and the
code has one multiply-add per product of two elements.  A larger one reads its operands
from shared memory in a loop over chunks of k, so that code and registers do not grow with k.

A small one is unrolled in loops of several stages, where copies may bring its operands ahead.  Elsewhere its operands are in memory, too: what
several dots take, as in inverses of matrices block by block, would be in registers from the first dot to the last.  But an operand that is computed of
indices alone (a triangle of ones) takes no memory: it is made where the dot takes it.

A buffer is made right after the value that it holds, hence outside of loops if it can, and once for all
dots that read it; ``fit-shared-memory`` takes this back where the target has too little memory for it.
Dots that a backend gave to its matrix instructions have another encoding by now, and are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import DotOp, MakeRangeOp, SplatOp
from tri_core.ir.dots import Dot
from tri_core.ir.traits import is_elementwise, moves_data, replicates
from tri_core.ir.views import defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.edit import all_ops, functions, has_stages, unconverted
from tri_gpu_dialect.encodings import Blocked, PaddedShared
from tri_gpu_dialect.layouts import REGISTER, layout_for
from tri_gpu_dialect.types import TensorInfo, bitwidth, tensor_info, tensor_type

__all__ = ["StageDotOperands", "allocated", "operand_encoding"]

#: bytes by which rows of an operand are moved against each other: threads of neighbouring rows then read
#: different banks, in vectors that stay aligned
ROW_GAP = 16
#: values that an operand is computed of, at most, that is made where it is needed
_MOST = 32


@dataclass(frozen=True)
class StageDotOperands(Pass):
    """See the module; dots of at most ``unrolled`` multiply-adds per thread stay as they are in loops of several stages, of at most ``tiny`` everywhere."""

    name: ClassVar[str] = "stage-dot-operands"

    unrolled: int = 512
    tiny: int = 32

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the dots of every function of ``module``."""
        for function in functions(module):
            buffers: dict[ir.Value, ir.Value] = {}
            for op in all_ops(function):
                if isa(op, DotOp) and self.is_staged(op, context.options.num_stages):
                    _stage(op, buffers)

    def is_staged(self, dot: ir.Operation, num_stages: int) -> bool:
        """True where ``dot`` is done by FMA and reads its operands from memory: it is too large to be unrolled, or nothing brings them ahead."""
        encoding, given = encoding_of(dot.results[0]), Dot(dot)
        result, left = tensor_info(dot.results[0].type), tensor_info(given.a.type)
        if not isinstance(encoding, Blocked) or result is None or left is None:
            return False
        products = _cells_per_thread(result) * left.shape[-1]
        if products > self.unrolled or products <= self.tiny or has_stages(dot, num_stages):
            return products > self.unrolled
        return not any(map(_is_of_indices, (given.a, given.b)))


def _is_of_indices(value: ir.Value) -> bool:
    """True where ``value`` is computed of indices, constants and scalars, by elementwise ops."""
    waiting, seen = [unconverted(value)], set[ir.Value]()
    while waiting:
        here = waiting.pop()
        op = defining_op(here)
        if here in seen:
            continue
        seen.add(here)
        if op is None or len(seen) > _MOST:
            return False
        if isa(op, arith.ConstantOp, SplatOp, MakeRangeOp):
            continue
        if not (is_elementwise(op) or replicates(op) or moves_data(op)):
            return False
        waiting += [unconverted(operand) for operand in op.operands]
    return True


def _cells_per_thread(result: TensorInfo) -> int:
    """Different elements of a dot's result that a thread computes."""
    assert result.encoding is not None
    return len(set(layout_for(result.encoding, result.shape).images(REGISTER)))


def operand_encoding(shape: Sequence[int], element_bits: int) -> PaddedShared:
    """Row-major, with a gap after each row."""
    gap = max(ROW_GAP * 8 // max(element_bits, 8), 1)
    return PaddedShared(((shape[-1], gap),), tuple(reversed(range(len(shape)))))


def _stage(dot: ir.Operation, buffers: dict[ir.Value, ir.Value]) -> None:
    given = Dot(dot)
    operands = [_buffer(unconverted(v), buffers, dot.location) for v in (given.a, given.b)]
    made = ir.Operation.create(
        "ttg.local_dot",
        results=[dot.results[0].type],
        operands=[*operands, given.c],
        attributes={"inputPrecision": dot.attributes["inputPrecision"]},
        loc=dot.location,
        ip=ir.InsertionPoint(dot),
    )
    dot.results[0].replace_all_uses_with(made.results[0])
    dot.erase()


def _buffer(value: ir.Value, buffers: dict[ir.Value, ir.Value], location: ir.Location) -> ir.Value:
    """The buffer that holds ``value``, made right after it unless it is there."""
    found = buffers.get(value)
    if found is None:
        owner = value.owner
        if isinstance(owner, ir.Block):
            ip = ir.InsertionPoint.at_block_begin(owner)
        else:
            ip = ir.InsertionPoint.after(owner.operation)
        with ip, location:
            found = buffers[value] = allocated(_converted(value))
    return found


def _converted(value: ir.Value) -> ir.Value:
    """8-bit floats as f16, which holds them exactly: they are widened once, not at each of many reads."""
    info = tensor_info(value.type)
    assert info is not None
    if not isinstance(info.element_type, ir.FloatType) or info.bitwidth > 8:
        return value
    wide = tensor_type(info.shape, ir.F16Type.get(), info.encoding)
    return ir.Operation.create("tt.fp_to_fp", results=[wide], operands=[value]).results[0]


def allocated(value: ir.Value) -> ir.Value:
    """A buffer that holds ``value``, made at the ambient insertion point."""
    info = tensor_info(value.type)
    assert info is not None
    encoding = operand_encoding(info.shape, bitwidth(info.element_type))
    type_ = MemDescType.of(info.shape, info.element_type, encoding.to_attr())
    return ir.Operation.create("ttg.local_alloc", results=[type_], operands=[value]).results[0]
