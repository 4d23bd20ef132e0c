"""Takes back what ``stage-dot-operands`` did where the target has too little shared memory for it.

First, buffers that were made early are made right before the dot that reads them, so that they live
shortly.  If that is not enough, the dots with the largest buffers read their operands from registers again,
one after the other: their code is long, but needs memory only for conversions, piece by piece.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.edit import all_ops, convert, functions
from tri_gpu_dialect.encodings import DotOperand
from tri_gpu_dialect.passes.allocate_shared_memory import AllocateSharedMemory, buffer_bytes

__all__ = ["FitSharedMemory"]


@dataclass(frozen=True)
class FitSharedMemory(Pass):
    """See the module; runs right before ``allocate-shared-memory``."""

    name: ClassVar[str] = "fit-shared-memory"

    allocation: AllocateSharedMemory = field(default_factory=AllocateSharedMemory)

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Edit the dots of functions that need more than the target has."""
        limit = context.target.spec.limits.get("shared") if context is not None else None
        if limit is None:
            return
        for function in functions(module):
            dots = [op for op in all_ops(function) if op.name == "ttg.local_dot"]
            if dots and self.allocation.needed(function) > limit:
                self.shrink(function, dots, limit)

    def shrink(self, function: ir.Operation, dots: list[ir.Operation], limit: int) -> None:
        """Make ``function`` need at most ``limit`` bytes, as far as its ``dots`` can help."""
        for dot in dots:
            _bring_near(dot)
        left = sorted(dots, key=_bytes)
        while left and self.allocation.needed(function) > limit:
            _to_registers(left.pop())


def _bytes(dot: ir.Operation) -> int:
    return sum(buffer_bytes(v.type) for v in list(dot.operands)[:2])


def _bring_near(dot: ir.Operation) -> None:
    """Give ``dot`` buffers of its own, made right before it."""
    for i in (0, 1):
        buffer = dot.operands[i]
        made = ir.Operation.create(
            "ttg.local_alloc",
            results=[buffer.type],
            operands=list(buffer.owner.operation.operands),
            loc=dot.location,
            ip=ir.InsertionPoint(dot),
        )
        dot.operands[i] = made.results[0]
        _erase_unused(buffer)


def _erase_unused(buffer: ir.Value) -> None:
    if next(iter(buffer.uses), None) is None:
        buffer.owner.operation.erase()


def _to_registers(dot: ir.Operation) -> None:
    """Make ``dot``, whose buffers are its own, a ``tt.dot`` again."""
    parent = encoding_of(dot.results[0])
    assert parent is not None
    ip = ir.InsertionPoint(dot)
    buffers = list(dot.operands)[:2]
    sources = [b.owner.operation.operands[0] for b in buffers]
    operands = [convert(v, DotOperand(i, parent), ip, dot.location) for i, v in enumerate(sources)]
    made = ir.Operation.create(
        "tt.dot",
        results=[dot.results[0].type],
        operands=[*operands, dot.operands[2]],
        attributes={"inputPrecision": dot.attributes["inputPrecision"]},
        loc=dot.location,
        ip=ip,
    )
    dot.results[0].replace_all_uses_with(made.results[0])
    dot.erase()
    for buffer in buffers:
        _erase_unused(buffer)
