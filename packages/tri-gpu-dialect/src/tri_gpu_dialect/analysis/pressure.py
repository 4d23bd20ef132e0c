"""Registers of a thread that the tensors of a block take, at most, if its ops stand in a given order.

A backward walk over the block with the set of live tensors, as a compiler of machine code would do it; what is copies of a
tensor's elements shares its registers, an operand in registers stays until the wait for its dot, and so do a dot's accumulators.
What is computed of numbers and constants alone (rows of indices) takes none: it is made where it is needed.
Elementwise ops are done element by element: what dies at an op and what it makes are not there together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tri_core.dialects.tt import DotOp, FuncOp, MakeRangeOp, SplatOp
from tri_core.ir.traits import maps_elements, replicates, source_of
from tri_core.ir.views import defining_op, isa
from tri_core.mlir import arith, ir
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.dialect import WarpGroupDotOp, WarpGroupDotWaitOp, WarpSpecializeOp
from tri_gpu_dialect.dialect.partitions import default_registers
from tri_gpu_dialect.edit import all_ops, terminator
from tri_gpu_dialect.encodings import DotOperand, MatrixEncoding
from tri_gpu_dialect.layouts import REGISTER, layout_for
from tri_gpu_dialect.types import tensor_info

__all__ = [
    "accumulator_registers",
    "compared_registers",
    "most_registers",
    "operand_registers",
    "registers_for_tensors",
    "registers_of",
]

#: registers of a thread for numbers and addresses
_OTHERS = 16
#: registers beside the accumulators of a loop of dots: seldom fewer in machine code of the published kernels that were looked at
_BESIDE_ACCUMULATORS = 48


def registers_for_tensors(op: ir.Operation, registers: int | None) -> int | None:
    """Number of registers per thread for the tensors around ``op``; None if no limit is known.

    ``registers`` is what it has in all where ``ttg.warp_specialize`` does not say.
    """
    while not isa(op, FuncOp, WarpSpecializeOp):
        op = op.parent.operation
    have = registers
    if isa(op, WarpSpecializeOp):
        have = default_registers(op) or have
    return None if have is None else have - _OTHERS


def registers_of(value: ir.Value) -> int:
    """32-bit registers of a thread that a tensor takes, copies not counted; 0 for scalars and constants."""
    info = tensor_info(value.type)
    if info is None or info.encoding is None or _is_constant(value):
        return 0
    columns = layout_for(info.encoding, info.shape).packed(REGISTER)
    return max((1 << sum(map(bool, columns))) * info.bitwidth // 32, 1)


def _is_constant(value: ir.Value) -> bool:
    if isinstance(value.owner, ir.Block):
        return False
    return isa(value.owner.operation, arith.ConstantOp, SplatOp, MakeRangeOp)


def most_registers(ops: Sequence[ir.Operation]) -> int:
    """The most registers that tensors take at any place of a block whose ops, the terminator last, are in the order of ``ops``.

    Tensors from outside that the block uses count everywhere.
    """
    every = [inner for op in ops for inner in all_ops(op)]
    blocks = [ops[-1].block, *(b for inner in every for region in inner.regions for b in region.blocks)]
    made = {r for inner in every for r in inner.results} | {a for block in blocks for a in block.arguments}
    used = {_source(v) for inner in every for v in inner.operands}
    outside = sum(registers_of(v) for v in used if v not in made and not _is_made_of_numbers(v))
    live: set[ir.Value] = set()
    most = 0
    for op in reversed(ops):
        live -= set(op.results)
        live |= _tensors(v for v in _uses(op) if _source(v) in made)
        most = max(most, sum(registers_of(v) for v in live))
    return outside + most


def accumulator_registers(loop: ir.Operation) -> int:
    """Registers that machine code of ``loop`` has at least, by its matrix instructions: their results that it carries, the largest
    that it makes beside them, and what any such loop needs for addresses, masks and numbers.
    """
    carried = [v for v in loop.results if isinstance(encoding_of(v), MatrixEncoding)]
    ends = set(terminator(loop.regions[0].blocks[0]).operands)
    made = [r for op in all_ops(loop) if op != loop for r in op.results if r not in ends]
    beside = [registers_of(r) for r in made if isinstance(encoding_of(r), MatrixEncoding) and _is_dot(r)]
    return sum(map(registers_of, carried)) + max(beside, default=0) + _BESIDE_ACCUMULATORS


def operand_registers(loop: ir.Operation) -> int:
    """Registers of the operands of one step along k of the dots of ``loop``, the most that one of them takes: machine code reads what
    instructions take next while those before run.
    """
    dots = [op for op in all_ops(loop) if isa(op, DotOp)]
    return max((sum(map(_step_registers, list(op.operands)[:2])) for op in dots), default=0)


def _step_registers(operand: ir.Value) -> int:
    encoding = encoding_of(operand)
    if not isinstance(encoding, DotOperand) or not isinstance(encoding.parent, MatrixEncoding):
        return 0
    along_k = 1 - encoding.op_idx
    depth = encoding.parent.fragment(encoding.op_idx, encoding.k_width).out_size(f"dim{along_k}")
    whole = operand.type.shape[len(operand.type.shape) - 2 + along_k]
    return -(-registers_of(operand) * min(depth, whole) // whole)


def _is_dot(value: ir.Value) -> bool:
    """True if ``value`` is the result of a synchronous dot, or of a wait."""
    return isa(value.owner.operation, DotOp, WarpGroupDotWaitOp)


def compared_registers(ops: Sequence[ir.Operation]) -> int:
    """Registers of the rows of indices that comparisons of tensors among ``ops`` read: assemblers make them ahead of time."""
    compared = {_source(v) for op in ops if isa(op, arith.CmpIOp) for v in op.operands}
    return sum(
        registers_of(v) for v in compared if tensor_info(v.type) is not None and _is_made_of_numbers(v)
    )


def _uses(op: ir.Operation) -> Iterable[ir.Value]:
    """Values that ``op`` reads; for a wait also the operands of its dots, which are live until then."""
    for inner in all_ops(op):
        yield from inner.operands
    if isa(op, WarpGroupDotWaitOp):
        for value in op.operands:
            if (dot := defining_op(value, WarpGroupDotOp)) is not None:
                yield dot.a


def _tensors(values: Iterable[ir.Value]) -> set[ir.Value]:
    found = {_source(v) for v in values if tensor_info(v.type) is not None}
    return {v for v in found if not _is_made_of_numbers(v)}


def _is_made_of_numbers(value: ir.Value) -> bool:
    """True if the integers ``value`` are computed from scalars and constants in a few steps."""
    ahead = [(value, 4)]
    while ahead:
        here, steps = ahead.pop()
        if isinstance(here.owner, ir.Block) or not steps:
            return False
        op = here.owner.operation
        if isa(op, arith.ConstantOp, SplatOp, MakeRangeOp):
            continue
        if not maps_elements(op.name) and not replicates(op):
            return False
        ahead += [(v, steps - 1) for v in op.operands]
    return True


def _source(value: ir.Value) -> ir.Value:
    """Original of ``value``, through copies."""
    while (op := defining_op(value)) is not None and replicates(op):
        value = source_of(op)
    return value
