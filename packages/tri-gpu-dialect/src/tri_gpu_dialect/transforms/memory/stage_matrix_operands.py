"""Puts operands of matrix instructions that change threads into swizzled shared memory: a buffer and a load.

A conversion to an operand's layout that is more than an exchange within warps goes through shared memory
anyway.  As a buffer in an order that suits the operand it can be read by the target's matrix loads.

An operand from outside of loops that would take many registers through all of them stays in its buffer, and is
read where each dot takes it, unless shared memory is too small for that.

A buffer holds the whole operand, where a conversion goes in pieces (``plans/conversion.py``).  Of a function that needs more than
the target has with such buffers, the largest operands are converted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.ir.regions import For
from tri_core.ir.traits import source_of
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.remarks import declined
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import ConvertLayoutOp, LocalAllocOp, LocalLoadOp
from tri_gpu_dialect.edit import all_ops, convert, functions
from tri_gpu_dialect.encodings import DotOperand, DotScale, MatrixEncoding, SharedEncoding
from tri_gpu_dialect.layouts import BLOCK, REGISTER, Banks
from tri_gpu_dialect.plans.operand_memory import is_read_in_rows, memory_in_block
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy, DotPolicy
from tri_gpu_dialect.policies.operands import Written
from tri_gpu_dialect.remarks import add_remark
from tri_gpu_dialect.transforms.memory.placement import buffer_bytes, bytes_needed
from tri_gpu_dialect.types import tensor_info

__all__ = ["StageMatrixOperands", "is_matrix_operand"]


@dataclass(frozen=True)
class StageMatrixOperands(Pass):
    """See the module; operands of up to ``held`` words per thread stay in registers throughout loops."""

    name: ClassVar[str] = "stage-matrix-operands"

    held: int = 32
    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the conversions of every function of ``module``."""
        limit = context.target.spec.limits.get("shared") if context is not None else None
        banks = Banks.of(None if context is None else context.target)
        measures = self.policy.scratch_measures
        for function in functions(module):
            loads = [
                _stage(op, banks, self.policy.dots)
                for op in all_ops(function)
                if isa(op, ConvertLayoutOp)
                and is_matrix_operand(op.results[0])
                and measures.bytes(op)
                and _stays_in_block(op)
            ]
            late = [
                brought
                for load in loads
                if self.is_large(load) and (brought := _bring_to_use(load)) is not None
            ]
            if limit is None or not loads:
                continue
            if late and bytes_needed(function, measures) > limit:
                for brought in late:
                    load = brought.back()
                    text = "the operand is in registers throughout the loop: {} bytes of shared memory do not hold it"
                    declined(self.name, load, text, limit)
            whole = sorted(
                (load for load in loads if _bytes(load) > self.policy.conversion_bytes), key=_bytes
            )
            while whole and bytes_needed(function, measures) > limit:
                _convert(whole.pop())

    def is_large(self, load: ir.Operation) -> bool:
        """True if the operand that ``load`` reads takes more than ``held`` 32-bit registers per thread."""
        info = tensor_info(load.results[0].type)
        assert info is not None
        return layouts.of(load.results[0].type).in_size(REGISTER) * info.bitwidth > 32 * self.held


@dataclass(frozen=True)
class _Brought:
    """A read that was brought to its uses in loops, each of which has one of its own."""

    loads: tuple[ir.Operation, ...]

    def back(self) -> ir.Operation:
        """Read once, behind the buffer; gives the read."""
        first, *others = self.loads
        for other in others:
            other.results[0].replace_all_uses_with(first.results[0])
            other.erase()
        first.move_after(_buffer(first))
        return first


def _bring_to_use(load: ir.Operation) -> _Brought | None:
    """Move ``load`` right before its users, a copy to each but the first, if all of them are in loops that it is outside of."""
    uses = list(load.results[0].uses)
    users = list(dict.fromkeys(use.owner.operation for use in uses))
    if not users or not all(_is_inside_loop(user, load) for user in users):
        return None
    made = [load, *(load.clone(ip=ir.InsertionPoint(user)).operation for user in users[1:])]
    load.move_before(users[0])
    for use in uses:
        user = use.owner.operation
        user.operands[use.operand_number] = made[users.index(user)].results[0]
    return _Brought(tuple(made))


def _is_inside_loop(op: ir.Operation, load: ir.Operation) -> bool:
    """True if a loop contains ``op`` but not ``load``."""
    outside = list(_around(load))
    return any(isa(other, For) and other not in outside for other in _around(op))


def _around(op: ir.Operation) -> Iterator[ir.Operation]:
    """The ops that ``op`` is inside of, innermost first."""
    while (parent := op.parent) is not None:
        op = parent.operation
        yield op


def is_matrix_operand(value: ir.Value) -> bool:
    """True if ``value`` has the layout of a matrix instruction's operand or scales, with a loadable element
    type.
    """
    encoding, info = encoding_of(value), tensor_info(value.type)
    if not isinstance(encoding, DotOperand | DotScale) or not isinstance(encoding.parent, MatrixEncoding):
        return False
    return info is not None and info.bitwidth >= 8


def _stays_in_block(op: ir.Operation) -> bool:
    """True if both layouts of a conversion split the tensor alike over the CTAs of a cluster."""
    have, want = (layouts.of(v.type).bases.get(BLOCK, ()) for v in (source_of(op), op.results[0]))
    return have == want


def _stage(op: ir.Operation, banks: Banks, policy: DotPolicy) -> ir.Operation:
    """Replace the conversion ``op``; gives the load."""
    source, result = source_of(op), op.results[0]
    info = tensor_info(source.type)
    assert info is not None
    encoding = _memory(source, result, banks, policy)
    type_ = MemDescType.of(info.shape, info.element_type, encoding.to_attr())
    with ir.InsertionPoint(op), op.location:
        buffer = ir.Operation.create("ttg.local_alloc", results=[type_], operands=[source]).results[0]
        made = ir.Operation.create("ttg.local_load", results=[result.type], operands=[buffer])
    result.replace_all_uses_with(made.results[0])
    op.erase()
    return made


def _memory(source: ir.Value, result: ir.Value, banks: Banks, policy: DotPolicy) -> SharedEncoding:
    """Encoding of a buffer written from ``source`` and read as ``result``, an operand."""
    info = tensor_info(source.type)
    assert info is not None
    writer, reader = layouts.of(source.type), layouts.of(result.type)
    if is_read_in_rows(encoding_of(result)):
        return memory_in_block(info.shape, info.bitwidth, writer, (), banks)
    tensor = Written(info.shape, info.bitwidth, writer, banks)
    return policy.operands.once(tensor, reader, encoding_of(result))


def _buffer(load: ir.Operation) -> ir.Operation:
    return cast(load, LocalLoadOp).src.owner.operation


def _bytes(load: ir.Operation) -> int:
    """Of the buffer that ``load`` reads."""
    return buffer_bytes(cast(load, LocalLoadOp).src.type)


def _convert(load: ir.Operation) -> None:
    """Make ``load`` and its buffer a conversion again."""
    buffer, encoding = _buffer(load), encoding_of(load.results[0])
    assert encoding is not None
    name = StageMatrixOperands.name
    add_remark(name, load, "the operand is converted piece by piece: shared memory has no room for the whole")
    made = convert(cast(buffer, LocalAllocOp).src, encoding, ir.InsertionPoint(load), load.location)
    load.results[0].replace_all_uses_with(made)
    load.erase()
    buffer.erase()
