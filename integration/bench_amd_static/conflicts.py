"""Conflicts of banks, from TTGIR of either compiler: what accesses of buffers in LDS take beyond their least."""

from __future__ import annotations

from collections.abc import Iterator

from tri_core import mlir
from tri_core.api import Target
from tri_core.mlir import ir
from tri_core.plugins import manager
from tri_core.text import parse_module
from tri_gpu_dialect import layouts
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.encodings import decode
from tri_gpu_dialect.layouts import Banks, LinearLayout, bank_conflicts
from tri_gpu_dialect.plans.operand_memory import transposing_read
from tri_gpu_dialect.types import tensor_info

__all__ = ["worst_conflict"]


def worst_conflict(text: str, target: Target) -> int | None:
    """Cycles beyond the first of a phase of the worst access of a buffer; None where rows of one are padded, which no layout over bits says.

    Buffers are those of the text; what conversions between layouts use is laid out without conflicts where that can be.
    """
    manager().register_ir(mlir.registry)
    banks, worst = Banks.of(target), 0
    with mlir.session():
        module = parse_module(text)  # its operations live as long as it does
        for op in all_ops(module.operation):
            for tensor, buffer in _accesses(op):
                if getattr(decode(buffer.type.encoding), "padding", ()):
                    return None
                info = tensor_info(tensor.type)
                assert info is not None
                cycles = _cycles(tensor.type, _memory(buffer.type), info.bitwidth, banks)
                worst = max(worst, cycles - 1)
    return worst


def _memory(buffer: ir.Type) -> LinearLayout:
    """The layout of the whole buffer that one of type ``buffer`` is, or is a part of: where a part begins changes no conflict."""
    rank = len(buffer.shape)
    return layouts.layout_for(decode(buffer.encoding), tuple(buffer.alloc_shape)[-rank:])


def _cycles(tensor: ir.Type, memory: LinearLayout, bits: int, banks: Banks) -> int:
    """Cycles of a phase of an access of ``memory``; by reads that transpose where those suit an operand."""
    registers, read = layouts.of(tensor), transposing_read(decode(tensor.encoding))
    if read is None or not read.suits(registers, memory, bits):
        return bank_conflicts(registers, memory, bits, banks)
    addressed = read.addressed(registers, bits)
    assert addressed is not None
    return bank_conflicts(addressed, memory, bits, banks, read.bits)


def _accesses(op: ir.Operation) -> Iterator[tuple[ir.Value, ir.Value]]:
    """Pairs of a tensor and the buffer that it is written to or read from."""
    if op.name == "ttg.local_load":
        yield op.results[0], op.operands[0]
    elif op.name == "ttg.local_store":
        yield op.operands[0], op.operands[1]
    elif op.name == "ttg.local_alloc" and len(op.operands):
        yield op.operands[0], op.results[0]
